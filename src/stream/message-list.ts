/**
 * Messages as a fold keeps them: found by id, changed in place while nobody looks, shared once somebody does.
 *
 * `publish` hands out the list; from then on that list and its messages are never changed. The next change copies the
 * list and the one message that it touches, once, so a batch of deltas costs one copy of each, whatever the history.
 */
import type { AssistantMessage, Message, Metadata, ToolCall } from "../protocol/index.ts";

/** A message that may be changed: it has not been published yet. */
export interface MessageDraft {
  /** Its text, parts or structured content. */
  content?: unknown;
  /** Opaque value of its issuer. */
  encryptedValue?: string;
  /** What kind of value that is. */
  encryptedValueType?: string;
  /** Extra information. */
  metadata?: Metadata;
}

/** A tool call that may be changed: it has not been published yet. */
export interface ToolCallDraft extends MessageDraft {
  /** What is called. */
  readonly function: { name: string; arguments: string };
}

interface Slot {
  readonly carrierId: string;
  readonly position: number;
}

/** Messages in order, found by id. */
export class MessageList {
  #messages: Message[];
  #published = false;
  /** What was copied since the last publish, and may be changed in place. */
  #fresh = new Set<object>();
  readonly #positions = new Map<string, number>();
  /** Tool calls: which message carries each, and where in it. */
  readonly #slots = new Map<string, Slot>();
  /** The drafts that were asked for last: deltas come in rows, and comparing an id is quicker than looking it up. */
  #recentId: string | undefined;
  #recent: MessageDraft | undefined;
  #recentCallId: string | undefined;
  #recentCall: ToolCallDraft | undefined;

  constructor(messages: readonly Message[] = []) {
    this.#messages = [...messages];
    this.#reindex(0);
  }

  /** The list as it is now, for good. */
  publish(): readonly Message[] {
    this.#published = true;
    if (this.#fresh.size > 0) this.#fresh = new Set();
    this.#forget();
    return this.#messages;
  }

  /** The message of an id if it was the last to be drafted, and nothing came between. */
  recentDraft(id: string): MessageDraft | undefined {
    return id === this.#recentId ? this.#recent : undefined;
  }

  /** The message of an id, or undefined. */
  get(id: string): Message | undefined {
    const position = this.#positions.get(id);
    return position === undefined ? undefined : this.#messages[position];
  }

  /** The assistant message that carries a tool call, or undefined. */
  carrierOf(toolCallId: string): AssistantMessage | undefined {
    const slot = this.#slots.get(toolCallId);
    const message = slot === undefined ? undefined : this.get(slot.carrierId);
    return message?.role === "assistant" ? message : undefined;
  }

  /** Adds a message at the end. */
  append(message: Message): void {
    this.#own().push(message);
    this.#index(message, this.#messages.length - 1);
  }

  /** Adds a tool message behind the message that carries its call, and behind the answers that stand there already. */
  insertAnswer(message: Message, carrierId: string): void {
    const messages = this.#own();
    let position = (this.#positions.get(carrierId) ?? messages.length - 1) + 1;
    while (messages[position]?.role === "tool") position++;
    messages.splice(position, 0, message);
    this.#reindex(position);
  }

  /** Puts another message in the place of the one that has its id. */
  replace(message: Message): void {
    const position = this.#positions.get(message.id);
    if (position === undefined) return;
    this.#forget();
    this.#own()[position] = message;
    this.#index(message, position);
  }

  /** Puts another list in place of all. */
  reset(messages: readonly Message[]): void {
    this.#messages = [...messages];
    this.#published = false;
    this.#fresh = new Set();
    this.#forget();
    this.#reindex(0);
  }

  /** The message of an id, to be changed in place. Only for ids that are there. */
  draft(id: string): MessageDraft {
    const { held, position } = this.#held(id);
    let draft = held;
    if (held !== this.#recent) {
      // The set is for what is not recent: a view per delta then never needs it.
      if (this.#recent !== undefined) this.#fresh.add(this.#recent);
      if (!this.#fresh.has(held)) draft = this.#own()[position] = { ...held };
      this.#recent = draft;
    }
    this.#recentId = id;
    return draft;
  }

  #held(id: string): { readonly held: Message; readonly position: number } {
    const position = this.#positions.get(id) ?? -1;
    const held = this.#messages[position];
    if (held === undefined) throw new RangeError(`There is no message ${id}.`);
    return { held, position };
  }

  /** Adds a tool call to an assistant message. */
  addCall(carrierId: string, call: ToolCall): void {
    const calls = this.#ownCalls(carrierId);
    this.#slots.set(call.id, { carrierId, position: calls.length });
    calls.push(call);
  }

  /** A tool call, to be changed in place; undefined where nothing carries it. */
  callDraft(toolCallId: string): ToolCallDraft | undefined {
    if (toolCallId === this.#recentCallId) return this.#recentCall;
    this.#recentCall = this.#callDraft(toolCallId);
    this.#recentCallId = this.#recentCall === undefined ? undefined : toolCallId;
    return this.#recentCall;
  }

  #callDraft(toolCallId: string): ToolCallDraft | undefined {
    const slot = this.#slots.get(toolCallId);
    if (slot === undefined) return undefined;
    const calls = this.#ownCalls(slot.carrierId);
    const held = calls[slot.position];
    if (held === undefined) return undefined;
    if (this.#fresh.has(held)) return held;
    const copy: ToolCall = { ...held, function: { ...held.function } };
    calls[slot.position] = copy;
    this.#fresh.add(copy);
    return copy;
  }

  /** The calls of an assistant message, as a list that may be changed in place. */
  #ownCalls(carrierId: string): ToolCall[] {
    const draft: MessageDraft & { toolCalls?: readonly ToolCall[] } = this.draft(carrierId);
    const held = draft.toolCalls;
    if (held !== undefined && this.#fresh.has(held)) return held as ToolCall[];
    const copy = [...(held ?? [])];
    draft.toolCalls = copy;
    this.#fresh.add(copy);
    return copy;
  }

  #forget(): void {
    this.#recentId = undefined;
    this.#recent = undefined;
    this.#recentCallId = undefined;
    this.#recentCall = undefined;
  }

  #own(): Message[] {
    if (this.#published) {
      this.#messages = this.#messages.slice();
      this.#published = false;
    }
    return this.#messages;
  }

  #index(message: Message, position: number): void {
    this.#positions.set(message.id, position);
    if (message.role !== "assistant" || message.toolCalls === undefined) return;
    message.toolCalls.forEach(({ id }, position) => {
      // A call that two messages carry belongs to the first.
      const carrierId = this.#slots.get(id)?.carrierId ?? message.id;
      if (carrierId === message.id) this.#slots.set(id, { carrierId, position });
    });
  }

  #reindex(from: number): void {
    if (from === 0) {
      this.#positions.clear();
      this.#slots.clear();
    }
    for (let position = from; position < this.#messages.length; position++) {
      const message = this.#messages[position];
      if (message !== undefined) this.#index(message, position);
    }
  }
}

/**
 * Writes one answer of a model as events: what a provider's stream says in its own words, in AG-UI's.
 *
 * Order is kept: text and calls go to one assistant message until reasoning comes between, so the messages that a
 * fold makes of these events tell the answer in the order in which it was given. Text that follows a call goes to the
 * call's message, since a result has to stand directly behind it. Whatever is open is closed by `close`.
 */
import {
  activitySnapshot,
  custom,
  reasoningEncryptedValue,
  reasoningEnd,
  reasoningMessageContent,
  reasoningMessageEnd,
  reasoningMessageStart,
  reasoningStart,
  textMessageContent,
  textMessageEnd,
  textMessageStart,
  toolCallArgs,
  toolCallEnd,
  toolCallStart,
} from "../../../protocol/index.ts";
import type { Event, TokenUsage } from "../../../protocol/index.ts";
import { modelUsage } from "../../index.ts";
import { parseRecord } from "./fields.ts";
import { mintId } from "../../mint-id.ts";
import { seal } from "./opaque.ts";
import type { Block } from "./opaque.ts";

/** Name of the CUSTOM event that says why an answer stopped early: `value` is `{ provider, reason }`. */
export const STOP_EVENT = "heddle.stop";

/** Activity type of a tool that the provider itself runs. */
export const PROVIDER_TOOL_ACTIVITY = "heddle.provider-tool";

/** Activity type of an image or a sound that the model made. */
export const MEDIA_ACTIVITY = "heddle.media";

/** A tool call as it is opened. */
export interface CallOpening {
  /** The provider's id; empty or taken ones are replaced. */
  readonly id: string | undefined;
  /** Name of the tool. */
  readonly name: string;
  /** What the provider wants back with the call. */
  readonly extras?: Block;
  /** Whether the arguments are plain text instead of JSON. */
  readonly freeform?: boolean;
}

/** How an answer is written. */
export interface WriterOptions {
  /** The provider's label: key of its metadata, issuer of its sealed blocks. */
  readonly provider: string;
  /** Ids of calls that the conversation holds already. */
  readonly takenCallIds?: ReadonlySet<string>;
}

interface AssistantDraft {
  readonly id: string;
  open: boolean;
  calls: number;
  length: number;
  metadata: Record<string, unknown>;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly freeform: boolean;
  text: string;
  open: boolean;
}

/** Writes the events of one answer. */
export class AnswerWriter {
  readonly #options: WriterOptions;
  #events: Event[] = [];
  /** The assistant message that text and calls go to. */
  #message: AssistantDraft | undefined;
  #thought: { readonly id: string; text: string } | undefined;
  readonly #calls = new Map<string, Call>();
  #said = false;
  #reordered = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** The events since the last time. */
  take(): readonly Event[] {
    const taken = this.#events;
    this.#events = [];
    return taken;
  }

  /** Whether the answer holds any text, call, activity or block of the provider's. */
  get said(): boolean {
    return this.#said;
  }

  /** Whether text went to a message before a call that it came after. */
  get reordered(): boolean {
    return this.#reordered;
  }

  /** How many characters the assistant message has so far: where a citation begins or ends. */
  get textLength(): number {
    return this.#message?.length ?? 0;
  }

  /** The calls that are not whole in an answer that was cut: their argument text is no JSON value, or cannot tell. */
  cutCalls(): readonly string[] {
    const cut = [...this.#calls.values()].filter(({ freeform, text }) => freeform || parseRecord(text) === undefined);
    return cut.map(({ name }) => name);
  }

  /** Adds text. An empty delta opens nothing. */
  text(delta: string): void {
    if (delta === "") return;
    this.endThought();
    const message = this.#openText();
    this.#said = true;
    if (message.calls > 0) this.#reordered = true;
    message.length += delta.length;
    this.#events.push(textMessageContent({ messageId: message.id, delta }));
  }

  /** Says something about the text message, in the provider's words: kept under its label. */
  annotate(words: Readonly<Record<string, unknown>>): void {
    Object.assign((this.#message ??= newMessage()).metadata, words);
  }

  /** Adds to a list that is said about the text message. */
  annotateList(name: string, entries: readonly unknown[]): void {
    const { metadata } = (this.#message ??= newMessage());
    const held = metadata[name];
    metadata[name] = [...(Array.isArray(held) ? held : []), ...entries];
  }

  /** The next text belongs to another message, unless this one has calls that have to be answered. */
  nextMessage(): void {
    this.endText();
    if (this.#message?.calls === 0) this.#message = undefined;
  }

  /** Closes the text message. */
  endText(): void {
    const message = this.#message;
    if (message?.open !== true) return;
    message.open = false;
    this.#events.push(textMessageEnd({ messageId: message.id, ...this.#metadata(message.metadata) }));
  }

  /** Says that the model thinks, before there is anything to read of it. */
  startThought(): void {
    this.endThought();
    this.#openThought();
  }

  /** Adds reasoning text, in a new paragraph where asked. An empty delta opens nothing. */
  think(delta: string, paragraph = false): void {
    if (delta === "") return;
    const thought = this.#openThought();
    const added = paragraph && thought.text !== "" ? `\n\n${delta}` : delta;
    thought.text += added;
    this.#events.push(reasoningMessageContent({ messageId: thought.id, delta: added }));
  }

  /** Closes the reasoning, with the block that its provider wants back. Opens an empty one to carry a block alone. */
  endThought(block?: Block): void {
    const thought = block === undefined ? this.#thought : this.#openThought();
    if (thought === undefined) return;
    this.#thought = undefined;
    this.#events.push(reasoningMessageEnd({ messageId: thought.id }));
    if (block !== undefined) {
      const sealed = seal(this.#options.provider, block);
      this.#events.push(reasoningEncryptedValue({ subtype: "message", entityId: thought.id, ...sealed }));
    }
    this.#events.push(reasoningEnd({ messageId: thought.id }));
  }

  /** Keeps a block of the provider's own, in its place, for the provider only. */
  carry(block: Block): void {
    this.endThought();
    this.#said = true;
    this.endThought(block);
  }

  /** Opens a call, under a key of the stream's. */
  startCall(key: string, { id: given, name, extras, freeform = false }: CallOpening): void {
    this.endThought();
    this.endText();
    const message = (this.#message ??= newMessage());
    message.calls++;
    this.#said = true;
    const id = given === undefined || given === "" || this.#isTaken(given) ? mintId("call") : given;
    this.#calls.set(key, { id, name, freeform, text: "", open: true });
    const metadata = extras === undefined ? {} : { metadata: { [this.#options.provider]: extras } };
    this.#events.push(toolCallStart({ toolCallId: id, toolCallName: name, parentMessageId: message.id, ...metadata }));
  }

  /** Whether a call of this key was opened. */
  hasCall(key: string): boolean {
    return this.#calls.has(key);
  }

  /** The argument text of a call so far. */
  callText(key: string): string {
    return this.#calls.get(key)?.text ?? "";
  }

  /** Adds argument text to an open call. */
  addArguments(key: string, delta: string): void {
    const call = this.#calls.get(key);
    if (call?.open !== true || delta === "") return;
    call.text += delta;
    this.#events.push(toolCallArgs({ toolCallId: call.id, delta }));
  }

  /** Gives a call a block that its provider wants back. */
  sealCall(key: string, block: Block): void {
    const call = this.#calls.get(key);
    if (call === undefined) return;
    const sealed = seal(this.#options.provider, block);
    this.#events.push(reasoningEncryptedValue({ subtype: "tool-call", entityId: call.id, ...sealed }));
  }

  /** Closes a call. A whole one without any argument text has the arguments `{}`: that is how providers say none. */
  endCall(key: string, whole = true): void {
    const call = this.#calls.get(key);
    if (call?.open !== true) return;
    if (whole && !call.freeform && call.text === "") this.addArguments(key, "{}");
    call.open = false;
    this.#events.push(toolCallEnd({ toolCallId: call.id }));
  }

  /** Shows something beside the conversation. The model never sees it. */
  show(messageId: string, activityType: string, content: Readonly<Record<string, unknown>>): void {
    this.#said = true;
    this.#events.push(activitySnapshot({ messageId, activityType, content }));
  }

  /** Reports the tokens of the answer. Nothing is known where there are only labels. */
  usage(usage: TokenUsage): void {
    if (usage.inputTokens === undefined && usage.outputTokens === undefined) return;
    this.#events.push(modelUsage(usage));
  }

  /** Says why an answer stopped early. */
  stopped(reason: string): void {
    this.#events.push(custom({ name: STOP_EVENT, value: { provider: this.#options.provider, reason } }));
  }

  /** Closes whatever is open; the calls are whole, or were cut. */
  close(whole: boolean): void {
    this.endThought();
    this.endText();
    for (const key of this.#calls.keys()) this.endCall(key, whole);
  }

  #isTaken(id: string): boolean {
    return this.#options.takenCallIds?.has(id) === true || [...this.#calls.values()].some((call) => call.id === id);
  }

  #openText(): AssistantDraft {
    const message = (this.#message ??= newMessage());
    if (!message.open) {
      message.open = true;
      this.#events.push(
        textMessageStart({ messageId: message.id, role: "assistant", ...this.#metadata(message.metadata) }),
      );
    }
    return message;
  }

  #openThought(): { readonly id: string; text: string } {
    if (this.#thought === undefined) {
      this.endText();
      this.#message = undefined;
      this.#thought = { id: mintId("rsn"), text: "" };
      const { id } = this.#thought;
      this.#events.push(reasoningStart({ messageId: id }), reasoningMessageStart({ messageId: id, role: "reasoning" }));
    }
    return this.#thought;
  }

  #metadata(words: Readonly<Record<string, unknown>>): { metadata?: Record<string, unknown> } {
    return Object.keys(words).length === 0 ? {} : { metadata: { [this.#options.provider]: { ...words } } };
  }
}

const newMessage = (): AssistantDraft => ({ id: mintId("msg"), open: false, calls: 0, length: 0, metadata: {} });

/**
 * One message of a model while it streams: its reasoning, its text and its calls, opened as they come and closed
 * together.
 *
 * The text message has LangChain's id, so that the graph knows it again in the next run. Reasoning stands in messages of
 * its own; the block that a provider wants back (with its signature) is put together again and sealed on them.
 */
import type { Event } from "../../../protocol/index.ts";
import { mintId } from "../../mint-id.ts";
import { isRecord } from "../provider/fields.ts";
import { seal } from "../provider/opaque.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { ISSUER } from "./issuer.ts";
import { listOf, piecesOf } from "./read-message.ts";
import type { LangChainMessage, Piece } from "./read-message.ts";

type Reasoning = Extract<Piece, { readonly kind: "reasoning" }>;

interface Thought {
  readonly messageId: string;
  text: string;
  block: Record<string, unknown> | undefined;
}

interface Call {
  id: string;
  name: string;
  /** A call that another message has begun already is not begun again. */
  state: "named" | "open" | "elsewhere";
}

/** A message that is being streamed. */
export class AiMessage {
  /** Where in the graph it is written. */
  readonly scope: string;
  readonly #id: string;
  readonly #isNewCall: (toolCallId: string) => boolean;
  readonly #warn: OnWarning;
  readonly #calls = new Map<unknown, Call>();
  #textOpen = false;
  #thought: Thought | undefined;
  #thoughts = 0;

  constructor(id: string, scope: string, isNewCall: (toolCallId: string) => boolean, warn: OnWarning) {
    this.#id = id;
    this.scope = scope;
    this.#isNewCall = isNewCall;
    this.#warn = warn;
  }

  /** The calls that are part of the message. */
  get callIds(): readonly string[] {
    return [...this.#calls.values()].flatMap(({ id, state }) => (state === "open" ? [id] : []));
  }

  /** Whether a call of this id is part of the message. */
  holds(toolCallId: string): boolean {
    return this.callIds.includes(toolCallId);
  }

  /** The events of the next piece, or of the whole message. */
  push(message: LangChainMessage): readonly Event[] {
    const events: Event[] = [];
    for (const piece of piecesOf(message)) {
      if (piece.kind === "text") events.push(...this.#text(piece.text));
      else if (piece.kind === "reasoning") events.push(...this.#think(piece));
      else this.#warn(`Left out a content block of a message: AG-UI has no place for ${JSON.stringify(piece.type)}.`);
    }
    const chunks = listOf(message.fields["tool_call_chunks"]).filter(isRecord);
    for (const chunk of chunks) events.push(...this.#callChunk(chunk));
    if (chunks.length > 0) return events;
    for (const call of listOf(message.fields["tool_calls"]).filter(isRecord)) {
      events.push(...this.#callChunk({ ...call, args: JSON.stringify(call["args"] ?? {}) }));
    }
    for (const call of listOf(message.fields["invalid_tool_calls"]).filter(isRecord)) {
      events.push(...this.#callChunk(call));
    }
    return events;
  }

  /** What closes it. */
  close(): readonly Event[] {
    const events = [...this.#endThought()];
    if (this.#textOpen) events.push({ type: "TEXT_MESSAGE_END", messageId: this.#id });
    this.#textOpen = false;
    for (const toolCallId of this.callIds) events.push({ type: "TOOL_CALL_END", toolCallId });
    return events;
  }

  #text(delta: string): readonly Event[] {
    const events = [...this.#endThought()];
    const messageId = this.#id;
    if (!this.#textOpen) events.push({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
    this.#textOpen = true;
    events.push({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
    return events;
  }

  #think({ text, block }: Reasoning): readonly Event[] {
    const events: Event[] = this.#goesOn(block) ? [] : [...this.#endThought()];
    if (this.#thought === undefined) {
      const messageId = `${this.#id}/reasoning-${++this.#thoughts}`;
      this.#thought = { messageId, text: "", block: undefined };
      events.push({ type: "REASONING_START", messageId });
      events.push({ type: "REASONING_MESSAGE_START", messageId, role: "reasoning" });
    }
    const { messageId } = this.#thought;
    this.#thought.text += text;
    if (block !== undefined) this.#thought.block = { ...this.#thought.block, ...block };
    if (text !== "") events.push({ type: "REASONING_MESSAGE_CONTENT", messageId, delta: text });
    return events;
  }

  /** Whether a block is a piece of the one before it. */
  #goesOn(block: Readonly<Record<string, unknown>> = {}): boolean {
    const { block: before = {} } = this.#thought ?? {};
    return block["index"] === before["index"] && block["type"] === before["type"];
  }

  #endThought(): readonly Event[] {
    const thought = this.#thought;
    if (thought === undefined) return [];
    this.#thought = undefined;
    const { messageId } = thought;
    const events: Event[] = [{ type: "REASONING_MESSAGE_END", messageId }];
    const block = wholeBlock(thought);
    if (block !== undefined) {
      const sealed = seal(ISSUER, block);
      events.push({ type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: messageId, ...sealed });
    }
    events.push({ type: "REASONING_END", messageId });
    return events;
  }

  #callChunk({ index, id, name, args }: Readonly<Record<string, unknown>>): readonly Event[] {
    const key = index ?? id;
    let call = this.#calls.get(key);
    if (call === undefined) this.#calls.set(key, (call = { id: "", name: "", state: "named" }));
    const events: Event[] = [];
    if (call.state === "named") {
      if (typeof id === "string") call.id = id;
      if (typeof name === "string") call.name += name;
      events.push(...this.#startCall(call));
    }
    if (typeof args === "string" && args !== "" && call.state === "open") {
      events.push({ type: "TOOL_CALL_ARGS", toolCallId: call.id, delta: args });
    }
    return events;
  }

  #startCall(call: Call): readonly Event[] {
    if (call.name === "") return [];
    if (call.id === "") call.id = mintId("call");
    call.state = this.#isNewCall(call.id) ? "open" : "elsewhere";
    if (call.state === "elsewhere") return [];
    const parentMessageId = this.#id;
    return [
      ...this.#endThought(),
      { type: "TOOL_CALL_START", toolCallId: call.id, toolCallName: call.name, parentMessageId },
    ];
  }
}

/** The block as its provider issued it, put together from its pieces. */
function wholeBlock({ block, text }: Thought): Readonly<Record<string, unknown>> | undefined {
  if (block === undefined) return undefined;
  if ("thinking" in block || block["type"] === "thinking") return { ...block, thinking: text };
  return "reasoning" in block ? { ...block, reasoning: text } : block;
}

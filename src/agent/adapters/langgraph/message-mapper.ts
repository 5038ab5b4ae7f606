/**
 * The messages of a graph as events, each once.
 *
 * LangGraph shows a message several times: as it streams, in the update of its node, in the state. The id tells them
 * apart from what was said already, and from what the conversation held before. A message is over when its node is, when
 * its node begins another one, or when one of its calls is answered; LangChain does not say so itself.
 */
import { METADATA_KEY } from "../../../protocol/index.ts";
import type { Event } from "../../../protocol/index.ts";
import { modelUsage } from "../../index.ts";
import { mintId } from "../../mint-id.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { AiMessage } from "./ai-message.ts";
import { piecesOf, usageOf } from "./read-message.ts";
import type { LangChainMessage } from "./read-message.ts";

const ROLES: Readonly<Record<string, "user" | "system" | "developer">> = {
  human: "user",
  system: "system",
  developer: "developer",
};

/** Turns messages into events. */
export class MessageMapper {
  readonly #said: Set<string>;
  readonly #calls = new Set<string>();
  readonly #answered = new Set<string>();
  readonly #open = new Map<string, AiMessage>();
  readonly #warn: OnWarning;

  constructor(known: Iterable<string>, warn: OnWarning) {
    this.#said = new Set(known);
    this.#warn = warn;
  }

  /** Takes note of messages that the graph has brought along, and that are not news. */
  know(ids: Iterable<string>): void {
    for (const id of ids) this.#said.add(id);
  }

  /** A message, or a piece of one, that was written at a place of the graph. */
  take(message: LangChainMessage, scope: string, metadata: Readonly<Record<string, unknown>> = {}): readonly Event[] {
    const id = message.id ?? `${scope}/message`;
    if (message.kind === "ai") return this.#ai(message, id, scope, metadata);
    const role = ROLES[message.kind];
    if (role === undefined && message.kind !== "tool") {
      const isRemoval = message.kind === "remove";
      this.#warn(isRemoval ? "The graph removed messages: viewers keep them." : `Left out a message: ${message.kind}.`);
      return [];
    }
    if (this.#said.has(id) && message.id !== undefined) return [];
    this.#said.add(id);
    return role === undefined ? this.#tool(message) : this.#whole(message, role);
  }

  /** A call whose tool began to work, where no message told of it. */
  startCall(toolCallId: string, toolCallName: string, input: unknown): readonly Event[] {
    if (!this.#isNewCall(toolCallId)) return [];
    const delta = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
    return [
      { type: "TOOL_CALL_START", toolCallId, toolCallName },
      ...(delta === "" ? [] : [{ type: "TOOL_CALL_ARGS", toolCallId, delta } as const]),
      { type: "TOOL_CALL_END", toolCallId },
    ];
  }

  /** The answer to a call. */
  answer(toolCallId: string, messageId: string | undefined, content: string, failed: boolean): readonly Event[] {
    if (this.#answered.has(toolCallId)) return [];
    this.#answered.add(toolCallId);
    const metadata = failed ? { metadata: { [METADATA_KEY]: { error: content } } } : {};
    const result = { toolCallId, messageId: messageId ?? mintId("msg"), content, role: "tool", ...metadata } as const;
    return [...this.#close((open) => open.holds(toolCallId)), { type: "TOOL_CALL_RESULT", ...result }];
  }

  /** What closes the messages of a part of the graph, or of all of it. */
  close(scope = ""): readonly Event[] {
    return this.#close((open) => open.scope.startsWith(scope));
  }

  #ai(
    message: LangChainMessage,
    id: string,
    scope: string,
    metadata: Readonly<Record<string, unknown>>,
  ): readonly Event[] {
    const events: Event[] = [];
    let open = this.#open.get(id);
    if (open === undefined) {
      if (this.#said.has(id)) return [];
      // One without an id is only known while it lasts.
      if (message.id !== undefined) this.#said.add(id);
      events.push(...this.#close((other) => other.scope === scope));
      this.#open.set(
        id,
        (open = new AiMessage(message.id ?? mintId("msg"), scope, (callId) => this.#isNewCall(callId), this.#warn)),
      );
    } else if (!message.isChunk) return this.#close((other) => other === open);
    events.push(...open.push(message), ...usageOf(message, metadata).map(modelUsage));
    if (!message.isChunk) events.push(...this.#close((other) => other === open));
    return events;
  }

  #close(isMeant: (open: AiMessage) => boolean): readonly Event[] {
    const events: Event[] = [];
    for (const [id, open] of this.#open) {
      if (!isMeant(open)) continue;
      this.#open.delete(id);
      events.push(...open.close());
    }
    return events;
  }

  /** Whether a call has not been begun yet; from now on it has. */
  #isNewCall(toolCallId: string): boolean {
    const { size } = this.#calls;
    return this.#calls.add(toolCallId).size > size;
  }

  #tool(message: LangChainMessage): readonly Event[] {
    const { tool_call_id: toolCallId, status } = message.fields;
    return this.answer(String(toolCallId), message.id, this.#textOf(message), status === "error");
  }

  #whole(message: LangChainMessage, role: "user" | "system" | "developer"): readonly Event[] {
    const messageId = message.id ?? mintId("msg");
    const delta = this.#textOf(message);
    return [
      { type: "TEXT_MESSAGE_START", messageId, role },
      { type: "TEXT_MESSAGE_CONTENT", messageId, delta },
      { type: "TEXT_MESSAGE_END", messageId },
    ];
  }

  #textOf(message: LangChainMessage): string {
    const pieces = piecesOf(message);
    const dropped = new Set(pieces.flatMap((piece) => (piece.kind === "other" ? [piece.type] : [])));
    for (const type of dropped)
      this.#warn(`Left out a content block of a message: only its text is shown, not ${type}.`);
    return pieces.map((piece) => (piece.kind === "text" ? piece.text : "")).join("");
  }
}

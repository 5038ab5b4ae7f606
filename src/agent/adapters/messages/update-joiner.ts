/**
 * Joins updates into whole messages, in their order: for readers that want messages and not pieces.
 *
 * Pieces of one kind and origin are one message; anything else ends it. A whole message that repeats what is being
 * joined takes its place.
 */
import { CallUpdates } from "./call-updates.ts";
import { mintId } from "./mint-id.ts";
import type { Middleware } from "./streaming-agent.ts";
import { originOf } from "./stream-message.ts";
import type { FunctionCall, MessageOrigin, StreamMessage } from "./stream-message.ts";

/** Middleware: joins updates into whole messages. */
export function joinedUpdates(): Middleware {
  return async function* join({ messages, options }, agent) {
    const joiner = new UpdateJoiner();
    for await (const message of agent.generateReplyStreaming(messages, options)) yield* joiner.push(message);
    yield* joiner.end();
  };
}

/** What is being joined: its kind and origin, the calls where it has any, and the message that it makes. */
interface Joining {
  readonly key: string;
  readonly calls: Map<string, FunctionCall>;
  text: string;
  readonly make: (joining: Joining) => StreamMessage;
}

/** Joins the updates of one stream. */
export class UpdateJoiner {
  readonly #updates = new CallUpdates(() => mintId("call"));
  #joining: Joining | undefined;

  /** The whole messages that are complete now. */
  push(message: StreamMessage): readonly StreamMessage[] {
    const updates = this.#updates.resolve(message);
    switch (message.type) {
      case "text-update": {
        const { role, text } = message;
        const origin = { ...originOf(message), ...(role === undefined ? {} : { role }) };
        return this.#add(keyOf("text", message, role), text, (joined) => ({
          type: "text",
          text: joined.text,
          ...origin,
        }));
      }
      case "reasoning-update": {
        const origin = originOf(message);
        const make = ({ text }: Joining): StreamMessage => ({ type: "reasoning", reasoning: text, ...origin });
        return this.#add(keyOf("reasoning", message), message.reasoning, make);
      }
      case "tools-call-update": {
        const origin = originOf(message);
        const make = ({ calls }: Joining): StreamMessage => ({
          type: "tools-call",
          toolCalls: [...calls.values()],
          ...origin,
        });
        const ended = this.#add(keyOf("calls", message), "", make);
        const calls = this.#joining?.calls;
        for (const { callId, functionName, functionArgs, update } of updates) {
          const before = calls?.get(callId);
          const { index } = update;
          calls?.set(callId, {
            ...before,
            callId,
            functionName,
            functionArgs: (before?.functionArgs ?? "") + functionArgs,
            ...(index === undefined ? {} : { index }),
          });
        }
        return ended;
      }
      default:
        this.#forgetRepeated(message);
        return [...this.end(), message];
    }
  }

  /** The message that was still being joined. */
  end(): readonly StreamMessage[] {
    const joining = this.#joining;
    this.#joining = undefined;
    return joining === undefined ? [] : [joining.make(joining)];
  }

  #add(key: string, text: string, make: Joining["make"]): readonly StreamMessage[] {
    const ended = this.#joining?.key === key ? [] : this.end();
    this.#joining ??= { key, calls: new Map(), text: "", make };
    this.#joining.text += text;
    return ended;
  }

  /** Lets go of what a whole message says again. */
  #forgetRepeated(message: StreamMessage): void {
    const joining = this.#joining;
    if (joining === undefined) return;
    const isSame =
      (message.type === "text" &&
        joining.key === keyOf("text", message, message.role) &&
        message.text === joining.text) ||
      (message.type === "reasoning" &&
        joining.key === keyOf("reasoning", message) &&
        message.reasoning === joining.text);
    for (const { callId } of callsIn(message)) joining.calls.delete(callId);
    if (isSame || (joining.key.startsWith('["calls"') && joining.calls.size === 0)) this.#joining = undefined;
  }
}

/** The calls that a whole message makes. */
export function callsIn(message: StreamMessage): readonly FunctionCall[] {
  if (message.type === "tools-call") return message.toolCalls;
  return message.type === "tools-call-aggregate" ? message.toolsCall.toolCalls : [];
}

const keyOf = (
  kind: "text" | "reasoning" | "calls",
  { generationId, fromAgent }: MessageOrigin,
  role?: string,
): string => JSON.stringify([kind, generationId, fromAgent, role]);

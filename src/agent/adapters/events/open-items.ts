/**
 * What a source has opened and not closed: each with the event that closes it, which also says whose it is.
 *
 * A message, call or step goes on under the run that began it, also where the source has gone on to another run since.
 */
import { stepFinished, textMessageEnd, toolCallEnd } from "../../../protocol/index.ts";
import type { Event } from "../../../protocol/index.ts";
import type { NativeContent } from "./map-native-event.ts";

type Closer = Extract<Event, { readonly type: "TEXT_MESSAGE_END" | "TOOL_CALL_END" | "STEP_FINISHED" }>;

/** The open messages, calls and steps of one run. */
export class OpenItems {
  readonly #closers = new Map<string, Closer>();

  /** Whose an event is: that of the item that it continues, else what `otherwise` says. */
  laneOf(event: NativeContent, otherwise: () => string | undefined): string | undefined {
    const key = continued(event);
    const closer = key === undefined ? undefined : this.#closers.get(key);
    return closer === undefined ? otherwise() : closer.subagentRunId;
  }

  /** Whether what an event closes is open. */
  has(event: Event): boolean {
    const key = closed(event);
    return key !== undefined && this.#closers.has(key);
  }

  /** Takes note of what an event opens or closes. */
  follow(event: Event): void {
    const closer = closerOf(event);
    const key = closed(closer ?? event);
    if (key === undefined) return;
    if (closer === undefined) this.#closers.delete(key);
    else if (!this.#closers.has(key)) this.#closers.set(key, closer);
  }

  /** The events that close what is open, the newest first. */
  closers(): readonly Event[] {
    return [...this.#closers.values()].toReversed();
  }

  /** Forgets everything. */
  clear(): void {
    this.#closers.clear();
  }
}

/** The key of the message or call that a native event goes on with or ends. Steps are told apart by their run. */
function continued(event: NativeContent): string | undefined {
  switch (event.type) {
    case "message_delta":
    case "message_end":
      return `message ${event.messageId}`;
    case "tool_call_args":
    case "tool_call_end":
      return `call ${event.toolCallId}`;
    default:
      return undefined;
  }
}

/** The key of what an event closes. */
function closed(event: Event): string | undefined {
  switch (event.type) {
    case "TEXT_MESSAGE_END":
      return `message ${event.messageId}`;
    case "TOOL_CALL_END":
      return `call ${event.toolCallId}`;
    case "STEP_FINISHED":
      return `step ${JSON.stringify([event.subagentRunId ?? null, event.stepName])}`;
    default:
      return undefined;
  }
}

/** The event that closes what an event opens. */
function closerOf(event: Event): Closer | undefined {
  switch (event.type) {
    case "TEXT_MESSAGE_START":
      return textMessageEnd({ messageId: event.messageId, ...ownerOf(event) });
    case "TOOL_CALL_START":
      return toolCallEnd({ toolCallId: event.toolCallId, ...ownerOf(event) });
    case "STEP_STARTED":
      return stepFinished({ stepName: event.stepName, ...ownerOf(event) });
    default:
      return undefined;
  }
}

const ownerOf = ({ subagentRunId }: { readonly subagentRunId?: string }): { readonly subagentRunId?: string } =>
  subagentRunId === undefined ? {} : { subagentRunId };

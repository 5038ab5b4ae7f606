/**
 * The tool calls of a run, as the session dialect tells of them: a call begins with its first chunk, and its arguments
 * are sent when it is whole.
 *
 * The dialect gives arguments as a parsed value. A server that repeats a call with more of them, or says `isComplete`
 * only with a second chunk, replaces what it gave before, and AG-UI can only add to argument text: so the newest value
 * is held until the call is whole. It is whole when a chunk or `tool-call-complete` says so, when it is answered, and at
 * the end of the run. What comes for it later is heard only if it goes on where the sent text ends.
 */
import type { Event } from "../generated/model.ts";
import type { ToolCallChunkData } from "./model.ts";
import { inLane } from "./session-event-draft.ts";

interface Call {
  readonly toolCallId: string;
  readonly toolCallName: string;
  readonly lane: string | undefined;
  readonly parent: { readonly parentMessageId?: string };
  /** The newest arguments; undefined until there are any. */
  text: string | undefined;
  /** What has been sent of them. */
  sent: string;
  isOpen: boolean;
}

/** The calls of one run. */
export class SessionCalls {
  readonly #calls = new Map<string, Call>();
  readonly #open = new Set<Call>();

  /** A call, or more of it; a new one is made by a message, and is of the message's owner. */
  chunk(
    data: ToolCallChunkData,
    parentMessageId?: string,
    { lane }: { readonly lane?: string | undefined } = {},
  ): readonly Event[] {
    const { toolCallId, toolName, isComplete } = data;
    let call = this.#calls.get(toolCallId);
    if (call === undefined) {
      const parent = parentMessageId === undefined ? {} : { parentMessageId };
      call = { toolCallId, toolCallName: toolName, lane, parent, text: undefined, sent: "", isOpen: false };
      this.#calls.set(toolCallId, call);
    } else if (!call.isOpen && !goesOn(call, textOf(data))) {
      return [];
    }
    call.text = textOf(data) ?? call.text;
    return [...this.#opened(call), ...(isComplete ? this.#closed(call) : [])];
  }

  /** Whether the call has been heard of. */
  has(toolCallId: string): boolean {
    return this.#calls.has(toolCallId);
  }

  /** Calls are whole: those that are named, or all of a subagent where none is. */
  complete(toolCallIds: readonly string[], lane: string | undefined): readonly Event[] {
    const isMeant = (call: Call): boolean =>
      toolCallIds.length === 0 ? call.lane === lane : toolCallIds.includes(call.toolCallId);
    return [...this.#open].filter(isMeant).flatMap((call) => this.#closed(call));
  }

  /** Closes what is open. */
  closeAll(): readonly Event[] {
    return [...this.#open].flatMap((call) => this.#closed(call));
  }

  #opened(call: Call): readonly Event[] {
    if (call.isOpen) return [];
    call.isOpen = true;
    this.#open.add(call);
    const { toolCallId, toolCallName, sent, lane } = call;
    // A call that goes on has its message already.
    const parent = sent === "" ? call.parent : {};
    return [{ type: "TOOL_CALL_START", toolCallId, toolCallName, ...parent, ...inLane(lane) }];
  }

  #closed(call: Call): readonly Event[] {
    call.isOpen = false;
    this.#open.delete(call);
    const { toolCallId, lane, text = NO_ARGUMENTS, sent } = call;
    const end: Event = { type: "TOOL_CALL_END", toolCallId, ...inLane(lane) };
    const delta = text.slice(sent.length);
    call.sent = text;
    return delta === "" ? [end] : [{ type: "TOOL_CALL_ARGS", toolCallId, delta, ...inLane(lane) }, end];
  }
}

const NO_ARGUMENTS = "{}";

/** The arguments as text; null says nothing of them. */
function textOf({ arguments: value, argumentsText }: ToolCallChunkData): string | undefined {
  return argumentsText ?? (value === null ? undefined : JSON.stringify(value));
}

function goesOn({ sent }: Call, text: string | undefined): boolean {
  return text !== undefined && text.length > sent.length && text.startsWith(sent);
}

/**
 * Chunk events as what they are short for: start, content, end.
 *
 * Ingest expands chunks by AG-UI's full rules and refuses what breaks them; a stream that came that way passes
 * through here unchanged. This is the forgiving form for streams that did not: one open item for each lane (the
 * agent, or a subagent), ended by a chunk of another kind or id and by whatever else ends it in AG-UI. A chunk that
 * names no id and continues nothing says nothing.
 */
import type { Event } from "../generated/model.ts";

type ChunkType = "TEXT_MESSAGE_CHUNK" | "TOOL_CALL_CHUNK" | "REASONING_MESSAGE_CHUNK";
type ChunkEvent = Extract<Event, { readonly type: ChunkType }>;

/** Every event that is not a chunk. */
export type WholeEvent = Exclude<Event, ChunkEvent>;

interface OpenItem {
  readonly type: ChunkType;
  readonly id: string;
}

/** What chunks have opened, by subagent; undefined is the agent itself. */
export type OpenChunks = Map<string | undefined, OpenItem>;

const ENDS_NOTHING: ReadonlySet<string> = new Set([
  "RAW",
  "META",
  "ACTIVITY_SNAPSHOT",
  "ACTIVITY_DELTA",
  "REASONING_ENCRYPTED_VALUE",
  "SUBAGENT_STARTED",
]);
const ENDS_EVERYTHING: ReadonlySet<string> = new Set(["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"]);

/** The subagent that an event belongs to; undefined for the agent itself. */
function laneOf(event: Event): string | undefined {
  return "subagentRunId" in event ? event.subagentRunId : undefined;
}

/** The events that one event stands for; `open` is what earlier chunks left open, and is kept up to date. */
export function expandChunks(open: OpenChunks, event: Event): readonly WholeEvent[] {
  switch (event.type) {
    case "TEXT_MESSAGE_CHUNK":
    case "REASONING_MESSAGE_CHUNK":
      return expandChunk(open, event, event.messageId);
    case "TOOL_CALL_CHUNK":
      return expandChunk(open, event, event.toolCallId);
    default: {
      if (open.size === 0 || ENDS_NOTHING.has(event.type)) return [event];
      const lanes = ENDS_EVERYTHING.has(event.type) ? [...open.keys()] : [laneOf(event)];
      return [...lanes.flatMap((lane) => end(open, lane, event)), event];
    }
  }
}

function expandChunk(open: OpenChunks, chunk: ChunkEvent, named: string | undefined): readonly WholeEvent[] {
  const lane = chunk.subagentRunId;
  const current = open.get(lane);
  if (current?.type === chunk.type && (named === undefined || named === current.id)) {
    return content(chunk, current.id);
  }
  if (named === undefined) return [];
  const ended = end(open, lane, chunk);
  open.set(lane, { type: chunk.type, id: named });
  return [...ended, start(chunk, named), ...content(chunk, named)];
}

function start(chunk: ChunkEvent, id: string): WholeEvent {
  const common = commonOf(chunk, chunk.subagentRunId);
  switch (chunk.type) {
    case "TEXT_MESSAGE_CHUNK":
      return { type: "TEXT_MESSAGE_START", messageId: id, role: chunk.role ?? "assistant", ...common };
    case "REASONING_MESSAGE_CHUNK":
      return { type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning", ...common };
    case "TOOL_CALL_CHUNK": {
      const parent = chunk.parentMessageId === undefined ? {} : { parentMessageId: chunk.parentMessageId };
      return { type: "TOOL_CALL_START", toolCallId: id, toolCallName: chunk.toolCallName ?? "", ...parent, ...common };
    }
  }
}

function content(chunk: ChunkEvent, id: string): readonly WholeEvent[] {
  const { delta } = chunk;
  if (delta === undefined) return [];
  const common = commonOf(chunk, chunk.subagentRunId);
  switch (chunk.type) {
    case "TEXT_MESSAGE_CHUNK":
      return [{ type: "TEXT_MESSAGE_CONTENT", messageId: id, delta, ...common }];
    case "REASONING_MESSAGE_CHUNK":
      return [{ type: "REASONING_MESSAGE_CONTENT", messageId: id, delta, ...common }];
    case "TOOL_CALL_CHUNK":
      return [{ type: "TOOL_CALL_ARGS", toolCallId: id, delta, ...common }];
  }
}

/** Ends what is open in a lane. The end is as old as the event that caused it. */
function end(open: OpenChunks, lane: string | undefined, cause: Event): readonly WholeEvent[] {
  const item = open.get(lane);
  if (item === undefined) return [];
  open.delete(lane);
  const common = commonOf(cause, lane);
  switch (item.type) {
    case "TEXT_MESSAGE_CHUNK":
      return [{ type: "TEXT_MESSAGE_END", messageId: item.id, ...common }];
    case "REASONING_MESSAGE_CHUNK":
      return [{ type: "REASONING_MESSAGE_END", messageId: item.id, ...common }];
    case "TOOL_CALL_CHUNK":
      return [{ type: "TOOL_CALL_END", toolCallId: item.id, ...common }];
  }
}

function commonOf(
  { timestamp }: Event,
  lane: string | undefined,
): { readonly timestamp?: number; readonly subagentRunId?: string } {
  return {
    ...(timestamp === undefined ? {} : { timestamp }),
    ...(lane === undefined ? {} : { subagentRunId: lane }),
  };
}

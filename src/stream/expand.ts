/**
 * Chunk events to the triads that they are short for, one lane per subagent.
 *
 * A lane holds at most one open chunk stream. What closes it is the table of R-STRM-13: another id or kind, any message,
 * tool, step, state, reasoning or CUSTOM event of the lane, the subagent's end, and every event of the whole run; RAW,
 * activities, encrypted values and SUBAGENT_STARTED close nothing. Everything that is no chunk passes as it is. A chunk's
 * timestamp goes to what it becomes; metadata to the start and the content, never to an end.
 */
import type { Event, EventType, TextMessageRole } from "../protocol/index.ts";
import { violation } from "./rules.ts";

type Chunk = Extract<Event, { readonly type: `${string}_CHUNK` }>;
type Kind = "text" | "tool" | "reasoning";

/** The chunk stream that is open in a lane, and what its first chunk said. */
interface OpenStream {
  readonly kind: Kind;
  readonly id: string;
  readonly owner: string | undefined;
  readonly role: TextMessageRole;
  readonly name: string | undefined;
  readonly toolCallName: string | undefined;
  readonly parentMessageId: string | undefined;
}

/** What `expand` remembers between events. */
export interface ExpandState {
  /** Open chunk streams by lane; the agent's own lane is undefined. */
  readonly lanes: Map<string | undefined, OpenStream>;
}

/** A fresh state: one for each stream. */
export const createExpandState = (): ExpandState => ({ lanes: new Map() });

/** The events in place of one event. Throws `sequence-violation` where a chunk breaks the rules of chunks. */
export function expand(state: ExpandState, event: Event): readonly Event[] {
  switch (event.type) {
    case "TEXT_MESSAGE_CHUNK":
    case "TOOL_CALL_CHUNK":
    case "REASONING_MESSAGE_CHUNK":
      return expandChunk(state, event);
    default:
      return state.lanes.size === 0 ? [event] : [...closedBy(state, event), event];
  }
}

const CLOSES: Readonly<Partial<Record<EventType, "all" | "none">>> = {
  RUN_STARTED: "all",
  RUN_FINISHED: "all",
  RUN_ERROR: "all",
  MESSAGES_SNAPSHOT: "all",
  RAW: "none",
  ACTIVITY_SNAPSHOT: "none",
  ACTIVITY_DELTA: "none",
  REASONING_ENCRYPTED_VALUE: "none",
  SUBAGENT_STARTED: "none",
  META: "none",
};

function closedBy(state: ExpandState, event: Event): readonly Event[] {
  const closes = CLOSES[event.type];
  if (closes === "none") return [];
  if (closes === "all") return [...state.lanes.keys()].flatMap((lane) => close(state, lane, event.timestamp));
  return close(state, "subagentRunId" in event ? event.subagentRunId : undefined, event.timestamp);
}

function close({ lanes }: ExpandState, lane: string | undefined, timestamp: number | undefined): readonly Event[] {
  const open = lanes.get(lane);
  if (open === undefined) return [];
  lanes.delete(lane);
  const common = { ...stamp(timestamp), ...attribution(open.owner) };
  switch (open.kind) {
    case "text":
      return [{ type: "TEXT_MESSAGE_END", messageId: open.id, ...common }];
    case "tool":
      return [{ type: "TOOL_CALL_END", toolCallId: open.id, ...common }];
    case "reasoning":
      return [{ type: "REASONING_MESSAGE_END", messageId: open.id, ...common }];
  }
}

const stamp = (timestamp: number | undefined) => (timestamp === undefined ? {} : { timestamp });
const attribution = (subagentRunId: string | undefined) => (subagentRunId === undefined ? {} : { subagentRunId });

const KINDS: Readonly<Record<Chunk["type"], Kind>> = {
  TEXT_MESSAGE_CHUNK: "text",
  TOOL_CALL_CHUNK: "tool",
  REASONING_MESSAGE_CHUNK: "reasoning",
};

function expandChunk(state: ExpandState, chunk: Chunk): readonly Event[] {
  const kind = KINDS[chunk.type];
  const id = chunk.type === "TOOL_CALL_CHUNK" ? chunk.toolCallId : chunk.messageId;
  const lane = laneOf(state, chunk, kind, id);
  const open = state.lanes.get(lane);
  if (open?.kind === kind && (id === undefined || id === open.id)) {
    checkRepeats(chunk, open);
    const says = chunk.delta !== undefined || chunk.rawEvent !== undefined || chunk.metadata !== undefined;
    return says ? [contentOf(chunk, open)] : [];
  }
  // Judged first: a chunk that opens nothing must not close anything either.
  const opened = opening(chunk, kind, id);
  const closed = close(state, lane, chunk.timestamp);
  state.lanes.set(lane, opened);
  const started = [...closed, startOf(chunk, opened)];
  return chunk.delta === undefined && chunk.rawEvent === undefined ? started : [...started, contentOf(chunk, opened)];
}

/** Which lane a chunk belongs to: by its id, by its tag, or, having neither, by what is open (R-STRM-14). */
function laneOf({ lanes }: ExpandState, chunk: Chunk, kind: Kind, id: string | undefined): string | undefined {
  const tag = chunk.subagentRunId;
  if (id !== undefined) {
    for (const [lane, open] of lanes) {
      if (open.kind !== kind || open.id !== id) continue;
      if (tag === undefined || tag === lane) return lane;
      throw violation("owner-mismatch", `The chunk of ${id} names another subagent.`, chunk);
    }
    return tag;
  }
  if (tag !== undefined || lanes.get(undefined)?.kind === kind) return tag;
  const candidates = [...lanes].filter(([, open]) => open.kind === kind);
  if (candidates.length > 1) {
    throw violation("chunk-ambiguous", `A ${chunk.type} without id and tag could continue several streams.`, chunk);
  }
  return candidates[0]?.[0];
}

/** A continuation may repeat what its first chunk said, not change it (R-STRM-12). */
function checkRepeats(chunk: Chunk, open: OpenStream): void {
  for (const field of ["role", "name", "toolCallName", "parentMessageId"] as const) {
    const repeated: unknown = field in chunk ? Reflect.get(chunk, field) : undefined;
    if (repeated !== undefined && repeated !== open[field]) {
      throw violation("chunk-conflict", `The chunk says another ${field} for ${open.id}.`, chunk);
    }
  }
}

function opening(chunk: Chunk, kind: Kind, id: string | undefined): OpenStream {
  if (id === undefined) {
    throw violation("chunk-first", `The first ${chunk.type} of a stream names what it opens.`, chunk);
  }
  const isTool = chunk.type === "TOOL_CALL_CHUNK";
  if (isTool && chunk.toolCallName === undefined) {
    throw violation("chunk-first", `The first TOOL_CALL_CHUNK of ${id} names the tool.`, chunk);
  }
  return {
    kind,
    id,
    owner: chunk.subagentRunId,
    role: chunk.type === "TEXT_MESSAGE_CHUNK" ? (chunk.role ?? "assistant") : "assistant",
    name: chunk.type === "TEXT_MESSAGE_CHUNK" ? chunk.name : undefined,
    toolCallName: isTool ? chunk.toolCallName : undefined,
    parentMessageId: isTool ? chunk.parentMessageId : undefined,
  };
}

function startOf(chunk: Chunk, open: OpenStream): Event {
  const { id, role, name, toolCallName = "", parentMessageId } = open;
  const common = { ...stamp(chunk.timestamp), ...metadataOf(chunk), ...attribution(open.owner) };
  switch (open.kind) {
    case "text":
      return { type: "TEXT_MESSAGE_START", messageId: id, role, ...(name === undefined ? {} : { name }), ...common };
    case "tool": {
      const parent = parentMessageId === undefined ? {} : { parentMessageId };
      return { type: "TOOL_CALL_START", toolCallId: id, toolCallName, ...parent, ...common };
    }
    case "reasoning":
      return { type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning", ...common };
  }
}

function contentOf(chunk: Chunk, { kind, id, owner }: OpenStream): Event {
  const delta = chunk.delta ?? "";
  const common = {
    ...stamp(chunk.timestamp),
    ...metadataOf(chunk),
    ...(chunk.rawEvent === undefined ? {} : { rawEvent: chunk.rawEvent }),
    ...attribution(chunk.subagentRunId ?? owner),
  };
  switch (kind) {
    case "text":
      return { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta, ...common };
    case "tool":
      return { type: "TOOL_CALL_ARGS", toolCallId: id, delta, ...common };
    case "reasoning":
      return { type: "REASONING_MESSAGE_CONTENT", messageId: id, delta, ...common };
  }
}

const metadataOf = ({ metadata }: Event) => (metadata === undefined ? {} : { metadata });

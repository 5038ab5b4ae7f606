/**
 * Tool calls told again: after these events, `verify` has the calls open that were open, and `reduce` has those pending
 * that were, in their order, and no other.
 *
 * A start of a call that the conversation holds only opens it again, so most calls come behind the snapshot of the
 * messages. What would leave a mark comes before it, under messages with ids that nothing has, which the snapshot takes
 * away: calls whose message is gone, and calls that are open though they are answered, which need their answer told.
 */
import type { Event, ToolCall } from "../protocol/index.ts";
import type { MessageList } from "./message-list.ts";

/** What is known of the calls of a run. */
export interface KnownCalls {
  /** Calls of the run in order: true once answered. */
  readonly calls: ReadonlyMap<string, boolean>;
  /** The conversation. */
  readonly list: MessageList;
  /** Names of the calls. */
  readonly names: ReadonlyMap<string, string>;
  /** Calls that are to be open afterwards. */
  readonly open: ReadonlySet<string>;
  /** Whether calls that are not open get their end; where a run fails anyway they need none. */
  readonly closes: boolean;
  /** The subagent that owns a call. */
  readonly ownerOf: (toolCallId: string) => string | undefined;
}

/** Events that tell calls again. */
export interface RestatedCalls {
  /** In front of the snapshot of the messages, which then must come. */
  readonly before: readonly Event[];
  /** Behind it. */
  readonly after: readonly Event[];
}

/** Tells the calls again that are open or pending. */
export function restateCalls(known: KnownCalls): RestatedCalls {
  const { calls, list, open } = known;
  const told = [...calls].filter(([id, answered]) => !answered || open.has(id));
  // One that has to come first takes the other pending ones along: their order is part of the result.
  const pendingFirst = told.some(([id, answered]) => !answered && list.carrierOf(id) === undefined);
  const isFirst = (answered: boolean): boolean => answered || pendingFirst;
  const events = (first: boolean): readonly Event[] =>
    told.flatMap(([id, answered]) => (isFirst(answered) === first ? restated(known, id, answered, first) : []));
  return { before: events(true), after: events(false) };
}

function restated(known: KnownCalls, toolCallId: string, answered: boolean, first: boolean): readonly Event[] {
  const { list, names, open, closes, ownerOf } = known;
  const owner = ownerOf(toolCallId);
  const common = { toolCallId, ...(owner === undefined ? {} : { subagentRunId: owner }) };
  const held = list.carrierOf(toolCallId)?.toolCalls?.find(({ id }: ToolCall) => id === toolCallId);
  const toolCallName = held?.function.name ?? names.get(toolCallId) ?? "";
  const parent = first ? { parentMessageId: spareId(list, `${toolCallId}-carrier`) } : {};
  const answer = { messageId: spareId(list, `${toolCallId}-answer`), content: "" };
  return [
    { type: "TOOL_CALL_START", toolCallName, ...parent, ...common },
    ...(answered ? [{ type: "TOOL_CALL_RESULT", ...answer, ...common } as const] : []),
    ...(closes && !open.has(toolCallId) ? [{ type: "TOOL_CALL_END", ...common } as const] : []),
  ];
}

/** An id that no message has. */
function spareId(list: MessageList, wish: string): string {
  let id = wish;
  while (list.get(id) !== undefined) id += "-";
  return id;
}

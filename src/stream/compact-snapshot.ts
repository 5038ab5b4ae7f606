/**
 * Compaction to the result: for each run that ended, its messages and its state as snapshots (seed 002).
 *
 * RUN_STARTED and the terminal event stay, and so do subagents, CUSTOM and META, which no snapshot tells; steps,
 * reasoning spans and RAW go. Snapshots hold all that the fold holds, so replay deletes nothing. Calls that wait for an
 * answer are told again behind them. A run that has not ended keeps the form of a stream, joined. Events outside of any
 * run become snapshots and nothing else.
 */
import type { Event, Message } from "../protocol/index.ts";
import { restateCalls } from "./compact-calls.ts";
import { joinEvents } from "./compact-events.ts";
import type { Compacted, JoinOptions } from "./compact-events.ts";
import { createReduceState, reduce } from "./reduce.ts";
import type { ReduceOptions, ReduceState } from "./reduce.ts";

/** A run, or what lies outside of runs: events from `from` up to `to`, and the boundaries at hand. */
interface Stretch {
  readonly opening: Event | undefined;
  readonly from: number;
  readonly to: number;
  readonly terminal: Event | undefined;
}

/** Turns every run that ended into snapshots. */
export function snapshotRuns(source: readonly Event[], options: ReduceOptions & JoinOptions = {}): Compacted {
  const joined = joinEvents(source, { ...options, whole: true });
  const placeOf = (index: number): number => joined.ranges[index]?.[0] ?? source.length;
  const fold = createReduceState(options);
  const events: Event[] = [];
  const ranges: (readonly [number, number])[] = [];
  const push = (event: Event, first: number, last = first): void => {
    events.push(event);
    ranges.push([first, last]);
  };
  for (const stretch of stretches(joined.events)) {
    const { opening, from, to, terminal } = stretch;
    const body = joined.events.slice(from, to);
    if (opening !== undefined) reduce(fold, opening);
    const told = opening !== undefined && terminal === undefined ? undefined : restate(fold, body, stretch);
    const end = placeOf(to);
    // Where no snapshot stands for what is gone, the start of the run does.
    if (opening !== undefined) push(opening, placeOf(from - 1), told?.length === 0 ? end - 1 : undefined);
    for (const event of told ?? []) push(event, from === 0 ? 0 : placeOf(from - 1) + 1, end - 1);
    for (const [index, event] of body.entries()) {
      const [first, last] = joined.ranges[from + index] ?? [end];
      if (told === undefined || KEPT.test(event.type)) push(event, first, last);
    }
    if (terminal === undefined) continue;
    reduce(fold, terminal);
    push(terminal, end);
  }
  return { events, ranges };
}

/** Events that go into the messages. */
const MESSAGES = /^(TEXT|TOOL|ACTIVITY|MESSAGES|REASONING_(MESSAGE|ENC))/;
/** Events that go into the state. */
const STATE = /^STATE/;
/** Events that stay. */
const KEPT = /^(SUBAGENT|CUSTOM|META)/;

/** Cuts events at the boundaries of runs. */
function stretches(events: readonly Event[]): readonly Stretch[] {
  const found: Stretch[] = [];
  let opening: Event | undefined;
  let from = 0;
  const cut = (to: number, terminal?: Event): void => {
    if (to > from || opening !== undefined || terminal !== undefined) found.push({ opening, from, to, terminal });
  };
  for (const [index, event] of events.entries()) {
    const starts = event.type === "RUN_STARTED";
    if (!starts && event.type !== "RUN_FINISHED" && event.type !== "RUN_ERROR") continue;
    cut(index, starts ? undefined : event);
    opening = starts ? event : undefined;
    from = index + 1;
  }
  cut(events.length);
  return found;
}

/** Folds the events of a stretch, and says what they came to. */
function restate(fold: ReduceState, body: readonly Event[], { opening, terminal }: Stretch): readonly Event[] {
  const held = fold.list.publish();
  const names = new Map<string, string>();
  for (const event of body) {
    reduce(fold, event);
    if (event.type === "TOOL_CALL_START") names.set(event.toolCallId, event.toolCallName);
  }
  const spoken = body.find(({ type }) => MESSAGES.test(type));
  const changed = body.find(({ type }) => STATE.test(type));
  const { before, after } = restateCalls({
    calls: opening === undefined ? new Map() : fold.calls,
    list: fold.list,
    names,
    open: new Set(),
    closes: terminal?.type === "RUN_FINISHED",
    ownerOf: (id) => fold.list.carrierOf(id)?.subagentRunId,
  });
  const told: Event[] = [];
  if (spoken !== undefined) {
    const messages = fold.list.publish();
    told.push(...before);
    for (const each of stepsTo(held, messages)) told.push({ type: "MESSAGES_SNAPSHOT", messages: each });
  }
  const stamped = told.map((event) => stampedAs(spoken, event));
  if (changed !== undefined && fold.document !== undefined) {
    stamped.push(stampedAs(changed, { type: "STATE_SNAPSHOT", snapshot: fold.document }));
  }
  return [...stamped, ...after.map((event) => stampedAs(spoken, event))];
}

const stampedAs = (from: Event | undefined, event: Event): Event =>
  from?.timestamp === undefined ? event : { ...event, timestamp: from.timestamp };

/**
 * Snapshots that lead from some messages to others. One, where it takes away what has to go, and what stays comes first:
 * a snapshot leaves what it restates in its place. An answer to an old call, or a message that went and came back, changes
 * the order; then all must go first. Activities and reasoning only go for others of their kind, so they are told as
 * something else before.
 */
function stepsTo(held: readonly Message[], messages: readonly Message[]): readonly (readonly Message[])[] {
  const ids = new Set(messages.map(({ id }) => id));
  const roles = new Set(messages.map(({ role }) => role));
  const lasting = held.filter(({ role }) => role === "activity" || role === "reasoning");
  const wouldStay = lasting.some(({ id, role }) => !ids.has(id) && !roles.has(role));
  const stay = held.filter(({ id }) => ids.has(id));
  if (!wouldStay && stay.every(({ id }, index) => id === messages[index]?.id)) return [messages];
  const others = lasting.map(({ id }) => ({ id, role: "assistant" }) as const);
  return [...(others.length === 0 ? [] : [others]), ...(messages.length === 0 ? [] : [[]]), messages];
}

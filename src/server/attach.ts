/**
 * Attaching: following a branch, a run or a whole log, from a cursor, from the beginning, or from a prelude.
 *
 * What is asked for is checked once, at the beginning; from then on a viewer follows. What it has not taken stays in the
 * log, so a slow one costs no more than the chunk that it has, and never holds up the run. Where a cursor means nothing
 * here any more, or the events behind it are gone, a prelude stands in for all of it: never a part.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { formatCursor, readCursor } from "../store/index.ts";
import type { RunInfo, Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import type { Encoding } from "./encoding.ts";
import type { Hubs } from "./hubs.ts";
import { knownThread } from "./known-thread.ts";
import type { Guard } from "./live-access.ts";
import type { KeptOpenings } from "./kept-openings.ts";
import { encodeOpening, openingBefore, openingOf, shownOpening } from "./opening.ts";
import type { Opening } from "./opening.ts";
import { showOf, shown } from "./show.ts";
import type { RunAlias, Show, ShowOptions } from "./show.ts";
import { WHOLE_THREAD, onlyBranch, onlyRun } from "./view.ts";
import { Viewer } from "./viewer.ts";
import type { Path } from "./viewer.ts";

/** What to follow, from where, and how it is seen. */
export interface AttachOptions extends Omit<ShowOptions, "names" | "alias"> {
  /** Cursor of the last event that the viewer has; absent, from the beginning. */
  readonly after?: string | undefined;
  /** Only this run, ending after its terminal event. */
  readonly runId?: string | undefined;
  /** The branch of this run. Default: the thread's head. */
  readonly head?: string | undefined;
  /** The whole log, whatever branch: runs may interleave, and every event names its run. Default false. */
  readonly all?: boolean | undefined;
  /** Whether whoever names the cursor has just begun the run, and so is not back. Default false. */
  readonly began?: boolean | undefined;
  /** False ends at the newest event instead of waiting for more. Default true. */
  readonly follow?: boolean | undefined;
  /** What becomes of a cursor that is trimmed or of another log: a prelude in place of it all (default), or an error. */
  readonly onGap?: "reset" | "error" | undefined;
  /** The id that the run is shown under, with `runId`: what whoever asked for it calls it. Default: its own. */
  readonly runAs?: string | undefined;
  /** Begins with a prelude, for who has nothing and cannot take history as a stream. Default false. */
  readonly prelude?: boolean | undefined;
  /** Begins with what was before the run, with `runId`, where `held` is something else; then all of the run. Default false. */
  readonly replay?: boolean | undefined;
  /** In place of a prelude at the newest event: of a run that has just begun, for who started it. */
  readonly opening?: Opening | undefined;
  /** Whether the run, with `runId`, may still wait for its turn: then nothing comes until it has begun. Default false. */
  readonly queued?: boolean | undefined;
  /** Ids of the messages that the viewer holds, in its order: with a prelude, so that it ends up with ours. */
  readonly held?: readonly string[] | undefined;
  /** Aborts when the viewer is gone. */
  readonly signal?: AbortSignal | undefined;
}

/** One event of a log, as a viewer gets it. */
export interface LoggedEvent {
  /** Position in the log, from 1. Of a prelude: the position that it leads up to. */
  readonly seq: number;
  /** The position as clients see it; undefined for all of a prelude but its last event. */
  readonly cursor: string | undefined;
  /** The run that it belongs to. */
  readonly runId: string;
  /** The event, in its current form. */
  readonly event: Event;
}

/** What a viewer gets: events or frames, whichever is asked for, once. Every one of them is in the log already. */
export interface Attachment {
  /** The run that is followed, where it is one. */
  readonly run?: { readonly threadId: string; readonly runId: string } | undefined;
  /** True where the run has ended and nothing of it lies after the cursor. */
  readonly finished: boolean;
  /** True where a prelude stands in for a cursor that means nothing here any more. */
  readonly reset: boolean;
  /** The events, each with its cursor. */
  readonly events: AsyncIterable<LoggedEvent>;
  /**
   * The same in a form for the wire, several events at a time. The bytes are shared with other viewers. `onCaughtUp` is
   * called when all that there is was given, once, and before more is waited for.
   */
  frames(encoding: Encoding, onCaughtUp?: () => void): AsyncIterableIterator<Uint8Array>;
}

/** What an attachment is made of. */
interface Sight {
  readonly logId: string;
  readonly show: Show;
  readonly opening: Opening | undefined;
  readonly openings: KeptOpenings;
  readonly viewer: Viewer;
}

/** An attachment with nothing in it. */
export const NOTHING: Attachment = {
  finished: false,
  reset: false,
  events: (async function* () {})(),
  frames: () => (async function* () {})(),
};

/**
 * Checks thread, cursor and run, and opens the loop. Throws `thread-unknown`, `run-unknown`, `cursor-invalid`, and
 * `cursor-trimmed` where what is asked for is not all there any more and no prelude is wanted.
 */
export async function attach(
  store: Store,
  hubs: Hubs,
  key: ThreadKey,
  options: AttachOptions,
  guard?: Guard,
): Promise<Attachment> {
  const thread = await knownThread(store, key);
  const { runId, all = false, onGap = "reset" } = options;
  const tip = runId ?? (all ? undefined : await newestOf(store, thread, options));
  const run = tip === undefined ? undefined : await knownRun(store, key, tip);
  const begin = beginning(thread, runId === undefined ? undefined : run, options);
  // The whole log has no prelude: its branches cannot be told as one.
  if (begin.gap !== undefined && (onGap === "error" || run === undefined)) throw begin.gap;
  const reset = begin.gap !== undefined;
  const asksPrelude = run !== undefined && (reset || options.prelude === true);
  const told = asksPrelude ? openingOf : options.replay === true ? openingBefore : undefined;
  const opening = options.opening ?? (run === undefined ? undefined : await told?.(store, run, options.held));
  const afterSeq = opening?.seq ?? begin.afterSeq;
  const path = { ...(await pathOf(store, thread, opening?.run ?? run, afterSeq, options)), guard };
  const alias = aliasOf(options);
  const show = showOf({ ...options, alias, names: all && runId === undefined });
  const { openings } = hubs;
  const { logId } = thread;
  const sight = (onCaughtUp?: () => void): Sight => ({
    logId,
    show,
    opening,
    openings,
    viewer: new Viewer(hubs, thread, path, onCaughtUp),
  });
  return {
    run: runId === undefined ? undefined : run,
    finished: runId !== undefined && run?.end !== undefined && opening === undefined && afterSeq >= path.untilSeq,
    reset,
    get events() {
      return eventsOf(sight());
    },
    frames: (encoding, onCaughtUp) => framesOf(sight(onCaughtUp), encoding),
  };
}

/**
 * The newest run of the branch that is meant. Who holds a branch up to a cursor knows it by the run that was its newest then:
 * what continued it since is part of it, as it is for who was there all the time.
 */
async function newestOf(store: Store, thread: ThreadInfo, { head, after }: AttachOptions): Promise<string | undefined> {
  if (head === undefined || head === thread.head || after === undefined) return head ?? thread.head;
  let newest = head;
  for (const { runId, parentRunId, kind } of await store.runs(thread)) {
    if (parentRunId === newest && kind !== "spawn") newest = runId;
  }
  return newest;
}

/** Where to begin, or why that is not possible. Throws where the cursor is none. */
function beginning(
  thread: ThreadInfo,
  run: RunInfo | undefined,
  { after }: AttachOptions,
): { readonly afterSeq: number; readonly gap?: HeddleError } {
  try {
    const seen = after === undefined ? 0 : readCursor(after, { ...thread, floor: 0 });
    // Nothing of a run lies before its beginning.
    const afterSeq = run === undefined ? seen : Math.max(seen, run.firstSeq - 1);
    // What comes next may have been dropped.
    readCursor(formatCursor(thread.logId, afterSeq), { ...thread, tail: Infinity });
    return { afterSeq };
  } catch (error) {
    const gap = error instanceof HeddleError ? gapOf(error) : undefined;
    if (gap !== undefined) return { afterSeq: 0, gap };
    throw error;
  }
}

/** What a cursor that was good once is answered with; undefined for one that never was. */
function gapOf(error: HeddleError): HeddleError | undefined {
  const { code, details, message } = error;
  if (code === "cursor-trimmed") return error;
  const isForeign = code === "cursor-invalid" && "reason" in details && details.reason === "foreign";
  return isForeign ? new HeddleError("cursor-trimmed", message, details, { cause: error }) : undefined;
}

function aliasOf({ runId, runAs }: AttachOptions): RunAlias | undefined {
  return runId === undefined || runAs === undefined || runAs === runId ? undefined : { runId, shownAs: runAs };
}

async function pathOf(
  store: Store,
  thread: ThreadInfo,
  run: RunInfo | undefined,
  afterSeq: number,
  { runId, follow: live = true, signal }: AttachOptions,
): Promise<Omit<Path, "guard">> {
  const common = { afterSeq, signal };
  if (run === undefined) {
    const untilSeq = live ? Infinity : thread.tail;
    return { ...common, untilSeq, selection: WHOLE_THREAD, knownSeq: Infinity, runId: undefined };
  }
  const newest = Math.max(thread.tail, run.lastSeq);
  if (runId !== undefined) {
    const ended = run.end === undefined ? Infinity : run.lastSeq;
    const untilSeq = live ? ended : Math.min(ended, newest);
    return { ...common, untilSeq, selection: onlyRun(runId), knownSeq: Infinity, runId };
  }
  const branch = (await store.branch(run)).map((each) => each.runId);
  const untilSeq = live ? Infinity : newest;
  return { ...common, untilSeq, selection: onlyBranch(run.runId, branch), knownSeq: newest, runId: undefined };
}

async function* eventsOf({ logId, show, opening, viewer }: Sight): AsyncGenerator<LoggedEvent, void, undefined> {
  // Translations are for the wire: here events are what they are.
  const inside = { ...show, current: true };
  if (opening !== undefined) {
    const { seq } = opening;
    const seen = await shownOpening(opening, inside);
    for (const [index, { runId, json }] of seen.entries()) {
      const cursor = index === seen.length - 1 ? formatCursor(logId, seq) : undefined;
      yield { seq, cursor, runId, event: JSON.parse(json) };
    }
  }
  for await (const { events } of viewer) {
    for (const stored of events) {
      const seen = shown(stored, inside);
      if (seen === undefined) continue;
      const event: Event = JSON.parse(seen.json);
      yield { seq: seen.seq, cursor: formatCursor(logId, seen.seq), runId: seen.runId, event };
    }
  }
}

/** By hand as the viewer is: one that waits keeps hold of nothing. */
function framesOf(sight: Sight, encoding: Encoding): AsyncIterableIterator<Uint8Array, undefined> {
  const { logId, show, openings, viewer } = sight;
  let { opening } = sight;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (opening !== undefined) {
        const told = opening;
        opening = undefined;
        const bytes = await encodeOpening(told, logId, encoding, show, openings);
        if (bytes.length > 0) return { done: false, value: bytes };
      }
      for (;;) {
        const { done, value } = await viewer.next();
        if (done === true) return { done, value };
        const bytes = value.encode(encoding, show);
        // A form may have nothing to say about an event.
        if (bytes.length > 0) return { done: false, value: bytes };
      }
    },
    async return() {
      opening = undefined;
      await viewer.return();
      return { done: true, value: undefined };
    },
  };
}

/** The run. Throws `run-unknown`. */
export async function knownRun(store: Store, key: ThreadKey, runId: string): Promise<RunInfo> {
  const run = await store.run({ ...key, runId });
  if (run !== undefined) return run;
  throw new HeddleError("run-unknown", "The thread has no such run.", { threadId: key.threadId, runId });
}

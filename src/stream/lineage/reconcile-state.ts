/**
 * The state that a run starts from: the branch's, unless the client really changed it (DESIGN 9, State).
 *
 * Stock clients send `{}` after a reload and whatever they last saw otherwise, so a state that the branch had at some
 * time is an old copy and never undoes what happened since. A fork starts where the run that it replaces started. Who sees
 * a part of the state only posts that part, and changes no more than that.
 */
import { isContainer, jsonEqual } from "../json-value.ts";

/** A run of the branch, and the state around it. */
export interface KnownRun {
  /** Id of the run. */
  readonly runId: string;
  /** Whether it has ended. */
  readonly ended: boolean;
  /** The state at its end; absent means none yet, or `{}` where no run before it had one. */
  readonly state?: unknown;
  /** The state that a client's change made it start from; absent where none did. */
  readonly startState?: unknown;
}

/** How whoever posts sees the state. */
export interface StateSight {
  /** A state as they see it. */
  see(state: unknown): unknown;
  /** The state that they mean by what they posted: with what they do not see of this one. */
  mean(posted: unknown, state: unknown): unknown;
}

const ALL: StateSight = { see: (state) => state, mean: (posted) => posted };

/** What a run starts from, and why. */
export interface StateDecision {
  /** `branch`: the branch's own. `stale`: so too, and an old copy was ignored. `change`: the client's. */
  readonly kind: "branch" | "stale" | "change";
  /** The state. */
  readonly state: unknown;
  /** Whether the log must get it at the start of the run, because the run's parent did not end with it. */
  readonly log: boolean;
  /** Whether it differs from what was posted, so that `STATE_SNAPSHOT` follows `RUN_STARTED`. */
  readonly snapshot: boolean;
}

/**
 * Decides on a posted state. `runs` are the runs of the branch and `now` its state; `fork` is the index of the first run
 * that a fork leaves behind, absent where the run goes on at the head. `sight` is how the client sees it: all, by default.
 */
export function reconcileState(
  posted: unknown,
  runs: readonly KnownRun[],
  now: unknown,
  fork?: number,
  sight: StateSight = ALL,
): StateDecision {
  const held = posted ?? {};
  const head = now === undefined ? lastState(runs) : now;
  const parent = fork === undefined ? head : lastState(runs.slice(0, fork));
  const base = fork === undefined ? parent : (runs[fork]?.startState ?? parent);
  const snapshot = !jsonEqual(held, sight.see(base));
  const own = { state: base, log: !jsonEqual(base, parent), snapshot };
  if (!snapshot || isEmpty(held)) return { kind: "branch", ...own };
  const isOld = [head, ...runs.flatMap(({ state, startState }) => [state, startState])].some((old) =>
    jsonEqual(sight.see(old), held),
  );
  if (isOld) return { kind: "stale", ...own };
  const state = sight.mean(held, base);
  if (jsonEqual(state, base)) return { kind: "branch", ...own };
  return { kind: "change", state, log: true, snapshot: !jsonEqual(held, sight.see(state)) };
}

function lastState(runs: readonly KnownRun[]): unknown {
  const last = runs.findLast(({ state }) => state !== undefined);
  return last === undefined ? {} : last.state;
}

const isEmpty = (value: unknown): boolean =>
  isContainer(value) && !Array.isArray(value) && Object.keys(value).length === 0;

/** The branches of a thread in a component: its runs, where the branch that is shown forks, and what shows another. */
import type { RunSummary } from "../index.ts";
import type { BranchPoint } from "./branch-tree.ts";
import { useThread } from "./use-thread.ts";
import type { ThreadActions } from "./use-thread.ts";

/** The branches of a thread. */
export interface BranchesHandle extends Pick<ThreadActions, "switchTo"> {
  /** Every run of the thread; empty until they are here. */
  readonly runs: readonly RunSummary[];
  /** The places where the branch that is shown forks, from its beginning on. */
  readonly points: readonly BranchPoint[];
  /** The place that a message belongs to, where it forks there. */
  pointOf(messageId: string): BranchPoint | undefined;
}

/** The branches of a thread, by default of the one around. Fetched when a run has begun or ended, or another branch is shown. */
export function useBranches(id?: string): BranchesHandle {
  const { runs, branches: points, switchTo } = useThread(id);
  return { runs, points, switchTo, pointOf: (asked) => points.find(({ messageId }) => messageId === asked) };
}

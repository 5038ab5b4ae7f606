/** How posts are taken, where DESIGN 9 leaves a choice: for an agent, and for one request. */
import type { ReconcileOptions } from "../stream/lineage/index.ts";
import type { HistoryRule } from "./shorten-history.ts";

/** What becomes of a run that is asked for while another is under way on its branch. */
export const BUSY_POLICIES = ["reject", "enqueue", "interrupt", "rollback", "fork"] as const;

/** One of them. */
export type BusyPolicy = (typeof BUSY_POLICIES)[number];

/** What becomes of a plain message while calls wait that the client has to execute. */
export const CALL_POLICIES = ["reject", "fail"] as const;

/** The choices. */
export interface PostRules extends Omit<ReconcileOptions, "sight"> {
  /** Places of the state that whoever posts does not see, as in `ShowOptions`: what they post leaves them as they are. */
  readonly hiddenState?: readonly string[] | undefined;
  /**
   * `reject` refuses (default); `enqueue` lets the run wait for its turn, also through a restart; `interrupt` stops the run that is under way and goes on behind it; `rollback` stops it and
   * goes on where it began; `fork` goes on there too, beside it. Nothing is lost by any of them.
   */
  readonly onBusy?: BusyPolicy | undefined;
  /** How much of a conversation the agent is given: so many messages, or what a function makes of them. Default: all. */
  readonly history?: HistoryRule | undefined;
  /** `reject` refuses a message while calls wait (default); `fail` closes them as declined. */
  readonly onOpenCalls?: (typeof CALL_POLICIES)[number] | undefined;
}

/**
 * How a thread is reached. Both ways give the same frames under the same cursors, so a thread may go on by the other at any
 * time; which one it is shows in nothing but speed.
 */
import type { Frame, RunAgentInput } from "../protocol/index.ts";

/** What came in one piece. */
export interface Arrival {
  /** The frames, in order. */
  readonly frames: readonly Frame[];
  /** Whether all that there was is here now. */
  readonly caughtUp: boolean;
}

/** A branch of a thread, from a cursor on. */
export interface FollowRequest {
  /** The thread. */
  readonly threadId: string;
  /** The newest run of the branch that is meant. Default: the thread's head. */
  readonly head: string | undefined;
  /** Cursor of the last event that is held; absent, from the beginning. */
  readonly after: string | undefined;
  /** Whether the stream begins with what the branch comes to, in place of how it came to it. */
  readonly prelude: boolean;
}

/** What becomes of a run while another is under way on its branch. */
export type OnBusy = "reject" | "enqueue" | "interrupt" | "rollback" | "fork";

/** A run to start, or to join where it was started. */
export interface StartRequest {
  /** The agent. */
  readonly agent: string;
  /** What it is given: what is new, the server knows the rest. */
  readonly input: RunAgentInput;
  /** The run that it hangs on, or `root`. Default: the thread's head. */
  readonly parent: string | undefined;
  /** What becomes of it while another run is under way. Default: the agent's rule. */
  readonly onBusy: OnBusy | undefined;
  /** Cursor of the last event of the branch that is held; absent, the stream begins with what the branch comes to. */
  readonly after: string | undefined;
}

/** A run that was started, or joined. */
export interface Started {
  /** Its id in the log: another one than was asked for where the same was asked before. */
  readonly runId: string;
  /** Its events. */
  readonly arrivals: AsyncIterable<Arrival>;
}

/** A way to a server. Everything throws a `HeddleError`, or the signal's reason. */
export interface Transport {
  /** Follows a branch until the server ends it. */
  follow(request: FollowRequest, signal: AbortSignal): Promise<AsyncIterable<Arrival>>;
  /** Starts a run, and follows it to its end. */
  start(request: StartRequest, signal: AbortSignal): Promise<Started>;
  /** Starts a run whose events come to whoever follows its branch, and gives its id in the log. */
  begin(request: StartRequest, signal: AbortSignal): Promise<string>;
  /** Lets go of everything that is open. */
  close(): void;
}

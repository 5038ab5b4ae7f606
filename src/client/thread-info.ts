/** What a server tells of threads and runs, in the form that it is told in. */
import type { Interrupt, Message } from "../protocol/index.ts";

/** How a run stands. */
export type RunState = "queued" | "running" | "finished" | "interrupted" | "cancelled" | "failed";

/** A thread in a list. */
export interface ThreadSummary {
  /** The thread. */
  readonly threadId: string;
  /** Its title. */
  readonly title?: string;
  /** Whether it was put aside. */
  readonly archived: boolean;
  /** Whatever its owner keeps with it. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The run that a new one continues. */
  readonly head?: string;
  /** How that run stands. */
  readonly status?: RunState;
  /** When it began. */
  readonly createdAt: string;
  /** When it last changed. */
  readonly updatedAt: string;
}

/** A page of a list. */
export interface ThreadPage {
  /** The threads, the most recently changed first. */
  readonly threads: readonly ThreadSummary[];
  /** Where the next page begins; absent on the last one. */
  readonly next?: string;
}

/** A run in the tree of its thread. */
export interface RunSummary {
  /** The run. */
  readonly runId: string;
  /** The agent that it was asked of. */
  readonly agent: string;
  /** How it stands. */
  readonly status: RunState;
  /** The run that it hangs on; absent for a root. */
  readonly parentRunId?: string;
  /** How it hangs there: `continue`, `branch` or `spawn`. */
  readonly kind?: string;
  /** When it began. */
  readonly startedAt?: string;
  /** When it ended. */
  readonly endedAt?: string;
  /** How long it took. */
  readonly durationMs?: number;
  /** Cursor of its first event. */
  readonly firstEventId: string;
  /** Cursor of its newest event. */
  readonly lastEventId: string;
  /** Tokens that it spent, added up. */
  readonly tokens: Readonly<Record<string, number>>;
  /** Why it failed. */
  readonly error?: { readonly message: string; readonly code?: string };
}

/** A thread in full, but for what was said in it. */
export interface ThreadDetails extends ThreadSummary {
  /** How many events its log has. */
  readonly events: number;
  /** How many of them were dropped. */
  readonly droppedEvents: number;
  /** Cursor of the newest event. */
  readonly lastEventId: string;
  /** Its runs, in order of their first event. */
  readonly runs: readonly RunSummary[];
  /** The newest run of each branch. */
  readonly heads: readonly string[];
  /** Runs that wait for their turn. */
  readonly queue: readonly { readonly runId: string; readonly agent: string; readonly queuedAt: string }[];
  /** Questions that the head left open. */
  readonly interrupts: readonly Interrupt[];
  /** Calls that the head left to the client. */
  readonly pendingToolCallIds: readonly string[];
  /** What the caller may do. */
  readonly role: "observer" | "collaborator" | "owner" | "operator";
  /** Who began it. */
  readonly owner?: string;
  /** Who else has a role in it. */
  readonly members: readonly { readonly user: string; readonly role: string }[];
}

/** A tool call with its times. */
export interface ToolCallState {
  /** The call. */
  readonly id: string;
  /** The tool. */
  readonly name: string;
  /** Its arguments, as a text of JSON. */
  readonly arguments: string;
  /** How it stands. */
  readonly status: "pending" | "completed" | "failed";
  /** When it began. */
  readonly startedAt?: string;
  /** When it ended. */
  readonly endedAt?: string;
  /** How long it took. */
  readonly durationMs?: number;
  /** What came of it. */
  readonly result?: unknown;
  /** Why it failed. */
  readonly error?: string;
}

/** A thread at one moment. */
export interface ThreadSnapshot {
  /** The thread. */
  readonly threadId: string;
  /** The run at whose event it is. */
  readonly runId?: string;
  /** Cursor of that event. */
  readonly eventId: string;
  /** The messages. */
  readonly messages: readonly Message[];
  /** When each message was first heard of, by its id. */
  readonly messageTimes: Readonly<Record<string, string>>;
  /** The run in which each message was first heard of, by its id. */
  readonly messageRuns: Readonly<Record<string, string>>;
  /** The shared state. */
  readonly state: unknown;
  /** Questions that are open. */
  readonly interrupts: readonly Interrupt[];
  /** Calls that are left to the client. */
  readonly pendingToolCallIds: readonly string[];
  /** Every tool call of the messages. */
  readonly toolCalls: readonly ToolCallState[];
}

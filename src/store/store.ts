/**
 * The contract of the log: threads, runs and events, kept append-only.
 *
 * A store checks order and ownership (fence, batch, seq) and nothing else: what events mean was judged before they come
 * here, so events travel as JSON text. Every method is required. A line that begins with INVARIANT is a promise; it names
 * its clause in PROTOCOL.md, and the contract kit in `heddle/testing` holds every store to it.
 *
 * Evolution: a method or a required field is only added together with its clause, its kit and all stores of this package.
 * What a method returns may gain fields, never lose one. A clause keeps its number; one that no longer holds is withdrawn,
 * not reworded. A log written by one version opens in the next.
 */
import type { Event } from "../protocol/index.ts";
import type { LineageKind } from "../stream/lineage/index.ts";
import type { RunEnd, RunState } from "./run-end.ts";

/** Names a thread. Nothing is reached without its tenant. */
export interface ThreadKey {
  /** Whose thread it is. */
  readonly tenant: string;
  /** Id of the thread, unique within the tenant. */
  readonly threadId: string;
}

/** Names a run. */
export interface RunKey extends ThreadKey {
  /** Id of the run, unique within the thread. */
  readonly runId: string;
}

/** What is known of a thread, apart from its events. */
export interface ThreadInfo extends ThreadKey {
  /** Minted with the log: a cursor of another log is recognised by it. */
  readonly logId: string;
  /** Seq of the newest event; 0 in an empty log. */
  readonly tail: number;
  /** Raw events up to this seq were dropped by retention; 0 where everything is there. */
  readonly floor: number;
  /** The run that a new run continues where nothing else is said. */
  readonly head: string | undefined;
  /** What people call it. */
  readonly title: string | undefined;
  /** Whether it is put away. */
  readonly archived: boolean;
  /** What the application keeps with it. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The user who owns it; undefined where it was made without one. */
  readonly owner: string | undefined;
  /** When it began. */
  readonly createdAtMs: number;
  /** When a run last started or ended in it, or it was changed. */
  readonly updatedAtMs: number;
}

/** What is known of a run, apart from its events. */
export interface RunInfo extends RunKey {
  /** Who runs. */
  readonly agent: string;
  /** The run that it hangs on; undefined for a root. */
  readonly parentRunId: string | undefined;
  /** How it hangs there; undefined for a root. */
  readonly kind: LineageKind | undefined;
  /** How it stands. */
  readonly status: RunState;
  /** Seq of its first event. */
  readonly firstSeq: number;
  /** Seq of the newest event that it said itself: annotations do not count. */
  readonly lastSeq: number;
  /** Who started it, as the server knows them. */
  readonly principal: string | undefined;
  /** When it was claimed. */
  readonly startedAtMs: number;
  /** When its terminal event was committed. */
  readonly endedAtMs: number | undefined;
  /** How it ended, with the questions and the frontend calls that it left open. */
  readonly end: RunEnd | undefined;
  /** Whether snapshot and compacted form are written. */
  readonly settled: boolean;
}

/** The right to append to a run. Worthless as soon as somebody raises the run's fence. */
export interface Lease extends RunKey {
  /** The store's own handle of the run. */
  readonly ref: string;
  /** The fence that this lease was given under. */
  readonly fence: number;
  /** Number of the batch that comes next, as of when the lease was given. */
  readonly nextBatch: number;
  /** How long the lease holds without an append or a heartbeat. */
  readonly leaseMs: number;
}

/** What `claim` is asked. */
export interface ClaimRequest extends RunKey {
  /** Who runs. */
  readonly agent: string;
  /** The run that it hangs on; undefined for a root. */
  readonly parentRunId?: string | undefined;
  /** How it hangs there. */
  readonly kind?: LineageKind | undefined;
  /** Claims only where the thread's head is still this one; null: where it has none. Absent: wherever it is. */
  readonly ifHead?: string | null;
  /** Claims only a run that waits in the queue. Default: whether it waits or not. */
  readonly ifQueued?: boolean;
  /** Who starts it. */
  readonly principal?: string | undefined;
  /** The user who owns the thread, where the claim makes it. A thread that is there keeps its owner. */
  readonly owner?: string | undefined;
  /** How long the lease holds without an append or a heartbeat. */
  readonly leaseMs: number;
  /** The run's first events, as JSON, committed together with the claim. They are batch 0. */
  readonly events: readonly [string, ...string[]];
}

/** What `claim` answers. */
export type ClaimResult =
  | {
      /** The run is ours, and its first events are committed. */
      readonly type: "claimed";
      /** The right to append. */
      readonly lease: Lease;
      /** The thread as it is now. */
      readonly thread: ThreadInfo;
    }
  | {
      /** The thread has a run of this id. */
      readonly type: "exists";
      /** That run. */
      readonly run: RunInfo;
    }
  | {
      /** The run that it would hang on has not ended. */
      readonly type: "busy";
      /** That run. */
      readonly run: RunInfo;
    }
  | {
      /** The thread's head is another than the one asked for. */
      readonly type: "moved";
      /** The head as it is. */
      readonly head: string | undefined;
    };

/** Events of one run, to be committed together. */
export interface Batch {
  /** The right to append. */
  readonly lease: Lease;
  /** 1, 2, 3 … within the run. */
  readonly number: number;
  /** The events, as JSON without line breaks. */
  readonly events: readonly [string, ...string[]];
  /** Given with the batch that holds the run's terminal event. */
  readonly end?: RunEnd | undefined;
}

/** What became of a batch. */
export type Appended =
  | {
      /** It is in the log. */
      readonly type: "committed";
      /** Seq of its first event. */
      readonly firstSeq: number;
      /** Seq of its last event. */
      readonly lastSeq: number;
      /** Whether somebody asked the run to stop. */
      readonly stop: boolean;
    }
  | {
      /** It was in the log before: an answer got lost. Nothing changed. */
      readonly type: "repeated";
      /** Seq of the run's newest event. */
      readonly lastSeq: number;
      /** Whether somebody asked the run to stop. */
      readonly stop: boolean;
    }
  | {
      /** The lease is worthless, or the run has ended or is gone. Nothing was written. */
      readonly type: "fenced";
    }
  | {
      /** A batch before it is missing. Nothing was written. */
      readonly type: "gap";
      /** The number that comes next. */
      readonly expected: number;
    };

/** What a heartbeat finds. */
export interface Beat {
  /** Whether the lease still holds, and was renewed. */
  readonly held: boolean;
  /** Whether somebody asked the run to stop. */
  readonly stop: boolean;
}

/** What `enqueue` is asked. */
export interface EnqueueRequest extends RunKey {
  /** Who is to run. */
  readonly agent: string;
  /** All that it takes to start the run, as JSON. The store does not look into it. */
  readonly body: string;
  /** Who asked for it. */
  readonly principal?: string | undefined;
  /** The run that it is to hang on. Whether there is one is judged by the claim. */
  readonly parentRunId?: string | undefined;
  /** So many may wait in the thread, this one among them. */
  readonly limit: number;
}

/** What `enqueue` answers. */
export type EnqueueResult =
  | {
      /** The run waits, since now or before. */
      readonly type: "queued";
      /** Its place: 1 is the next. */
      readonly position: number;
    }
  | {
      /** The thread has a run of this id. */
      readonly type: "exists";
      /** That run. */
      readonly run: RunInfo;
    }
  | {
      /** Too many wait. Nothing was written. */
      readonly type: "full";
      /** So many may. */
      readonly limit: number;
    };

/** A run that waits. */
export interface QueuedRun {
  /** Id of the run. */
  readonly runId: string;
  /** Who is to run. */
  readonly agent: string;
  /** All that it takes to start it, as JSON, the same text. */
  readonly body: string;
  /** Who asked for it. */
  readonly principal: string | undefined;
  /** The run that it is to hang on. */
  readonly parentRunId: string | undefined;
  /** Since when it waits. */
  readonly queuedAtMs: number;
}

/** A run that waits, and where. */
export interface WaitingRun extends QueuedRun, ThreadKey {}

/** What `claimToolCall` is asked. */
export interface ToolCallRequest extends ThreadKey {
  /** The call. */
  readonly toolCallId: string;
  /** Who wants to execute it: a tab, a device. */
  readonly holder: string;
  /** How long nobody else may; 0 lets go of it. */
  readonly leaseMs: number;
}

/** Who executes a call. */
export interface ToolCallClaim {
  /** Whoever asked, or another. */
  readonly type: "held" | "taken";
  /** Until when, by the store's clock. */
  readonly untilMs: number;
}

/** What `annotate` is asked. */
export interface AnnotateRequest extends RunKey {
  /** The annotations, as JSON without line breaks: META, which means nothing to the grammar of runs. */
  readonly events: readonly [string, ...string[]];
}

/** Where annotations are. */
export interface Annotated {
  /** Seq of the first. */
  readonly firstSeq: number;
  /** Seq of the last. */
  readonly lastSeq: number;
}

/** Which runs `takeOver` takes. */
export interface TakeOverRequest {
  /** This run, whether or not its lease has expired. Absent: runs whose lease has expired. */
  readonly run?: RunKey;
  /** How long the new lease holds. */
  readonly leaseMs: number;
  /** Most runs to take. Default 64. */
  readonly limit?: number;
}

/** One event and its place. */
export interface StoredEvent {
  /** Position in the log, from 1. */
  readonly seq: number;
  /** The run that it belongs to. */
  readonly runId: string;
  /** The event as JSON, the same text for ever. */
  readonly json: string;
}

/** What somebody may do with a thread, the least first. */
export const THREAD_ROLES = ["observer", "collaborator", "owner"] as const;

/** What somebody may do with a thread: watch it, write to it, or everything. */
export type ThreadRole = (typeof THREAD_ROLES)[number];

/** What a member of a thread may do with it: there is one owner, who is no member. */
export type MemberRole = Exclude<ThreadRole, "owner">;

/** Somebody who may do something with a thread of another. */
export interface Member {
  /** Who. */
  readonly user: string;
  /** What. */
  readonly role: MemberRole;
}

/** Something that is kept for a short while, to be taken once by whoever knows its name. */
export interface Ticket {
  /** A hash of the secret that takes it: who reads the store cannot take it. */
  readonly hash: string;
  /** What it is worth. The store does not look into it. */
  readonly body: string;
  /** How long it can be taken. */
  readonly forMs: number;
}

/** Which part of a log to read. */
export interface ReadRequest {
  /** Seq of the last event that is known. Default 0. */
  readonly afterSeq?: number;
  /** Seq of the last event that is wanted. Default: the tail. */
  readonly throughSeq?: number;
  /** Only events of these runs. */
  readonly runIds?: readonly string[];
  /** Most events to return. Default 512. */
  readonly limit?: number;
  /** The page is full with so many characters; one event is always in it. Default 262,144. */
  readonly maxChars?: number;
}

/** A page of a log. */
export interface Page {
  /** Id of the log: another one than before means that the thread was deleted, and its name is used anew. */
  readonly logId: string;
  /** The events, in order. */
  readonly events: readonly StoredEvent[];
  /** Everything up to this seq that was asked for is in this page or the ones before. */
  readonly through: number;
  /** Seq of the newest event of the thread. */
  readonly tail: number;
}

/** An opening after which the rest of the branch folds as the whole: see `prelude` of `heddle/stream`. */
export interface Snapshot {
  /** The run at whose event it was taken. */
  readonly runId: string;
  /** Seq of that event. */
  readonly seq: number;
  /** The events of the opening. Values are shared with other snapshots and never change. */
  readonly events: readonly Event[];
}

/** One event of a compacted run, and the raw ones that it stands for. */
export interface CompactedEvent {
  /** Seq of the first raw event. */
  readonly firstSeq: number;
  /** Seq of the last raw event. */
  readonly lastSeq: number;
  /** The event as JSON. */
  readonly json: string;
}

/** What is written when a run has ended. */
export interface Settlement {
  /** The run as of its terminal event. */
  readonly snapshot: Snapshot;
  /** The run, compacted. */
  readonly compacted: readonly CompactedEvent[];
}

/** Which threads to list. */
export interface ListRequest {
  /** Whose. */
  readonly tenant: string;
  /** Only those that this user owns or is a member of. */
  readonly user?: string | undefined;
  /** Only those whose id or title contains this, in any case. */
  readonly query?: string | undefined;
  /** Only those that are put away, or only those that are not. Default: both. */
  readonly archived?: boolean | undefined;
  /** Where the page before ended. */
  readonly after?: string | undefined;
  /** Most threads to return. Default 50. */
  readonly limit?: number;
}

/** A page of threads, the most recently changed first. */
export interface ThreadPage {
  /** The threads. */
  readonly threads: readonly ThreadInfo[];
  /** Where the next page begins; undefined at the end. */
  readonly next: string | undefined;
}

/** What can be changed about a thread. What is absent stays; a null title is none. */
export interface ThreadPatch {
  /** What people call it. */
  readonly title?: string | null;
  /** Whether it is put away. */
  readonly archived?: boolean;
  /** What the application keeps with it: replaces all of it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The run that a new run continues. */
  readonly head?: string;
}

/** A whole thread, as export writes it and import reads it. */
export interface ThreadDump {
  /** The thread; its log id is not taken over, and whose it was is not told. */
  readonly thread: Omit<ThreadInfo, "tenant" | "logId" | "owner">;
  /** Its runs, in order of their first event. None of them is running. */
  readonly runs: readonly Omit<RunInfo, "tenant" | "threadId" | "status" | "settled">[];
  /** All raw events beyond the floor, in order. */
  readonly events: readonly StoredEvent[];
  /** The compacted form and the snapshot of each run that has lost raw events. */
  readonly settlements: readonly (Settlement & { readonly runId: string })[];
}

/** Options of `importThread`. */
export interface ImportThreadOptions {
  /** The user who owns the thread from now on. */
  readonly owner?: string | undefined;
}

/** What retention dropped. */
export interface Trimmed {
  /** How many threads lost raw events. */
  readonly threads: number;
  /** How many raw events went. */
  readonly events: number;
}

/** How much a store holds, of all tenants together. */
export interface StoreUsage {
  /** How many threads. */
  readonly threads: number;
  /** How many runs, running or ended. */
  readonly runs: number;
  /** How many runs wait. */
  readonly queued: number;
  /** How many raw events. */
  readonly events: number;
  /** What the raw events take, in bytes as they are stored: packed where the store packs. */
  readonly rawBytes: number;
  /** What the compacted forms of runs take. */
  readonly compactedBytes: number;
  /** What the snapshots take, each value that they share once where the store keeps it once. */
  readonly snapshotBytes: number;
  /** What the whole store takes, with its indexes and the room that it keeps free. */
  readonly totalBytes: number;
}

/** Called when a thread may have more. */
export type Watcher = () => void;

/**
 * A log of threads, runs and events.
 *
 * INVARIANT: tenants never see each other: the same ids in two tenants are different threads and runs (STORE-TEN-1).
 */
export interface Store {
  /** What kind of store it is, in one word: `memory`, `sqlite`, `postgres`, or a name of your own. */
  readonly kind: string;

  /**
   * Opens the store: connects, brings the schema up to date, and takes the lock where the engine has one writer. Other
   * methods do so themselves where it was not done. Safe to call again.
   *
   * INVARIANT: a database written by a newer version is refused with `schema-too-new` and left as it is (STORE-OPN-1).
   * INVARIANT: of starters at the same time, each finds the schema complete (STORE-OPN-2).
   */
  open(): Promise<void>;

  /**
   * Ends the store; what is under way is finished first. Safe to call again; anything else fails with `store-closed`.
   *
   * INVARIANT: what was acknowledged is there when the store is opened again (STORE-ACK-1).
   */
  close(): Promise<void>;

  /**
   * Begins a run: creates the thread where there is none, and the run with its first events, in one transaction.
   * The run becomes the thread's head, unless it is spawned. Where several things stand against it, the first of these is
   * answered: `exists`, `run-unknown` (thrown where the parent is not in the thread), `moved`, `busy`, and `run-unknown`
   * (thrown with `ifQueued` where the run does not wait). A run that waits leaves the queue when it is claimed.
   *
   * INVARIANT: a claim and its first events are both there, or neither (STORE-CLM-1).
   * INVARIANT: a run id is claimed once in a thread; every later claim gets `exists` (STORE-CLM-2).
   * INVARIANT: nothing but a spawned run hangs on a run that has not ended: `busy` (STORE-CLM-3).
   * INVARIANT: of claims that name one `ifHead`, at most one succeeds; the others get `moved` or `busy` (STORE-CLM-4).
   * INVARIANT: a thread is owned by whom the claim or the import that made it named, as long as it is there (STORE-ACC-1).
   */
  claim(request: ClaimRequest): Promise<ClaimResult>;

  /**
   * Appends batches of any runs in one transaction. Answers in their order. Each renews its lease, also one that has
   * expired and that nobody has taken.
   *
   * INVARIANT: a thread's seqs are 1, 2, 3 … without gaps, given at commit (STORE-SEQ-1).
   * INVARIANT: a batch is in the log whole and in one piece, or not at all (STORE-APP-1).
   * INVARIANT: a batch that was committed before changes nothing and is answered `repeated` (STORE-APP-2).
   * INVARIANT: under another fence, or after the run's end, nothing is written: `fenced` (STORE-APP-3).
   * INVARIANT: a batch that is not the next writes nothing: `gap` (STORE-APP-4).
   * INVARIANT: a batch that is refused does not touch the others (STORE-APP-5).
   * INVARIANT: a batch with an end ends the run, in the same transaction (STORE-APP-6).
   */
  append(batches: readonly Batch[]): Promise<readonly Appended[]>;

  /**
   * Renews leases that nobody has taken. Answers in their order.
   *
   * INVARIANT: a lease counts by the store's clock, and holds `leaseMs` from its last append or heartbeat (STORE-LSE-1).
   * Where one process writes at a time, leases end with the process.
   * INVARIANT: a stop that was asked for is told with the next append or heartbeat (STORE-LSE-4).
   */
  heartbeat(leases: readonly Lease[]): Promise<readonly Beat[]>;

  /**
   * Raises the fence of runs that are running, and gives their leases to the caller.
   *
   * INVARIANT: without a named run, only expired leases are taken (STORE-LSE-2).
   * INVARIANT: of takers at the same time, one gets the run; who held it before can write nothing more (STORE-LSE-3).
   */
  takeOver(request: TakeOverRequest): Promise<readonly Lease[]>;

  /**
   * Lets a run wait until it can be claimed. Where several things stand against it, the first is answered: `exists`,
   * `queued` (it waits already: nothing changes), `full`. Throws `thread-unknown`.
   *
   * INVARIANT: runs wait in the order in which they came, each with all that it came with (STORE-QUE-1).
   * INVARIANT: a run waits or is in the log, never both and never neither; it gets into the log once (STORE-QUE-2).
   * INVARIANT: never more than `limit` wait; one too many changes nothing: `full` (STORE-QUE-3).
   * INVARIANT: watchers of the thread are called after a run was queued, and after one was taken out (STORE-QUE-5).
   */
  enqueue(request: EnqueueRequest): Promise<EnqueueResult>;

  /** The runs of a thread that wait, the next one first; empty where there is no such thread. Nothing else tells of them. */
  queue(key: ThreadKey): Promise<readonly QueuedRun[]>;

  /**
   * Takes a run out of the queue: it is not to run any more. False where it does not wait.
   *
   * INVARIANT: of this and a claim with `ifQueued` at the same time, one succeeds (STORE-QUE-2).
   */
  unqueue(key: RunKey): Promise<boolean>;

  /**
   * The next run of each thread in which none is running, of all tenants, the longest waiting first: what a crash, or
   * another process, left to be started. At most 64, or `limit`.
   *
   * INVARIANT: a thread that is idle and in which a run waits is told, with the next one, until it is claimed (STORE-QUE-4).
   */
  waiting(limit?: number): Promise<readonly WaitingRun[]>;

  /**
   * Lets one tab or device execute a frontend call. Asking again renews it; expired claims are forgotten. Throws
   * `thread-unknown`. Whether there is such a call is not looked at.
   *
   * INVARIANT: a call has one holder at a time; others get `taken` until its time is over or it lets go (STORE-TCL-1).
   * INVARIANT: a claim counts by the store's clock, outlives the store, and goes with its thread (STORE-TCL-2).
   */
  claimToolCall(request: ToolCallRequest): Promise<ToolCallClaim>;

  /**
   * Appends annotations to a run, running or ended: events that belong to it and are no part of what it says. Needs no
   * lease. Throws `thread-unknown` or `run-unknown`.
   *
   * INVARIANT: they are in the log as a batch is: whole, with the next seqs, read as the run's, watchers called (STORE-ANN-1).
   * INVARIANT: nothing else changes: not the run's seqs, end, lease or batches, nor what is told of the thread (STORE-ANN-2).
   * INVARIANT: they stay through settling, merging, dump and import, and go with the raw events around them (STORE-ANN-3).
   */
  annotate(request: AnnotateRequest): Promise<Annotated>;

  /**
   * Gives a user a role in a thread, or takes it away with null. Answers whether anything changed: the owner is the owner,
   * whatever is set. Throws `thread-unknown`.
   *
   * INVARIANT: a member has the role that was set last, and none once it is taken away, here and elsewhere (STORE-ACC-2).
   * INVARIANT: nothing else changes: not what is told of the thread, nor its place in lists; members go with it (STORE-ACC-3).
   * INVARIANT: watchers of the thread are called after a change of its members (STORE-ACC-4).
   */
  setMember(key: ThreadKey, user: string, role: MemberRole | null): Promise<boolean>;

  /** The members of a thread, by the code units of their names, without the owner; empty where there is no such thread. */
  members(key: ThreadKey): Promise<readonly Member[]>;

  /** What a user may do with a thread; undefined where there is no such thread, or nothing that they may. */
  roleIn(key: ThreadKey, user: string): Promise<ThreadRole | undefined>;

  /**
   * How many runs that this principal started are running, in all threads of the tenant.
   *
   * INVARIANT: runs of others, those that wait and those that have ended are not counted (STORE-ACC-6).
   */
  runningBy(tenant: string, principal: string): Promise<number>;

  /**
   * Keeps a ticket; one of the same hash is replaced. Tickets that have expired are cleaned away here, now and then.
   *
   * INVARIANT: a ticket counts by the store's clock, and outlives the store (STORE-TIC-2).
   */
  saveTicket(ticket: Ticket): Promise<void>;

  /**
   * Takes a ticket: its body, or undefined where there is none, it was taken or it has expired.
   *
   * INVARIANT: of those who take a ticket, at the same time or later, one gets its body (STORE-TIC-1).
   */
  takeTicket(hash: string): Promise<string | undefined>;

  /** Asks whoever holds the run to stop, now or after a take-over. False where it is not running. */
  requestStop(key: RunKey): Promise<boolean>;

  /** The thread, or undefined: unknown and foreign are the same. */
  thread(key: ThreadKey): Promise<ThreadInfo | undefined>;

  /** The run, or undefined. */
  run(key: RunKey): Promise<RunInfo | undefined>;

  /** All runs of a thread in order of their first event; empty where there is no such thread. */
  runs(key: ThreadKey): Promise<readonly RunInfo[]>;

  /**
   * The runs of a branch, from its root to this run; empty where there is no such run.
   *
   * INVARIANT: the walk follows the parents, and begins at a root or a spawned run (STORE-LIN-1).
   */
  branch(key: RunKey): Promise<readonly RunInfo[]>;

  /**
   * A page of the log. Throws `thread-unknown`; `cursor-trimmed` where events after `afterSeq` were dropped, of any run.
   *
   * INVARIANT: only what is committed is read, in order, without gaps (STORE-RED-1).
   * INVARIANT: what was read once is read the same ever after: seq, run and text (STORE-RED-2).
   * INVARIANT: never a part of what was asked for, where the rest was dropped (STORE-RED-3).
   */
  read(key: ThreadKey, request?: ReadRequest): Promise<Page>;

  /**
   * Calls the watcher when there may be more after a commit, or nothing new at all, until the returned function is called.
   * A watcher does not throw.
   *
   * INVARIANT: after an append here is acknowledged the watcher is called; after one elsewhere, soon (STORE-WAT-1).
   */
  watch(key: ThreadKey, watcher: Watcher): () => void;

  /**
   * The newest snapshot on the branch of a run, up to a seq (default: the run's newest event), or undefined.
   *
   * INVARIANT: a snapshot of another branch is never given (STORE-SNP-1).
   */
  snapshot(key: RunKey, throughSeq?: number): Promise<Snapshot | undefined>;

  /**
   * Keeps a snapshot in the middle of a run, at least until the run is settled. One of this run and seq that is there
   * already stays. Throws `thread-unknown` or `run-unknown`.
   */
  saveSnapshot(key: ThreadKey, snapshot: Snapshot): Promise<void>;

  /**
   * Keeps the snapshot and the compacted form of a run that has ended. Doing it again changes nothing. Throws
   * `thread-unknown` or `run-unknown`.
   *
   * INVARIANT: settling and merging change no seq and no text of the raw log (STORE-RED-2).
   */
  settle(key: RunKey, settlement: Settlement): Promise<void>;

  /** Runs that have ended and are not settled: work that a crash left. */
  unsettled(limit?: number): Promise<readonly RunKey[]>;

  /** The compacted form of a run, or undefined where it is not settled. */
  compacted(key: RunKey): Promise<readonly CompactedEvent[] | undefined>;

  /**
   * Threads of a tenant, the most recently changed first.
   *
   * INVARIANT: every thread that does not change while the pages are read is in them exactly once (STORE-THR-1).
   * INVARIANT: with a user, the same holds of the threads that they own or are a member of; no other is listed (STORE-ACC-5).
   */
  listThreads(request: ListRequest): Promise<ThreadPage>;

  /**
   * Changes a thread, and returns it. Throws `thread-unknown`; `run-unknown` for a head that it does not have.
   *
   * INVARIANT: a change touches what it names only, wholly or not at all (STORE-THR-3).
   */
  updateThread(key: ThreadKey, patch: ThreadPatch): Promise<ThreadInfo>;

  /**
   * Deletes a thread with all that it holds. False where there is none.
   *
   * INVARIANT: nothing of it is left, its leases are worthless, and a new log of that name has another id (STORE-THR-2).
   */
  deleteThread(key: ThreadKey): Promise<boolean>;

  /**
   * Drops raw events of settled runs that ended before a time, from the beginning of each log. Nothing calls it by itself.
   * Annotations among them go too, unless their run was still running: then its compacted form has them.
   *
   * INVARIANT: what is dropped is a prefix of the log; the compacted runs and their snapshots stay (STORE-TRM-1).
   */
  trim(endedBeforeMs: number): Promise<Trimmed>;

  /**
   * Creates a thread from a dump, in one transaction, with a new log id, without members. Throws `thread-exists`.
   *
   * INVARIANT: a thread that was dumped and imported reads the same, but for its log id (STORE-EXP-1).
   */
  importThread(key: ThreadKey, dump: ThreadDump, options?: ImportThreadOptions): Promise<void>;

  /**
   * How much the store holds. It costs the same on a large store as on a small one: nothing is unpacked, and where a table
   * is large a sample of it stands for all. In a store of a few thousand rows every number is exact, but for `totalBytes`,
   * which is what the engine says that it takes; what is written meanwhile may be counted or not.
   *
   * INVARIANT: threads, runs, runs that wait and raw events are those that are there, of all tenants (STORE-USE-1).
   * INVARIANT: each kind of bytes is there while what it counts is, and `totalBytes` is no less than their sum (STORE-USE-2).
   */
  usage(): Promise<StoreUsage>;

  /** The store's clock, which leases count by. */
  nowMs(): Promise<number>;
}

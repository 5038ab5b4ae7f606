/** One thread of the memory store: its log, its runs and what was made of them. */
import { HeddleError } from "../protocol/index.ts";
import { mintLogId, trimmed } from "./cursor.ts";
import type {
  Annotated,
  Appended,
  Batch,
  ClaimRequest,
  CompactedEvent,
  Lease,
  Member,
  MemberRole,
  Page,
  QueuedRun,
  ReadRequest,
  RunInfo,
  RunKey,
  Snapshot,
  StoredEvent,
  ThreadInfo,
  ThreadKey,
  ThreadRole,
  ToolCallClaim,
  ToolCallRequest,
} from "./store.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A page is full with so many characters where nothing else is asked. */
export const MAX_PAGE_CHARS = 1 << 18;

/** What is told of a run, and what only the store knows. */
export interface MemoryRun {
  /** What is told of it; how it stands follows from its end. */
  readonly about: Mutable<Omit<RunInfo, "status" | "settled">>;
  /** Whoever names another one is refused. */
  fence: number;
  /** Number of the batch that comes next. */
  nextBatch: number;
  /** When the lease expires. */
  leaseUntilMs: number;
  /** Whether somebody asked it to stop. */
  stop: boolean;
  /** Its compacted form, once it is settled. */
  compacted: readonly CompactedEvent[] | undefined;
}

/** A run that waits, and its place among those of all threads. */
export interface MemoryQueued extends QueuedRun {
  /** Whoever came later has a greater one. */
  readonly order: number;
}

/** A thread in memory. */
export class MemoryThread {
  /** What is told of it; the tail is counted. */
  readonly about: Mutable<Omit<ThreadInfo, "tail">>;
  /** Its runs, in order of their first event. */
  readonly runs = new Map<string, MemoryRun>();
  /** What `save` was given. */
  readonly snapshots: Snapshot[] = [];
  /** Raw events beyond the floor: the event of seq n is at n - floor - 1. */
  readonly events: StoredEvent[] = [];
  /** Runs that wait, the next one first. */
  readonly queue: MemoryQueued[] = [];
  readonly #members = new Map<string, MemberRole>();
  readonly #toolCalls = new Map<string, { readonly holder: string; readonly untilMs: number }>();

  constructor({ tenant, threadId }: ThreadKey, owner: string | undefined, nowMs: number) {
    this.about = {
      tenant,
      threadId,
      logId: mintLogId(),
      floor: 0,
      head: undefined,
      title: undefined,
      archived: false,
      metadata: {},
      owner,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    };
  }

  /** Seq of the newest event. */
  get tail(): number {
    return this.about.floor + this.events.length;
  }

  /** What is told of the thread. */
  info(): ThreadInfo {
    return { ...this.about, tail: this.tail };
  }

  /** What is told of one of its runs. */
  infoOf({ about, compacted }: MemoryRun): RunInfo {
    return { ...about, status: about.end?.status ?? "running", settled: compacted !== undefined };
  }

  /** The right to append to a run, as of now. */
  leaseOf({ about, fence, nextBatch }: MemoryRun, leaseMs: number): Lease {
    const { tenant, threadId, runId } = about;
    return { tenant, threadId, runId, ref: this.#refOf(runId), fence, nextBatch, leaseMs };
  }

  #refOf(runId: string): string {
    return `${this.about.logId}/${runId}`;
  }

  /** Begins a run with its first events. */
  begin(request: ClaimRequest, nowMs: number): MemoryRun {
    const { runId, agent, parentRunId, kind, principal, leaseMs, events } = request;
    const { tenant, threadId } = this.about;
    const place = { tenant, threadId, runId, agent, parentRunId, kind, principal };
    const times = { startedAtMs: nowMs, endedAtMs: undefined, end: undefined };
    const run: MemoryRun = {
      about: { ...place, ...times, firstSeq: this.tail + 1, lastSeq: this.tail },
      fence: 1,
      nextBatch: 1,
      leaseUntilMs: nowMs + leaseMs,
      stop: false,
      compacted: undefined,
    };
    this.runs.set(runId, run);
    if (kind !== "spawn") this.about.head = runId;
    this.about.updatedAtMs = nowMs;
    this.unqueue(runId);
    this.#push(run, events);
    return run;
  }

  /** Takes a run out of the queue. False where it does not wait. */
  unqueue(runId: string): boolean {
    const at = this.queue.findIndex((queued) => queued.runId === runId);
    return at >= 0 && this.queue.splice(at, 1).length > 0;
  }

  /** Gives somebody a role, or takes it away. False where nothing changed. */
  setMember(user: string, role: MemberRole | null): boolean {
    if (user === this.about.owner || (this.#members.get(user) ?? null) === role) return false;
    if (role === null) this.#members.delete(user);
    else this.#members.set(user, role);
    return true;
  }

  /** Its members, by their names. */
  members(): readonly Member[] {
    return Array.from(this.#members, ([user, role]) => ({ user, role })).toSorted((a, b) => (a.user < b.user ? -1 : 1));
  }

  /** What somebody may do with it. */
  roleOf(user: string): ThreadRole | undefined {
    return user === this.about.owner ? "owner" : this.#members.get(user);
  }

  /** Gives a frontend call to whoever asks, unless another has it. */
  claimToolCall({ toolCallId, holder, leaseMs }: ToolCallRequest, nowMs: number): ToolCallClaim {
    const known = this.#toolCalls.get(toolCallId);
    if (known !== undefined && known.untilMs > nowMs && known.holder !== holder) {
      return { type: "taken", untilMs: known.untilMs };
    }
    const untilMs = nowMs + leaseMs;
    this.#toolCalls.set(toolCallId, { holder, untilMs });
    return { type: "held", untilMs };
  }

  /** Appends annotations of a run, which itself stays as it is. */
  annotate({ about: { runId } }: MemoryRun, events: readonly string[]): Annotated {
    const firstSeq = this.tail + 1;
    for (const json of events) this.events.push({ seq: this.tail + 1, runId, json });
    return { firstSeq, lastSeq: this.tail };
  }

  /** The run that a lease names, while it holds. */
  held({ runId, ref, fence }: Lease): MemoryRun | undefined {
    const run = this.runs.get(runId);
    const holds = run !== undefined && run.about.end === undefined && run.fence === fence;
    return holds && ref === this.#refOf(runId) ? run : undefined;
  }

  /** Appends a batch, or says why not. */
  append({ lease, number, events, end }: Batch, nowMs: number): Appended {
    const known = this.runs.get(lease.runId);
    const mine = known !== undefined && known.fence === lease.fence && lease.ref === this.#refOf(lease.runId);
    if (mine && number < known.nextBatch) return { type: "repeated", lastSeq: known.about.lastSeq, stop: known.stop };
    const run = this.held(lease);
    if (run === undefined) return { type: "fenced" };
    if (number > run.nextBatch) return { type: "gap", expected: run.nextBatch };
    const firstSeq = this.tail + 1;
    this.#push(run, events);
    run.nextBatch += 1;
    run.leaseUntilMs = nowMs + lease.leaseMs;
    if (end !== undefined) {
      run.about.end = end;
      run.about.endedAtMs = nowMs;
      this.about.updatedAtMs = nowMs;
    }
    return { type: "committed", firstSeq, lastSeq: run.about.lastSeq, stop: run.stop };
  }

  #push({ about }: MemoryRun, events: readonly string[]): void {
    for (const json of events) {
      about.lastSeq = this.tail + 1;
      this.events.push({ seq: about.lastSeq, runId: about.runId, json });
    }
  }

  /** The runs of a branch, from its root to this run. */
  branch(runId: string): readonly MemoryRun[] {
    const walked: MemoryRun[] = [];
    for (let run = this.runs.get(runId); run !== undefined;) {
      walked.push(run);
      const { kind, parentRunId } = run.about;
      run = kind === "spawn" || parentRunId === undefined ? undefined : this.runs.get(parentRunId);
    }
    return walked.toReversed();
  }

  /** A page of the log. */
  read({ afterSeq = 0, throughSeq = this.tail, runIds, limit = 512, maxChars = MAX_PAGE_CHARS }: ReadRequest): Page {
    const { tail } = this;
    const { floor, logId } = this.about;
    if (afterSeq < floor) throw trimmed(afterSeq, floor);
    const wanted = runIds && new Set(runIds);
    const end = Math.min(throughSeq, tail);
    const events: StoredEvent[] = [];
    let through = afterSeq;
    let chars = 0;
    for (let seq = afterSeq + 1; seq <= end && events.length < limit && chars < maxChars; seq++) {
      const event = this.events[seq - floor - 1];
      if (event !== undefined && (wanted === undefined || wanted.has(event.runId))) {
        events.push(event);
        chars += event.json.length;
      }
      through = seq;
    }
    return { logId, events, through, tail };
  }

  /** The newest snapshot on the branch of a run, up to a seq. */
  snapshot(runId: string, throughSeq: number): Snapshot | undefined {
    const branch = new Set(this.branch(runId).map(({ about }) => about.runId));
    return this.snapshots
      .filter(({ runId: at, seq }) => branch.has(at) && seq <= throughSeq)
      .reduce<Snapshot | undefined>(
        (best, next) => (best === undefined || next.seq > best.seq ? next : best),
        undefined,
      );
  }

  /** Keeps a snapshot, unless it is there. */
  save(snapshot: Snapshot): void {
    const { runId, seq } = snapshot;
    const known = this.snapshots.some((each) => each.seq === seq && each.runId === runId);
    if (!known) this.snapshots.push(snapshot);
  }

  /** Drops the raw events up to the last of a run that goes, and before the first run that is to stay whole. Returns how many. */
  trim(endedBeforeMs: number): number {
    const goes = ({ about: { endedAtMs = Infinity }, compacted }: MemoryRun): boolean =>
      endedAtMs < endedBeforeMs && compacted !== undefined;
    const ends = [...this.runs.values()].map((run) => (goes(run) ? run.about.lastSeq : 0));
    const before = [...this.runs.values()].map((run) => (goes(run) ? Infinity : run.about.firstSeq - 1));
    const floor = Math.max(this.about.floor, Math.min(Math.max(...ends), ...before));
    const gone = floor - this.about.floor;
    this.events.splice(0, gone);
    this.about.floor = floor;
    return gone;
  }
}

/** The error for a thread that is not there, or is somebody else's. */
export function unknownThread({ threadId }: ThreadKey): HeddleError<"thread-unknown"> {
  return new HeddleError("thread-unknown", "There is no such thread: it begins with its first run.", { threadId });
}

/** The error for a run that the thread does not have. */
export function unknownRun({ threadId, runId }: Pick<RunKey, "threadId" | "runId">): HeddleError<"run-unknown"> {
  return new HeddleError("run-unknown", "The thread has no such run.", { threadId, runId });
}

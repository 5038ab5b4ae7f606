/**
 * Runs that wait for their branch: kept in the store with all that was posted, and begun in the order in which they came, as
 * soon as the thread is free, by whichever process notices first. Of several that try, one succeeds.
 */
import { HeddleError } from "../protocol/index.ts";
import type { RunAgentInput } from "../protocol/index.ts";
import type { QueuedRun, RunInfo, RunKey, Store, ThreadKey } from "../store/index.ts";

/** Begins a run that waits. Throws `thread-busy` where it has to wait on. */
export type BeginQueued = (key: ThreadKey, queued: QueuedRun, posted: RunAgentInput) => Promise<void>;

/** A run that is to wait. */
export interface Asked {
  /** Who is to run. */
  readonly agent: string;
  /** Who asked for it, where that is known. */
  readonly user: string | undefined;
  /** What was posted. */
  readonly posted: RunAgentInput;
}

/** What a queue is made of. */
export interface RunQueueParts {
  /** Where runs wait. */
  readonly store: Store;
  /** Begins one. */
  readonly begin: BeginQueued;
  /** Told of one that cannot begin, and was taken out. */
  readonly onRefused: (error: unknown, key: ThreadKey, queued: QueuedRun) => void;
}

/** Codes of what may be otherwise later: such a run stays where it is. */
const PATIENT: ReadonlySet<string> = new Set(["thread-busy", "answers-missing", "agent-unknown", "server-closing"]);

/** The runs of one store that wait. */
export class RunQueue {
  readonly #parts: RunQueueParts;

  constructor(parts: RunQueueParts) {
    this.#parts = parts;
  }

  /** Lets a run wait. Gives its place, or undefined where it has begun already. Throws `queue-full`. */
  async add(key: ThreadKey, { agent, user, posted }: Asked, limit: number): Promise<number | undefined> {
    const { threadId, runId, parentRunId } = posted;
    const request = { ...key, runId, agent, principal: user, parentRunId, body: JSON.stringify(posted), limit };
    const result = await this.#parts.store.enqueue(request);
    if (result.type === "exists") return undefined;
    if (result.type === "queued") return result.position;
    const message = `${limit} runs wait in this thread already: try again when some have ended.`;
    throw new HeddleError("queue-full", message, { threadId, limit });
  }

  /** Takes a run out, and says how it stands then; undefined where it does not wait. */
  async remove(key: RunKey): Promise<RunInfo | undefined> {
    const { store } = this.#parts;
    const queued = (await store.queue(key)).find(({ runId }) => runId === key.runId);
    return queued !== undefined && (await store.unqueue(key)) ? neverBegan(key, queued) : undefined;
  }

  /** Begins the next run of a thread, if it can. */
  async next(key: ThreadKey): Promise<void> {
    const [first] = await this.#parts.store.queue(key);
    if (first !== undefined) await this.#begin(key, first);
  }

  /** Begins whatever waits in threads where nothing runs: what a crash or another process left. */
  async all(): Promise<void> {
    for (const { tenant, threadId, ...queued } of await this.#parts.store.waiting()) {
      await this.#begin({ tenant, threadId }, queued);
    }
  }

  async #begin(key: ThreadKey, queued: QueuedRun): Promise<void> {
    try {
      const posted: RunAgentInput = JSON.parse(queued.body);
      await this.#parts.begin(key, queued, posted);
    } catch (error) {
      if (error instanceof HeddleError && (error.retryable || PATIENT.has(error.code))) return;
      const waited = await this.#parts.store.unqueue({ ...key, runId: queued.runId });
      // One that somebody took out meanwhile is no failure.
      if (waited) this.#parts.onRefused(error, key, queued);
    }
  }
}

/** A run that was stopped while it waited: the log knows nothing of it. */
const neverBegan = (key: RunKey, { agent, principal, parentRunId, queuedAtMs }: QueuedRun): RunInfo => ({
  tenant: key.tenant,
  threadId: key.threadId,
  runId: key.runId,
  agent,
  parentRunId,
  kind: undefined,
  status: "cancelled",
  firstSeq: 0,
  lastSeq: 0,
  principal,
  startedAtMs: queuedAtMs,
  endedAtMs: Date.now(),
  end: { status: "cancelled", interrupts: [], pendingToolCallIds: [] },
  settled: true,
});

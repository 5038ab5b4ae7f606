/**
 * What is done with whole threads: list and watch them, look at one, change it, delete it, take it out and bring it in.
 * Everything is asked of the store; nothing is kept here.
 */
import type { Event } from "../protocol/index.ts";
import { exportThread, importThread, splitLines } from "../store/index.ts";
import type { ImportedThread, ListRequest, RunKey, Store, ThreadKey } from "../store/index.ts";
import { annotate } from "./annotate.ts";
import type { Annotation } from "./annotate.ts";
import { claimToolCall } from "./claim-tool-call.ts";
import type { ToolCallClaimed } from "./claim-tool-call.ts";
import type { Errands } from "./errands.ts";
import type { Hubs } from "./hubs.ts";
import { knownThread, unknownThread } from "./known-thread.ts";
import type { ThreadListChange } from "./list-stretch.ts";
import type { LiveLists } from "./live-lists.ts";
import { readThreadPatch } from "./read-thread-patch.ts";
import { startedEvent } from "./run-start.ts";
import type { Telemetry } from "./telemetry/index.ts";
import { threadDetails } from "./thread-details.ts";
import type { ThreadDetails } from "./thread-details.ts";
import { threadSnapshot } from "./thread-snapshot.ts";
import type { SnapshotOptions, ThreadSnapshot } from "./thread-snapshot.ts";
import { listThreads, summaryOf } from "./thread-summary.ts";
import type { ThreadListPage, ThreadSummary } from "./thread-summary.ts";
import { within } from "./within.ts";

/** Which threads to list. */
export type ThreadsRequest = Omit<ListRequest, "tenant">;

/** A thread that was brought in. */
export interface BroughtThread extends ImportedThread {
  /** The thread, as a list shows it. */
  readonly thread: ThreadSummary;
}

/** What threads are reached through. */
export interface ThreadsParts {
  /** Whose threads. */
  readonly tenant: string;
  /** Where they are kept; open. */
  readonly store: () => Promise<Store>;
  /** Who follows them. */
  readonly hubs: Hubs;
  /** Who watches their list. */
  readonly lists: LiveLists;
  /** What is done on the side. */
  readonly errands: Errands;
  /** Where what people say about a run is noted. */
  readonly telemetry: Telemetry;
  /** Stops a run. */
  readonly cancel: (run: RunKey) => Promise<unknown>;
}

/** How long a deletion waits for what is being made of runs that have just ended. */
const ERRANDS_MS = 1000;

/** The threads of a server. */
export class Threads {
  readonly #parts: ThreadsParts;

  constructor(parts: ThreadsParts) {
    this.#parts = parts;
  }

  #key(threadId: string): ThreadKey {
    return { tenant: this.#parts.tenant, threadId };
  }

  /** A page of threads, the most recently changed first. */
  async list(request: ThreadsRequest = {}): Promise<ThreadListPage> {
    const { tenant, store } = this.#parts;
    return listThreads(await store(), { ...request, tenant });
  }

  /** The first page, and then each thread that changes, is new or is deleted, until the signal aborts or the server stops. */
  async *watch(
    request: Omit<ThreadsRequest, "after"> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<ThreadListChange, void, undefined> {
    const { tenant, store, lists } = this.#parts;
    await store();
    yield* lists.watch({ ...request, tenant }, signal);
  }

  /** One thread with its runs, and what it waits for. Throws `thread-unknown`. */
  async details(threadId: string): Promise<ThreadDetails> {
    return threadDetails(await this.#parts.store(), this.#key(threadId));
  }

  /**
   * Changes a thread by a body that nobody has judged yet, and answers it. Throws `input-invalid`, `limit-exceeded`,
   * `thread-unknown`, and `run-unknown` for a head that it does not have.
   */
  async update(threadId: string, body: unknown): Promise<ThreadSummary> {
    const patch = readThreadPatch(body);
    const store = await this.#parts.store();
    const key = this.#key(threadId);
    const isChange = Object.keys(patch).length > 0;
    const thread = isChange ? await store.updateThread(key, patch) : await knownThread(store, key);
    this.#parts.lists.look();
    return summaryOf(store, thread);
  }

  /** Stops what runs in a thread, and deletes it with all that it holds. Throws `thread-unknown`. */
  async delete(threadId: string): Promise<void> {
    const { errands, hubs, lists, cancel } = this.#parts;
    const key = this.#key(threadId);
    const store = await this.#parts.store();
    const running = (await store.runs(key)).filter(({ end }) => end === undefined);
    await Promise.all(running.map(cancel));
    // What is being made of the runs would find nothing.
    if (running.length > 0) await within(ERRANDS_MS, errands.done());
    if (!(await store.deleteThread(key))) throw unknownThread(key);
    hubs.drop(key);
    lists.look();
  }

  /** A thread at one moment. Throws `thread-unknown`, `run-unknown`, `cursor-invalid` and `cursor-trimmed`. */
  async snapshot(threadId: string, options: SnapshotOptions = {}): Promise<ThreadSnapshot> {
    return threadSnapshot(await this.#parts.store(), this.#key(threadId), options);
  }

  /** Adds an annotation to a run. Throws `input-invalid`, `thread-unknown` and `run-unknown`. */
  async annotate(threadId: string, body: unknown): Promise<Annotation> {
    const { errands } = this.#parts;
    const store = await this.#parts.store();
    const key = this.#key(threadId);
    return annotate(store, key, body, (runId, event) =>
      errands.run(() => this.#trace(store, { ...key, runId }, event)),
    );
  }

  /** Tells of an annotation in the trace of its run. */
  async #trace(store: Store, key: RunKey, event: Event): Promise<void> {
    const run = await store.run(key);
    if (run !== undefined) this.#parts.telemetry.annotated(run, await startedEvent(store, run), event);
  }

  /** Claims a frontend call. Throws `input-invalid`, `thread-unknown`, `tool-call-closed` and `tool-call-taken`. */
  async claimToolCall(threadId: string, toolCallId: string, body: unknown): Promise<ToolCallClaimed> {
    return claimToolCall(await this.#parts.store(), this.#key(threadId), toolCallId, body);
  }

  /** A thread as lines of JSON, lossless. Throws `thread-unknown`. */
  async export(threadId: string): Promise<AsyncGenerator<string, void, undefined>> {
    const store = await this.#parts.store();
    const key = this.#key(threadId);
    await knownThread(store, key);
    return exportThread(store, key);
  }

  /**
   * Makes a thread of the bytes of such lines, under its own id or another. Throws `import-invalid`, `thread-exists` and
   * `input-invalid`; nothing is changed then.
   */
  async import(chunks: AsyncIterable<Uint8Array>, threadId?: string): Promise<BroughtThread> {
    const store = await this.#parts.store();
    const imported = await importThread(store, { tenant: this.#parts.tenant, threadId }, splitLines(chunks));
    this.#parts.lists.look();
    return { ...imported, thread: await summaryOf(store, await knownThread(store, this.#key(imported.threadId))) };
  }
}

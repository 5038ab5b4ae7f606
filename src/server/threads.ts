/**
 * What is done with whole threads: list and watch them, look at one, change it, delete it, take it out and bring it in.
 * Everything is asked of the store; nothing is kept here.
 */
import type { Event } from "../protocol/index.ts";
import { exportThread, importThread, splitLines } from "../store/index.ts";
import type { ImportedThread, ListRequest, Member, RunKey, Store, ThreadKey } from "../store/index.ts";
import type { Access } from "./access.ts";
import { annotate } from "./annotate.ts";
import type { Annotation } from "./annotate.ts";
import { claimToolCall } from "./claim-tool-call.ts";
import type { ToolCallClaimed } from "./claim-tool-call.ts";
import type { Errands } from "./errands.ts";
import type { Hubs } from "./hubs.ts";
import { knownThread, unknownThread } from "./known-thread.ts";
import type { ThreadListChange } from "./list-stretch.ts";
import type { LiveAccess } from "./live-access.ts";
import type { LiveLists } from "./live-lists.ts";
import type { Role } from "./auth/index.ts";
import { readMemberRole, readUser } from "./read-member.ts";
import { readThreadPatch } from "./read-thread-patch.ts";
import { startedEvent } from "./run-start.ts";
import type { Telemetry } from "./telemetry/index.ts";
import { threadDetails } from "./thread-details.ts";
import type { ThreadDetails } from "./thread-details.ts";
import { threadSnapshot } from "./thread-snapshot.ts";
import type { SnapshotOptions, ThreadSnapshot } from "./thread-snapshot.ts";
import { listThreads, summaryOf } from "./thread-summary.ts";
import type { ThreadListPage, ThreadSummary } from "./thread-summary.ts";
import { untilExpiry } from "./until-expiry.ts";
import { rulesFor, withRules } from "./view-rules.ts";
import type { Views } from "./view-rules.ts";
import { within } from "./within.ts";

/** Which threads to list. */
export type ThreadsRequest = Omit<ListRequest, "tenant" | "user">;

/** A thread that was brought in. */
export interface BroughtThread extends ImportedThread {
  /** The thread, as a list shows it. */
  readonly thread: ThreadSummary;
}

/** What threads are reached through. */
export interface ThreadsParts {
  /** What whoever asks may do with them. */
  readonly access: Access;
  /** Where they are kept. */
  readonly store: Store;
  /** Opens it, where that was not done. */
  readonly open: () => Promise<void>;
  /** Who watches under a role that may end. */
  readonly live: LiveAccess;
  /** What each role gets to see. */
  readonly views: Views | undefined;
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

/** A thread that somebody may reach. */
interface Reached {
  readonly store: Store;
  readonly key: ThreadKey;
  /** What they are there. */
  readonly role: Role;
}

/** How long a deletion waits for what is being made of runs that have just ended. */
const ERRANDS_MS = 1000;

/** The threads of a server. */
export class Threads {
  readonly #parts: ThreadsParts;

  constructor(parts: ThreadsParts) {
    this.#parts = parts;
  }

  /** The open store, and the thread, which whoever asks has at least this role in. */
  async #reach(threadId: string, needed: Role): Promise<Reached> {
    const { access, open, store } = this.#parts;
    await open();
    const key = access.key(threadId);
    return { store, key, role: await access.need(key, needed) };
  }

  /** A page of threads, the most recently changed first. */
  async list(request: ThreadsRequest = {}): Promise<ThreadListPage> {
    const { access, open, store } = this.#parts;
    await open();
    return listThreads(store, { ...request, ...access.listed, tenant: access.principal.tenant });
  }

  /** The first page, and then each thread that changes, is new or is deleted, until the signal aborts or the server stops. */
  async *watch(
    request: Omit<ThreadsRequest, "after"> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<ThreadListChange, void, undefined> {
    const { access, open, lists } = this.#parts;
    await open();
    const { tenant, expiresAtMs } = access.principal;
    const until = untilExpiry(expiresAtMs, signal);
    try {
      yield* lists.watch({ ...request, ...access.listed, tenant }, until.signal);
    } finally {
      until.release();
    }
  }

  /** One thread, as a list shows it, and the role in it. Throws `thread-unknown`. */
  async summary(threadId: string): Promise<ThreadSummary & { readonly role: Role }> {
    const { store, key, role } = await this.#reach(threadId, "observer");
    return { ...(await summaryOf(store, await knownThread(store, key))), role };
  }

  /** One thread with its runs, its members, and what it waits for. Throws `thread-unknown`. */
  async details(threadId: string): Promise<ThreadDetails & { readonly role: Role }> {
    const { store, key, role } = await this.#reach(threadId, "observer");
    return { ...(await threadDetails(store, key)), role };
  }

  /**
   * Changes a thread by a body that nobody has judged yet, and answers it. Throws `input-invalid`, `limit-exceeded`,
   * `thread-unknown`, and `run-unknown` for a head that it does not have.
   */
  async update(threadId: string, body: unknown): Promise<ThreadSummary> {
    const patch = readThreadPatch(body);
    const { store, key } = await this.#reach(threadId, "collaborator");
    const isChange = Object.keys(patch).length > 0;
    const thread = isChange ? await store.updateThread(key, patch) : await knownThread(store, key);
    this.#parts.lists.look();
    return summaryOf(store, thread);
  }

  /** Stops what runs in a thread, and deletes it with all that it holds. Throws `thread-unknown`. */
  async delete(threadId: string): Promise<void> {
    const { errands, hubs, lists, cancel } = this.#parts;
    const { store, key } = await this.#reach(threadId, "owner");
    const running = (await store.runs(key)).filter(({ end }) => end === undefined);
    await Promise.all(running.map(cancel));
    // What is being made of the runs would find nothing.
    if (running.length > 0) await within(ERRANDS_MS, errands.done());
    if (!(await store.deleteThread(key))) throw unknownThread(key);
    hubs.drop(key);
    lists.look();
  }

  /**
   * Makes somebody a member of a thread, by a body `{role}` that nobody has judged yet, or changes their role. What they
   * watch under another role ends. Throws `input-invalid` and `thread-unknown`.
   */
  async setMember(threadId: string, user: string, body: unknown): Promise<Member> {
    const member = { user: readUser(user), role: readMemberRole(body) };
    await this.#changeMember(threadId, member.user, member.role);
    return member;
  }

  /** Takes somebody's role in a thread away; what they watch ends. Throws `thread-unknown`. */
  async removeMember(threadId: string, user: string): Promise<void> {
    await this.#changeMember(threadId, readUser(user), null);
  }

  async #changeMember(threadId: string, user: string, role: Member["role"] | null): Promise<void> {
    const { live, lists } = this.#parts;
    const { store, key } = await this.#reach(threadId, "owner");
    if (!(await store.setMember(key, user, role))) return;
    lists.look();
    await live.changed(key);
  }

  /** A thread at one moment. Throws `thread-unknown`, `run-unknown`, `cursor-invalid` and `cursor-trimmed`. */
  async snapshot(threadId: string, options: SnapshotOptions = {}): Promise<ThreadSnapshot> {
    const { store, key, role } = await this.#reach(threadId, "observer");
    return threadSnapshot(store, key, withRules(options, rulesFor(this.#parts.views, role)));
  }

  /** Adds an annotation to a run. Throws `input-invalid`, `thread-unknown` and `run-unknown`. */
  async annotate(threadId: string, body: unknown): Promise<Annotation> {
    const { errands } = this.#parts;
    const { store, key } = await this.#reach(threadId, "collaborator");
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
    const { store, key } = await this.#reach(threadId, "collaborator");
    return claimToolCall(store, key, toolCallId, body);
  }

  /** A thread as lines of JSON, lossless: with what is hidden from all but operators. Throws `thread-unknown`. */
  async export(threadId: string): Promise<AsyncGenerator<string, void, undefined>> {
    const { store, key } = await this.#reach(threadId, "operator");
    await knownThread(store, key);
    return exportThread(store, key);
  }

  /**
   * Makes a thread of the bytes of such lines, under its own id or another; whoever brings it owns it. Only for operators:
   * what it says was said is believed. Throws `import-invalid`, `thread-exists` and `input-invalid`; nothing is changed then.
   */
  async import(chunks: AsyncIterable<Uint8Array>, threadId?: string): Promise<BroughtThread> {
    const { access, open, store, lists } = this.#parts;
    access.needOperator();
    await open();
    const { tenant, user: owner } = access.principal;
    const imported = await importThread(store, { tenant, threadId, owner }, splitLines(chunks));
    lists.look();
    const thread = await knownThread(store, access.key(imported.threadId));
    return { ...imported, thread: await summaryOf(store, thread) };
  }
}

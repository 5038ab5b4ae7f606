/**
 * What somebody does here: runs and threads, within what they may. A server has one of these for each who asks; nothing is
 * kept in it.
 */
import type { Agent } from "../agent/index.ts";
import type { QueuedRun, RunInfo, Store } from "../store/index.ts";
import { Access } from "./access.ts";
import { NOTHING, attach, knownRun } from "./attach.ts";
import type { AttachOptions, Attachment } from "./attach.ts";
import type { Ticket, TicketOffice } from "./auth/index.ts";
import { attachLater } from "./attach-later.ts";
import { awaitStart } from "./await-start.ts";
import type { Errands } from "./errands.ts";
import type { Hubs } from "./hubs.ts";
import { knownThread } from "./known-thread.ts";
import type { LiveAccess } from "./live-access.ts";
import type { LiveLists } from "./live-lists.ts";
import type { Principal } from "./auth/index.ts";
import { readRunBody, readThreadId } from "./read-run-body.ts";
import type { StartOptions } from "./run-ask.ts";
import type { Runs, StartedRun } from "./runs.ts";
import type { ServerStatus, StatusBoard } from "./server-status.ts";
import type { ShowOptions } from "./show.ts";
import type { Telemetry } from "./telemetry/index.ts";
import { Threads } from "./threads.ts";
import { rulesFor, withRules } from "./view-rules.ts";
import type { Views } from "./view-rules.ts";

/** How somebody connects. */
export interface ConnectOptions extends Omit<ShowOptions, "names" | "alias"> {
  /** Aborts when the viewer is gone. */
  readonly signal?: AbortSignal | undefined;
}

/** What somebody does. Threads in which they have no role are not there for them; a role that is too small is `role-missing`. */
export interface Conversations {
  /** Who. */
  readonly principal: Principal;
  /** What is done with whole threads: list, watch, change, delete, export, import. */
  readonly threads: Threads;
  /**
   * Starts a run from a body that nobody has judged yet, or joins the run that has its thread and run id.
   * Resolves when the run's first event is in the log. A thread belongs to whoever starts its first run.
   */
  start(agentName: string, body: unknown, options?: StartOptions): Promise<StartedRun>;
  /** Follows a branch of a thread, one of its runs, or its whole log. */
  attach(threadId: string, options?: AttachOptions): Promise<Attachment>;
  /**
   * Where a thread stands, for a client that has nothing: a prelude of its head, and then live to the end of that run. An
   * idle thread is told as a closed run; one that does not exist gives nothing.
   */
  connect(agentName: string, body: unknown, options?: ConnectOptions): Promise<Attachment>;
  /** Stops a run wherever it is executed, and answers how it ended; one that has ended stays as it is. */
  cancel(threadId: string, runId: string): Promise<RunInfo>;
  /** A run that waits for its turn; undefined where it does not. */
  waiting(threadId: string, runId: string): Promise<QueuedRun | undefined>;
  /** What is known of a run. Throws `thread-unknown` and `run-unknown`. */
  run(threadId: string, runId: string): Promise<RunInfo>;
  /** How the server is, for operators: numbers of the process, and what names a thread of theirs. Throws `role-missing`. */
  status(): Promise<ServerStatus>;
  /** A ticket by which whoever holds it counts as this principal, once and soon. */
  ticket(): Promise<Ticket>;
}

/** What conversations are reached through. */
export interface ConversationsParts {
  /** The log. */
  readonly store: Store;
  /** Opens it, where that was not done. */
  readonly open: () => Promise<void>;
  /** Who follows threads. */
  readonly hubs: Hubs;
  /** Who watches their list. */
  readonly lists: LiveLists;
  /** Who watches under a role that may end. */
  readonly live: LiveAccess;
  /** What is done on the side. */
  readonly errands: Errands;
  /** What is counted and traced. */
  readonly telemetry: Telemetry;
  /** How the server is. */
  readonly status: StatusBoard;
  /** What each role gets to see. */
  readonly views: Views | undefined;
  /** Where tickets are had. */
  readonly tickets: TicketOffice;
  /** The runs. */
  readonly runs: Runs;
  /** An agent by its name. Throws `agent-unknown`. */
  readonly agentOf: (name: string) => Agent;
}

/** Whether somebody goes on where they were cut off. Who reads a page of the log behind another never followed. */
const isBack = ({ after, began = false, follow = true }: AttachOptions): boolean =>
  after !== undefined && follow && !began;

/** What a principal does here. */
export const actingAs = (parts: ConversationsParts, principal: Principal): Conversations =>
  new Acting(parts, principal);

class Acting implements Conversations {
  readonly principal: Principal;
  readonly threads: Threads;
  readonly #parts: ConversationsParts;
  readonly #access: Access;

  constructor(parts: ConversationsParts, principal: Principal) {
    this.principal = principal;
    this.#parts = parts;
    const access = (this.#access = new Access(parts.store, principal));
    this.threads = new Threads({ ...parts, access, cancel: (run) => parts.runs.cancel(run) });
  }

  async start(agentName: string, body: unknown, options: StartOptions = {}): Promise<StartedRun> {
    const { agentOf, open, runs } = this.#parts;
    runs.checkAccepting();
    const agent = agentOf(agentName);
    const { input, peer, warnings } = readRunBody(body);
    const { threadId, runId } = input;
    await open();
    // A thread that is not there yet will be the caller's own.
    const role = (await this.#access.role(this.#access.key(threadId))) ?? "owner";
    const rules = rulesFor(this.#parts.views, role);
    const hiddenState = [...(options.hiddenState ?? []), ...(rules.hiddenState ?? [])];
    const began = await runs.start(this.#access, agent, input, { ...options, hiddenState, changed: warnings });
    const told = [...warnings, ...began.warnings];
    return {
      threadId,
      runId,
      run: { threadId, runId: began.runId },
      joined: began.joined,
      queued: began.queued,
      opening: began.opening,
      held: input.messages.map(({ id }) => id),
      peer,
      warnings: told,
    };
  }

  async attach(threadId: string, options: AttachOptions = {}): Promise<Attachment> {
    const { open, store, hubs, live, runs, views, telemetry } = this.#parts;
    await open();
    const key = this.#access.key(threadId);
    const role = await this.#access.need(key, "observer");
    const { runId, signal } = options;
    if (options.queued === true && runId !== undefined) return this.#attachLater(threadId, runId, options);
    const seen = withRules(options, rulesFor(views, role));
    const attachment = await attach(store, hubs, key, seen, live.guard(this.#access, key, role));
    if (runId !== undefined && signal !== undefined) runs.watch({ ...key, runId }, signal);
    if (isBack(options)) telemetry.reconnected();
    return attachment;
  }

  /** Follows a run that waits, once it has begun. */
  #attachLater(threadId: string, runId: string, options: AttachOptions): Attachment {
    const key = { ...this.#access.key(threadId), runId };
    return attachLater(async () => {
      const run = await awaitStart(this.#parts.store, key, options.signal);
      return run === undefined ? undefined : this.attach(threadId, { ...options, queued: false });
    });
  }

  async connect(agentName: string, body: unknown, options: ConnectOptions = {}): Promise<Attachment> {
    const { agentOf, open, store } = this.#parts;
    agentOf(agentName);
    const { threadId, held, peer } = readThreadId(body);
    await open();
    const key = this.#access.key(threadId);
    const thread = (await this.#access.role(key)) === undefined ? undefined : await store.thread(key);
    if (thread?.head === undefined) return NOTHING;
    return this.attach(threadId, { peer, ...options, runId: thread.head, prelude: true, held });
  }

  async cancel(threadId: string, runId: string): Promise<RunInfo> {
    const { open, store, runs } = this.#parts;
    await open();
    const key = this.#access.key(threadId);
    await this.#access.need(key, "collaborator");
    await knownThread(store, key);
    return runs.cancel({ ...key, runId });
  }

  async waiting(threadId: string, runId: string): Promise<QueuedRun | undefined> {
    const { open, store } = this.#parts;
    await open();
    const key = this.#access.key(threadId);
    await this.#access.need(key, "observer");
    return (await store.queue(key)).find((queued) => queued.runId === runId);
  }

  async run(threadId: string, runId: string): Promise<RunInfo> {
    const { open, store } = this.#parts;
    await open();
    const key = this.#access.key(threadId);
    await this.#access.need(key, "observer");
    await knownThread(store, key);
    return knownRun(store, key, runId);
  }

  async status(): Promise<ServerStatus> {
    this.#access.needOperator();
    return this.#parts.status.tell(this.principal.tenant);
  }

  async ticket(): Promise<Ticket> {
    await this.#parts.open();
    return this.#parts.tickets.issue(this.principal);
  }
}

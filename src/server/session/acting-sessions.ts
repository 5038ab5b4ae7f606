/**
 * Sessions as one principal has them. Runs are started and followed as anybody's are (DESIGN 7: a projection at the edge,
 * no second engine), so what a role may do and see is judged where it always is.
 */
import { HeddleError } from "../../protocol/index.ts";
import { decodeSessionRunInput, encodeSessionRunInput } from "../../protocol/session/index.ts";
import type { SessionEvent, SessionRunInput } from "../../protocol/session/index.ts";
import { isAtLeast, roleMissing } from "../index.ts";
import type { Conversations, StartOptions, ThreadSnapshot, ThreadSummary } from "../index.ts";
import { followRun } from "./follow-run.ts";
import type { LiveSession, SessionBeginning } from "./live-session.ts";
import { matchRequest } from "./match-request.ts";
import type { CreateSessionOptions, Session, SessionActs, SessionEntry } from "./session-acts.ts";
import type { SessionSettings } from "./session-options.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** A session that somebody may enter, before they have. */
export interface SessionEntrance extends SessionBeginning {
  /** Whether it goes on with something. */
  readonly isResumed: boolean;
  /** The run that is under way in it. */
  readonly runningRunId: string | undefined;
}

/** Does something under what a host keeps for a connection: headers that agents may read. */
export type Around = <T>(work: () => T) => T;

/** How a request is answered. */
export interface ProcessOptions {
  /** Aborts when nobody listens any more; the run goes on. */
  readonly signal?: AbortSignal | undefined;
  /** Aborts where the run is to stop. */
  readonly stop?: AbortSignal | undefined;
  /** What the run is started in. */
  readonly around?: Around | undefined;
}

/** Acts as one principal. */
export class ActingSessions implements SessionActs {
  readonly #registry: SessionRegistry;
  readonly #heddle: Conversations;

  constructor(registry: SessionRegistry, heddle: Conversations) {
    this.#registry = registry;
    this.#heddle = heddle;
  }

  /**
   * A session that may be entered: a new one, or the one of this id, which has to be there. Throws `agent-unknown`,
   * `thread-unknown` and `role-missing`. Nothing is kept.
   */
  async entrance(endpoint: string | undefined, sessionId?: string): Promise<SessionEntrance> {
    const { name, settings } = this.#registry.endpoint(endpoint);
    if (sessionId === undefined) {
      this.#needToStart();
      return beginning(crypto.randomUUID(), name, settings, undefined);
    }
    const live = this.#registry.find(this.#heddle.principal, sessionId, name);
    if (live !== undefined && !live.isStored) return { ...beginning(sessionId, name, settings), isResumed: true };
    const thread = await this.#heddle.threads.summary(sessionId);
    if (!isAtLeast(thread.role, "collaborator")) throw roleMissing("collaborator");
    return beginning(sessionId, name, settings, thread);
  }

  /** Who watches everything writes nothing, unless a thread says otherwise. */
  #needToStart(): void {
    const { roles } = this.#heddle.principal;
    if (roles.length > 0 && roles.every((role) => role === "observer")) throw roleMissing("collaborator");
  }

  /** Enters a session: it lives from now on, until whoever entered has left. */
  enter(entrance: SessionEntrance): LiveSession {
    const { principal } = this.#heddle;
    const { sessionId, endpoint } = entrance;
    const live = this.#registry.find(principal, sessionId, endpoint) ?? this.#registry.add(principal, entrance);
    live.holders += 1;
    return live;
  }

  /** Leaves a session. The last one to leave ends it. */
  leave(live: LiveSession): void {
    live.holders -= 1;
    if (live.holders === 0) live.end({ reason: "completed" });
  }

  /** Takes a request, or throws `rate-limited`. */
  take({ endpoint, sessionId }: Pick<LiveSession, "endpoint" | "sessionId">): void {
    this.#registry.take(this.#heddle.principal, endpoint, sessionId);
  }

  /** Something waits in a session now: others may have to go. */
  makeRoom(live: LiveSession): void {
    this.#registry.makeRoom(live);
  }

  /** Answers a request. */
  async *process(live: LiveSession, request: SessionRunInput, options: ProcessOptions): AsyncGenerator<SessionEvent> {
    const { sessionId, settings } = live;
    const done = live.begin();
    try {
      const known = live.isStored ? (await this.#heddle.threads.snapshot(sessionId)).messages : [];
      const { input, onStale } = matchRequest(request, sessionId, known);
      const { around = (work) => work() } = options;
      const rules = { ...startOptions(settings), onStale };
      const started = await around(() => this.#heddle.start(settings.agent.name, input, rules));
      const { run, queued } = started;
      await this.#stored(live);
      const cancel = (): void => this.#cancel(sessionId, run.runId);
      if (options.stop?.aborted === true) cancel();
      else options.stop?.addEventListener("abort", cancel, { once: true });
      try {
        if (queued !== undefined) yield queuedEvent(sessionId);
        yield* this.#follow(live, run.runId, queued !== undefined, options.signal);
      } finally {
        options.stop?.removeEventListener("abort", cancel);
      }
    } finally {
      done();
    }
  }

  /** Tells a run that is under way, from its beginning to its end. */
  async *retell(live: LiveSession, runId: string, signal: AbortSignal): AsyncGenerator<SessionEvent> {
    const done = live.begin();
    try {
      yield* this.#follow(live, runId, false, signal);
    } finally {
      done();
    }
  }

  async *#follow(
    live: LiveSession,
    runId: string,
    queued: boolean,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<SessionEvent> {
    const { sessionId, settings } = live;
    const isClosing = (): boolean => this.#registry.isClosing;
    const { reasoning } = settings;
    for await (const event of followRun(this.#heddle, { sessionId, runId, queued, reasoning, signal, isClosing })) {
      live.touch();
      yield event;
    }
  }

  #cancel(sessionId: string, runId: string): void {
    this.#heddle.cancel(sessionId, runId).catch((error: unknown) => this.#registry.report(error, sessionId));
  }

  /** The thread is there now, and takes what was kept for it. */
  async #stored(live: LiveSession): Promise<void> {
    if (live.isStored) return;
    live.isStored = true;
    const { sessionId, metadata } = live;
    if (Object.keys(metadata).length > 0) await this.#heddle.threads.update(sessionId, { metadata });
  }

  #find(sessionId: string): LiveSession {
    const live = this.#registry.find(this.#heddle.principal, sessionId);
    if (live === undefined) throw unknownSession(sessionId);
    return live;
  }

  /** Creates a session. */
  async createSession({ endpoint, metadata = {} }: CreateSessionOptions = {}): Promise<string> {
    const entrance = await this.entrance(endpoint);
    return this.enter({ ...entrance, metadata }).sessionId;
  }

  /** Answers a request in a session that lives. */
  async *processRequest(
    sessionId: string,
    request: SessionRunInput,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<SessionEvent> {
    const live = this.#find(sessionId);
    signal?.throwIfAborted();
    this.take(live);
    // Judged as what a socket brings is.
    const judged = decodeSessionRunInput(encodeSessionRunInput(request));
    yield* this.process(live, judged, { stop: signal });
  }

  /** Ends a session. */
  async endSession(sessionId: string): Promise<void> {
    this.#registry.find(this.#heddle.principal, sessionId)?.end({ reason: "completed" });
  }

  /** The session of this id, or a new one. */
  async getOrCreate(sessionId: string, { endpoint, metadata }: CreateSessionOptions = {}): Promise<Session> {
    const known = await this.get(sessionId);
    if (known !== undefined) return known;
    const { name, settings } = this.#registry.endpoint(endpoint);
    const entrance = await this.entrance(name, sessionId).catch((error: unknown) => {
      if (!(error instanceof HeddleError) || error.code !== "thread-unknown") throw error;
      this.#needToStart();
      return { ...beginning(sessionId, name, settings), metadata: metadata ?? {} };
    });
    return this.#seen(this.enter(entrance));
  }

  /** The session of this id, where it lives. */
  async get(sessionId: string): Promise<Session | undefined> {
    const live = this.#registry.find(this.#heddle.principal, sessionId);
    return live === undefined ? undefined : this.#seen(live);
  }

  /** Keeps metadata with a session. */
  async update(
    sessionId: string,
    { metadata }: { readonly metadata: Readonly<Record<string, unknown>> },
  ): Promise<Session> {
    const live = this.#find(sessionId);
    if (live.isStored) await this.#heddle.threads.update(sessionId, { metadata });
    live.metadata = metadata;
    return this.#seen(live);
  }

  /** Deletes a session with its thread. */
  async remove(sessionId: string): Promise<void> {
    const live = this.#registry.find(this.#heddle.principal, sessionId);
    live?.end({ reason: "completed" });
    if (live?.isStored !== false) await this.#heddle.threads.delete(sessionId);
  }

  /** What was said in a session. */
  async conversationHistory(sessionId: string): Promise<readonly SessionEntry[]> {
    const live = this.#registry.find(this.#heddle.principal, sessionId);
    return live?.isStored === false ? [] : entriesOf(await this.#heddle.threads.snapshot(sessionId));
  }

  #seen(live: LiveSession): Session {
    const { sessionId, endpoint, settings } = live;
    return {
      sessionId,
      endpoint,
      agent: settings.agent,
      options: settings,
      createdAt: new Date(live.createdAtMs),
      get lastActivityAt() {
        return new Date(live.lastActivityMs);
      },
      get metadata() {
        return live.metadata;
      },
      conversationHistory: () => this.conversationHistory(sessionId),
      toolCalls: async () => (live.isStored ? (await this.#heddle.threads.snapshot(sessionId)).toolCalls : []),
    };
  }
}

function beginning(
  sessionId: string,
  endpoint: string,
  settings: SessionSettings,
  thread?: ThreadSummary,
): SessionEntrance {
  return {
    sessionId,
    endpoint,
    settings,
    createdAtMs: thread?.createdAtMs ?? Date.now(),
    metadata: thread?.metadata ?? {},
    isStored: thread !== undefined,
    isResumed: thread !== undefined,
    runningRunId: thread?.status === "running" ? thread.head : undefined,
  };
}

/** Tells that a request has to wait. */
export const queuedEvent = (sessionId: string): SessionEvent => ({
  type: "status-update",
  sessionId,
  timestamp: new Date().toISOString(),
  data: { subject: "run", status: "queued" },
});

/** Requests side by side are branches; one after the other they wait, also for those of other connections. */
const startOptions = ({ concurrency, history }: SessionSettings): StartOptions => ({
  onBusy: concurrency === "concurrent" ? "fork" : "enqueue",
  history,
});

const entriesOf = ({ messages, messageTimesMs }: ThreadSnapshot): readonly SessionEntry[] =>
  messages.map((message) => {
    const atMs = messageTimesMs.get(message.id);
    return { message, timestamp: atMs === undefined ? undefined : new Date(atMs).toISOString() };
  });

function unknownSession(sessionId: string): HeddleError<"thread-unknown"> {
  const message = "There is no such session: create one, or continue the thread of this id with getOrCreate.";
  return new HeddleError("thread-unknown", message, { threadId: sessionId });
}

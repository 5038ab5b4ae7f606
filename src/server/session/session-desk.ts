/**
 * One socket of the session dialect: what its client asks, and what it is told. It stands in one session at a time; a
 * request that names another moves it there.
 *
 * It knows no WebSocket library: see `Wire`. Requests are answered one after the other, or side by side where configured, and
 * so many may wait. Nothing is written before what was written before it is taken. `session-started` comes first,
 * `session-ended` last. When the socket is gone, so are the queue and, unless somebody else is in it, the session; what was
 * begun goes on in its thread.
 */
import { HeddleError } from "../../protocol/index.ts";
import {
  decodeSessionRunInput,
  encodeSessionEvent,
  sessionEnded,
  sessionError,
  sessionStarted,
} from "../../protocol/session/index.ts";
import type { AgentErrorInfo, SessionEndedData, SessionEvent, SessionRunInput } from "../../protocol/session/index.ts";
import { callAt } from "../call-at.ts";
import { CLOSE, closeCodeOf, frameOf } from "../ws/index.ts";
import type { SocketUser, Wire } from "../ws/index.ts";
import type { LiveSession } from "./live-session.ts";
import { queuedEvent } from "./acting-sessions.ts";
import type { ActingSessions, Around, SessionEntrance } from "./acting-sessions.ts";

/** What a socket is served with. */
export interface SessionDeskParts {
  /** The sessions of whoever opened it. */
  readonly sessions: ActingSessions;
  /** The session that it begins in. */
  readonly entrance: SessionEntrance;
  /** The socket. */
  readonly wire: Wire;
  /** Takes a request, or throws `rate-limited`. */
  readonly take: () => void;
  /** Does something in the name of whoever opened it. */
  readonly around: Around;
  /** Told of a failure that is nobody's fault but ours; gives the error for the client. */
  readonly faultOf: (error: unknown) => HeddleError;
  /** Told of what is refused. */
  readonly onRefusal: (error: HeddleError) => void;
  /** When whoever opened it has to show anew who they are. */
  readonly expiresAtMs: number | undefined;
}

/** A request that waits, and what it weighs. */
interface Waiting {
  readonly request: SessionRunInput;
  readonly bytes: number;
}

/** Code of a close in good order. */
const NORMAL = 1000;

/** How a socket is closed, by why its session has ended. */
const CODES: Readonly<Record<SessionEndedData["reason"], number>> = {
  completed: NORMAL,
  timeout: CLOSE.aged,
  shutdown: CLOSE.goingAway,
  error: 4500,
};

/** Why a session has ended, by how its socket is closed. */
const REASONS: ReadonlyMap<number, SessionEndedData["reason"]> = new Map([
  [CLOSE.goingAway, "shutdown"],
  [CLOSE.aged, "timeout"],
]);

/** Serves one socket. */
export class SessionDesk implements SocketUser {
  readonly #parts: SessionDeskParts;
  readonly #gone = new AbortController();
  readonly #waiting: Waiting[] = [];
  readonly #works = new Set<Promise<void>>();
  readonly #outlive: (() => void) | undefined;
  #live: LiveSession;
  #deaf: () => void;
  #active = 0;
  #isOpen = true;

  constructor(parts: SessionDeskParts) {
    this.#parts = parts;
    const { entrance, expiresAtMs } = parts;
    this.#live = parts.sessions.enter(entrance);
    this.#deaf = this.#live.listen((end) => this.#finish(end));
    this.#outlive = expiresAtMs === undefined ? undefined : callAt(expiresAtMs, () => this.#expire());
    this.#greet(entrance);
    const { runningRunId } = entrance;
    if (runningRunId !== undefined) this.#begin(() => this.#retell(runningRunId));
  }

  /** The session has a time of its own to be idle. */
  get isBusy(): boolean {
    return true;
  }

  #greet({ isResumed }: SessionEntrance): void {
    const { sessionId, createdAtMs, lastActivityMs, metadata } = this.#live;
    const session = {
      sessionId,
      createdAt: new Date(createdAtMs).toISOString(),
      lastActivityAt: new Date(lastActivityMs).toISOString(),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    };
    this.#tell(sessionStarted({ session, ...(isResumed && { isResumed }) }));
  }

  /** A message came. Never rejects. */
  async receive(bytes: Uint8Array): Promise<void> {
    if (!this.#isOpen) return;
    this.#live.touch();
    try {
      const { settings } = this.#live;
      const request = decodeSessionRunInput(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(), {
        maxBytes: settings.maxMessageBytes,
      });
      this.#parts.take();
      this.#parts.sessions.take(this.#live);
      this.#accept({ request, bytes: bytes.length });
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Begins a request, or lets it wait. Throws `queue-full`. */
  #accept(waiting: Waiting): void {
    const { settings } = this.#live;
    const { maxQueued } = settings;
    const isSideBySide = settings.concurrency === "concurrent";
    const mayBegin = this.#active === 0 || (isSideBySide && this.#active <= maxQueued);
    if (mayBegin) return this.#begin(() => this.#answer(waiting.request));
    if (isSideBySide || this.#waiting.length >= maxQueued) throw queueFull(this.#live.sessionId, maxQueued);
    this.#waiting.push(waiting);
    this.#live.waitingBytes += waiting.bytes;
    this.#parts.sessions.makeRoom(this.#live);
    this.#tell(queuedEvent(this.#live.sessionId));
  }

  #begin(work: () => Promise<void>): void {
    this.#active += 1;
    const done = this.#work(work).finally(() => this.#works.delete(done));
    this.#works.add(done);
  }

  /** Never rejects. */
  async #work(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#failed(error);
    }
    this.#active -= 1;
    const next = this.#isOpen ? this.#waiting.shift() : undefined;
    if (next === undefined) return;
    this.#live.waitingBytes -= next.bytes;
    this.#begin(() => this.#answer(next.request));
  }

  async #answer(request: SessionRunInput): Promise<void> {
    const live = await this.#sessionOf(request);
    if (!this.#isOpen) return;
    await this.#pass(
      live,
      this.#parts.sessions.process(live, request, { signal: this.#gone.signal, around: this.#parts.around }),
    );
  }

  /** A run that was under way when the client came back. */
  #retell(runId: string): Promise<void> {
    return this.#pass(this.#live, this.#parts.sessions.retell(this.#live, runId, this.#gone.signal));
  }

  async #pass({ settings }: LiveSession, events: AsyncIterable<SessionEvent>): Promise<void> {
    let failure: AgentErrorInfo | undefined;
    for await (const event of events) {
      if (event.type === "agent-error") failure = event.data.error;
      if (!(await this.#parts.wire.write(frameOf(encodeSessionEvent(event))))) return;
    }
    if (!this.#isOpen || this.#gone.signal.aborted) return;
    if (failure !== undefined && settings.onAgentError === "end") this.#finish({ reason: "error", error: failure });
    else if (settings.endAfterResponse) this.#finish({ reason: "completed" });
  }

  /** The session that a request is for: another than the one that the socket stands in is entered first. */
  async #sessionOf({ sessionId }: SessionRunInput): Promise<LiveSession> {
    if (sessionId === undefined || sessionId === this.#live.sessionId) return this.#live;
    const { sessions } = this.#parts;
    const entrance = await sessions.entrance(this.#live.endpoint, sessionId);
    if (!this.#isOpen) return this.#live;
    const before = this.#live;
    this.#live = sessions.enter(entrance);
    this.#deaf();
    this.#deaf = this.#live.listen((end) => this.#finish(end));
    // What waits on this socket waits in the session where it stands.
    this.#live.waitingBytes += this.#waitingBytes;
    before.waitingBytes -= this.#waitingBytes;
    sessions.leave(before);
    this.#greet(entrance);
    sessions.take(this.#live);
    return this.#live;
  }

  get #waitingBytes(): number {
    return this.#waiting.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #tell(event: SessionEvent): void {
    if (this.#isOpen) this.#parts.wire.send(encodeSessionEvent(event));
  }

  /** Tells of a failure outside of a run. One that cannot be recovered from ends the session. */
  #failed(error: unknown): void {
    if (!this.#isOpen) return;
    const failure = error instanceof HeddleError ? error : this.#parts.faultOf(error);
    const isLost = failure.code === "thread-unknown" && this.#isOwn(failure);
    const isFatal = isLost || (failure.status >= 500 && !failure.retryable);
    this.#tellError(failure, isFatal);
    if (isFatal) this.#finish(endedBy(failure), closeCodeOf(failure));
  }

  /** Whether it is the socket's own session that is not there any more. */
  #isOwn({ details }: HeddleError): boolean {
    return this.#live.isStored && "threadId" in details && details.threadId === this.#live.sessionId;
  }

  #tellError(error: HeddleError, isFatal: boolean): void {
    this.#parts.onRefusal(error);
    const { code, message, details } = error;
    this.#tell(sessionError(this.#live.sessionId, { code, message, details: { ...details }, isFatal }));
  }

  #expire(): void {
    const message = "Who you are was shown for a time that is over: connect again with a new token.";
    const failure = new HeddleError("unauthenticated", message, { reason: "expired" });
    this.#tellError(failure, true);
    this.#finish(endedBy(failure), CLOSE.tokenExpired);
  }

  /** Ends the session for this socket, which hears of it, and the socket. */
  #finish(end: SessionEndedData, code = CODES[end.reason]): void {
    if (!this.#isOpen) return;
    const last = sessionEnded(this.#live.sessionId, end);
    this.gone();
    this.#parts.wire.send(encodeSessionEvent(last));
    this.#parts.wire.close(code, end.error?.code ?? end.reason);
  }

  /** Ends the socket with an error. */
  fail(error: HeddleError): void {
    if (!this.#isOpen) return;
    this.#tellError(error, true);
    this.#finish(endedBy(error), closeCodeOf(error));
  }

  /** Nothing is begun any more; resolves when what is under way has ended, and was told. */
  async drained(): Promise<void> {
    this.#forgetWaiting();
    await Promise.all(this.#works);
  }

  /** Ends the socket. */
  end(code: number): void {
    this.#finish({ reason: REASONS.get(code) ?? "error" }, code);
  }

  /** The socket is gone: the queue goes, and the session with it. */
  gone(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#outlive?.();
    this.#deaf();
    this.#gone.abort();
    this.#forgetWaiting();
    this.#parts.sessions.leave(this.#live);
  }

  #forgetWaiting(): void {
    this.#live.waitingBytes -= this.#waitingBytes;
    this.#waiting.length = 0;
  }
}

const endedBy = ({ code, message }: HeddleError): SessionEndedData => ({ reason: "error", error: { code, message } });

function queueFull(sessionId: string, limit: number): HeddleError {
  const message = `${limit} requests wait in this session already: send more when some are answered.`;
  return new HeddleError("queue-full", message, { threadId: sessionId, limit });
}

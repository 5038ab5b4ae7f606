/**
 * One socket of the dialect `heddle.v1`: what its client asks, and what it is told. Many threads, one attachment for each.
 *
 * It knows no WebSocket library: a wire takes texts and whole frames, and says when they are taken. Nothing is queued but what
 * is under way; a client that takes nothing is let go. What is asked is answered when it is done, under the `ref` that it
 * came with; what is asked to follow one thread is done in its order, and the answer is where the new takes the place of the
 * old. When the socket is gone, so is everything that was followed, and nothing else.
 */
import { HeddleError } from "../../protocol/index.ts";
import { callAt } from "../call-at.ts";
import { serverClosing } from "../http/index.ts";
import { followStarted } from "../index.ts";
import type { AttachOptions, Attachment, Conversations, Heddle, Principal } from "../index.ts";
import { askedInput, askedStart, threadOf } from "./asked-run.ts";
import type { RunFrame } from "./asked-run.ts";
import { CLOSE, closeCodeOf, closeReasonOf } from "./close-codes.ts";
import { readClientFrame, readFrameJson, refOf } from "./client-frames.ts";
import type { ClientFrame } from "./client-frames.ts";
import type { EventFrames } from "./event-frames.ts";
import { Turns } from "./turns.ts";
import { writeFrames } from "./write-frames.ts";
import type { Write } from "./write-frames.ts";

/** What a socket is written to. */
export interface Wire {
  /** Sends a text, behind all that was sent and written before. */
  send(text: string): void;
  /** Sends whole frames. */
  readonly write: Write;
  /** Ends the socket. */
  close(code: number, reason: string): void;
}

/** Whoever serves a socket. */
export interface SocketUser {
  /** Whether anything is under way or followed. */
  readonly isBusy: boolean;
  /** A frame came. Never rejects. */
  receive(bytes: Uint8Array): Promise<void>;
  /** Ends the socket with an error. */
  fail(error: HeddleError): void;
  /** Ends the socket: says what there is to say, and closes the wire. */
  end(code: number, reason: string): void;
  /** Resolves when what is under way has ended, and was told so. */
  drained(): Promise<void>;
  /** The socket is gone. */
  gone(): void;
}

/** What a socket is served with. */
export interface SocketDeskParts {
  /** The server. */
  readonly server: Heddle;
  /** The forms of threads. */
  readonly frames: EventFrames;
  /** Finds out who shows a token; absent where nobody is asked who they are. */
  readonly authenticate?: ((token: string) => Promise<Principal>) | undefined;
  /** Takes a request of somebody, or throws `rate-limited`. */
  readonly take: (principal: Principal) => void;
  /** Does something under the headers that agents may read, with the newest token that was shown here, if there was one. */
  readonly underHeaders: <T>(token: string | undefined, work: () => T) => T;
  /** Largest frame of a client, in bytes. */
  readonly maxFrameBytes: number;
  /** Told of what was changed in a run input. */
  readonly onWarnings: (
    warnings: readonly unknown[],
    run: { readonly threadId: string; readonly runId: string },
  ) => void;
  /** Told of a failure that is nobody's fault but ours; gives the error for the client. */
  readonly faultOf: (error: unknown) => HeddleError;
}

type FrameOf<T extends ClientFrame["type"]> = Extract<ClientFrame, { readonly type: T }>;

/** Answers a request, once. */
type Answer = (fields: object) => void;

/** What of a thread is followed. */
interface Followed {
  readonly thread: string;
  readonly run: string | undefined;
  /** Aborts when it is followed no more. */
  readonly gone: AbortController;
}

/** So many requests may be under way on one socket. */
const MAX_ASKED = 64;

/** So many threads may be followed on one socket. */
const MAX_FOLLOWED = 1024;

/** Serves one socket. */
export class SocketDesk implements SocketUser {
  readonly #parts: SocketDeskParts;
  readonly #wire: Wire;
  readonly #followed = new Map<string, Followed>();
  readonly #turns = new Turns();
  readonly #pumps = new Set<Promise<void>>();
  #principal: Principal;
  #heddle: Conversations;
  #token: string | undefined;
  #outlive: (() => void) | undefined;
  #asked = 0;
  #isOpen = true;

  constructor(parts: SocketDeskParts, principal: Principal, wire: Wire) {
    this.#parts = parts;
    this.#wire = wire;
    this.#principal = principal;
    this.#heddle = this.#actingAs(principal);
  }

  /** Whether anything is under way or followed. */
  get isBusy(): boolean {
    return this.#asked > 0 || this.#followed.size > 0;
  }

  /** The token's end is the socket's, not that of each thing that is followed: a newer one may be shown meanwhile. */
  #actingAs(principal: Principal): Conversations {
    const { expiresAtMs, ...lasting } = principal;
    this.#outlive?.();
    this.#outlive =
      expiresAtMs === undefined ? undefined : callAt(expiresAtMs, () => this.end(CLOSE.tokenExpired, "token expired"));
    return this.#parts.server.as(lasting);
  }

  /** A frame came. Never rejects. What comes behind the end of the socket counts for nothing. */
  async receive(bytes: Uint8Array): Promise<void> {
    if (!this.#isOpen) return;
    const { maxFrameBytes } = this.#parts;
    if (bytes.length > maxFrameBytes) return this.fail(tooLarge(maxFrameBytes, bytes.length));
    let ref: string | undefined;
    try {
      const value = this.#read(bytes);
      ref = refOf(value);
      this.#parts.take(this.#principal);
      const frame = readClientFrame(value);
      if (frame.type === "ping") return this.#tell({ type: "pong", ref });
      if (this.#parts.server.closing) throw serverClosing();
      if (this.#asked >= MAX_ASKED) throw tooMany();
      this.#asked += 1;
      try {
        await this.#answer(frame, (fields) => this.#tell({ type: "ok", ref, ...fields }));
      } finally {
        this.#asked -= 1;
      }
    } catch (error) {
      this.#tell({ type: "error", ref, ...this.#failure(error).toJSON() });
    }
  }

  /** What cannot be read counts too. */
  #read(bytes: Uint8Array): unknown {
    try {
      return readFrameJson(bytes, this.#parts.maxFrameBytes);
    } catch (error) {
      this.#parts.take(this.#principal);
      throw error;
    }
  }

  #failure(error: unknown): HeddleError {
    const failure = error instanceof HeddleError ? error : this.#parts.faultOf(error);
    this.#parts.server.telemetry.rejected(failure.code);
    return failure;
  }

  #tell(frame: object): void {
    if (this.#isOpen) this.#wire.send(JSON.stringify(frame));
  }

  async #answer(frame: Exclude<ClientFrame, { readonly type: "ping" }>, ok: Answer): Promise<void> {
    switch (frame.type) {
      case "run":
      case "answer":
        return this.#run(frame, ok);
      case "attach":
        return this.#attach(frame, ok);
      case "detach":
        return this.#turns.take(frame.thread, () => {
          this.#leave(frame.thread);
          ok({ thread: frame.thread });
        });
      case "cancel": {
        const { threadId: thread, runId: run, status } = await this.#heddle.cancel(frame.thread, frame.run);
        return ok({ thread, run, status });
      }
      case "claim": {
        const { thread, call, holder, leaseMs } = frame;
        const { untilMs } = await this.#heddle.threads.claimToolCall(thread, call, { holder, leaseMs });
        return ok({ thread, call, until: new Date(untilMs).toISOString() });
      }
      case "auth":
        return ok(await this.#refresh(frame.token));
    }
  }

  async #run(frame: RunFrame, ok: Answer): Promise<void> {
    const { underHeaders, onWarnings } = this.#parts;
    if (frame.attach !== false) this.#needRoom(threadOf(frame));
    const started = await underHeaders(this.#token, () =>
      this.#heddle.start(frame.agent, askedInput(frame), askedStart(frame)),
    );
    const { joined, queued, warnings } = started;
    const { threadId: thread, runId: run } = started.run;
    if (warnings.length > 0) onWarnings(warnings, started.run);
    const fields = { thread, run, joined, queued, ...(warnings.length > 0 && { warnings }) };
    if (frame.attach === false) return ok(fields);
    // Frames name the run as the log does.
    const place = { ...followStarted(started, frame), runAs: run };
    await this.#follow(thread, { ...place, ...showOptions(frame) }, () => ok(fields));
  }

  async #attach(frame: FrameOf<"attach">, ok: Answer): Promise<void> {
    const { thread, after, run: runId, head, all, follow, prelude, onGap } = frame;
    const options = { after, runId, head, all, follow, prelude, onGap, ...showOptions(frame) };
    await this.#follow(thread, options, ({ reset, finished }) => ok({ thread, reset, finished }));
  }

  /** Follows a thread in place of what of it was followed before, from the answer on; what is refused changes nothing. */
  #follow(thread: string, options: AttachOptions, ok: (attachment: Attachment) => void): Promise<void> {
    return this.#turns.take(thread, async () => {
      this.#needRoom(thread);
      const followed = { thread, run: options.runId, gone: new AbortController() };
      const attachment = await this.#judged({ ...options, signal: followed.gone.signal }, thread);
      if (!this.#isOpen) return followed.gone.abort();
      this.#leave(thread);
      this.#followed.set(thread, followed);
      ok(attachment);
      const pump = this.#pump(followed, attachment).finally(() => this.#pumps.delete(pump));
      this.#pumps.add(pump);
    });
  }

  #needRoom(thread: unknown): void {
    const isFollowed = typeof thread === "string" && this.#followed.has(thread);
    if (!isFollowed && this.#followed.size >= MAX_FOLLOWED) throw followsTooMuch();
  }

  /** Under the newest token: one that was shown meanwhile may have other roles. */
  async #judged(options: AttachOptions, thread: string): Promise<Attachment> {
    const heddle = this.#heddle;
    const attachment = await heddle.attach(thread, options);
    return heddle === this.#heddle ? attachment : this.#judged(options, thread);
  }

  /** Never rejects. */
  async #pump(followed: Followed, attachment: Attachment): Promise<void> {
    const { thread, gone } = followed;
    const { frames } = this.#parts;
    const tell = (frame: object): void => {
      if (!gone.signal.aborted) this.#tell(frame);
    };
    try {
      const events = attachment.frames(frames.enter(thread), () => tell({ type: "caught-up", thread }));
      await writeFrames(events, (bytes) => !gone.signal.aborted && this.#wire.write(bytes));
      tell(endOf(followed));
    } catch (error) {
      if (!gone.signal.aborted) tell({ ...endOf(followed), ...this.#failure(error).toJSON() });
    } finally {
      frames.leave(thread);
      // However it ended: who follows no more counts no more among those who read a run.
      gone.abort();
      if (this.#followed.get(thread) === followed) this.#followed.delete(thread);
    }
  }

  #leave(thread: string): void {
    this.#followed.get(thread)?.gone.abort();
    this.#followed.delete(thread);
  }

  /** A newer token of the same principal. Roles may be others, which ends what was followed under the old ones. */
  async #refresh(token: string): Promise<object> {
    const { authenticate } = this.#parts;
    if (authenticate === undefined) return {};
    const { tenant, user, roles } = this.#principal;
    const principal = await authenticate(token);
    if (principal.tenant !== tenant || principal.user !== user) {
      const message = "The token is of somebody else: open another socket with it.";
      throw new HeddleError("unauthenticated", message, {});
    }
    if (!this.#isOpen) return {};
    this.#token = token;
    this.#principal = principal;
    this.#heddle = this.#actingAs(principal);
    if (principal.roles.toSorted().join() !== roles.toSorted().join()) this.#endAll();
    const { expiresAtMs } = principal;
    return expiresAtMs === undefined ? {} : { expiresAt: new Date(expiresAtMs).toISOString() };
  }

  #endAll(): void {
    for (const followed of this.#followed.values()) {
      this.#leave(followed.thread);
      this.#tell(endOf(followed));
    }
  }

  /** Ends the socket with an error. */
  fail(error: HeddleError): void {
    this.#parts.server.telemetry.rejected(error.code);
    this.end(closeCodeOf(error), closeReasonOf(error));
  }

  /** Ends the socket. */
  end(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.gone();
    this.#wire.close(code, reason);
  }

  /** Resolves when everything that is followed now has ended, and was told so. */
  async drained(): Promise<void> {
    await Promise.all(this.#pumps);
  }

  /** The socket is gone: nothing is followed any more. */
  gone(): void {
    this.#isOpen = false;
    this.#outlive?.();
    for (const thread of this.#followed.keys()) this.#leave(thread);
  }
}

const endOf = ({ thread, run }: Followed): object => ({ type: "ended", thread, run });

const showOptions = ({
  protocol,
  meta,
  raw,
}: Pick<FrameOf<"attach">, "protocol" | "meta" | "raw">): Pick<AttachOptions, "peer" | "meta" | "raw"> => ({
  ...(protocol !== undefined && { peer: { version: protocol } }),
  meta,
  raw,
});

function tooLarge(allowed: number, actual: number): HeddleError {
  const message = `The frame is larger than ${allowed} bytes.`;
  return new HeddleError("limit-exceeded", message, { limit: "frame", allowed, actual });
}

function tooMany(): HeddleError {
  const message = `${MAX_ASKED} requests are under way on this socket: wait for answers.`;
  return new HeddleError("rate-limited", message, { limit: "socket", retryAfterMs: 1000 });
}

function followsTooMuch(): HeddleError {
  const message = `${MAX_FOLLOWED} threads are followed on this socket: detach from one, or open another socket.`;
  return new HeddleError("limit-exceeded", message, {
    limit: "threads of a socket",
    allowed: MAX_FOLLOWED,
    actual: MAX_FOLLOWED + 1,
  });
}

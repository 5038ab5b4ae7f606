/**
 * One socket of the dialect `heddle.v1`: what its client asks, and what it is told. Many threads, one attachment for each.
 *
 * It knows no WebSocket library: a wire takes texts and whole frames, and says when they are taken. Nothing is queued but what
 * is under way; a client that takes nothing is let go. What is asked is answered in the order in which it is done, under
 * the `ref` that it came with. When the socket is gone, so is everything that was followed, and nothing else.
 */
import { HeddleError, PROTOCOL_VERSION } from "../../protocol/index.ts";
import type { RunAgentInput } from "../../protocol/index.ts";
import { ROOT, followStarted } from "../index.ts";
import type { AttachOptions, Attachment, Conversations, Heddle, Principal, StartOptions } from "../index.ts";
import { CLOSE, closeCodeOf, closeReasonOf } from "./close-codes.ts";
import { readClientFrame, readFrameJson, refOf } from "./client-frames.ts";
import type { ClientFrame } from "./client-frames.ts";
import type { EventFrames } from "./event-frames.ts";

/** What a socket is written to. */
export interface Wire {
  /** Sends a text, whenever it goes out. */
  send(text: string): void;
  /** Sends whole frames, and resolves when they are taken: to true, or to false where nobody is there any more. */
  write(frames: Uint8Array): Promise<boolean>;
  /** Ends the socket. */
  close(code: number, reason: string): void;
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
  /** Largest frame of a client, in bytes. */
  readonly maxFrameBytes: number;
  /** Told of a failure that is nobody's fault but ours; gives the error for the client. */
  readonly faultOf: (error: unknown) => HeddleError;
}

type FrameOf<T extends ClientFrame["type"]> = Extract<ClientFrame, { readonly type: T }>;

/** So many requests may be under way on one socket. */
const MAX_ASKED = 64;

/** Longest time that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Serves one socket. */
export class SocketDesk {
  readonly #parts: SocketDeskParts;
  readonly #wire: Wire;
  readonly #attached = new Map<string, AbortController>();
  #principal: Principal;
  #heddle: Conversations;
  #expiry: NodeJS.Timeout | undefined;
  #asked = 0;
  #isOpen = true;

  constructor(parts: SocketDeskParts, principal: Principal, wire: Wire) {
    this.#parts = parts;
    this.#wire = wire;
    this.#principal = principal;
    this.#heddle = this.#actingAs(principal);
  }

  /** How many threads are followed. */
  get attached(): number {
    return this.#attached.size;
  }

  /** Whether anything is under way or followed. */
  get isBusy(): boolean {
    return this.#asked > 0 || this.#attached.size > 0;
  }

  /** The token's end is the socket's, not that of each thing that is followed: a newer one may be shown meanwhile. */
  #actingAs(principal: Principal): Conversations {
    const { expiresAtMs, ...lasting } = principal;
    clearTimeout(this.#expiry);
    if (expiresAtMs !== undefined) {
      const waitMs = Math.min(MAX_TIMER_MS, Math.max(0, expiresAtMs - Date.now()));
      this.#expiry = setTimeout(() => this.end(CLOSE.tokenExpired, "token expired"), waitMs).unref();
    }
    return this.#parts.server.as(lasting);
  }

  /** A frame came. Never rejects. */
  async receive(bytes: Uint8Array): Promise<void> {
    let ref: string | undefined;
    try {
      const value = readFrameJson(bytes, this.#parts.maxFrameBytes);
      ref = refOf(value);
      const frame = readClientFrame(value);
      if (frame.type === "ping") return this.#tell({ type: "pong", ref });
      if (this.#asked >= MAX_ASKED) throw tooMany();
      this.#parts.take(this.#principal);
      this.#asked += 1;
      try {
        this.#tell({ type: "ok", ref, ...(await this.#answer(frame)) });
      } finally {
        this.#asked -= 1;
      }
    } catch (error) {
      const failure = error instanceof HeddleError ? error : this.#parts.faultOf(error);
      this.#tell({ type: "error", ref, ...failure.toJSON() });
    }
  }

  #tell(frame: object): void {
    if (this.#isOpen) this.#wire.send(JSON.stringify(frame));
  }

  async #answer(frame: Exclude<ClientFrame, { readonly type: "ping" }>): Promise<object> {
    switch (frame.type) {
      case "run":
        return this.#run(frame.agent, frame.input, frame);
      case "answer":
        return this.#run(frame.agent, inputOf(frame), frame);
      case "attach":
        return this.#attach(frame);
      case "detach":
        this.#detach(frame.thread);
        return { thread: frame.thread };
      case "cancel": {
        const { threadId: thread, runId: run, status } = await this.#heddle.cancel(frame.thread, frame.run);
        return { thread, run, status };
      }
      case "claim": {
        const { thread, call, holder, leaseMs } = frame;
        const { untilMs } = await this.#heddle.threads.claimToolCall(thread, call, { holder, leaseMs });
        return { thread, call, until: new Date(untilMs).toISOString() };
      }
      case "auth":
        return this.#refresh(frame.token);
    }
  }

  async #run(agent: string, input: object, frame: FrameOf<"run"> | FrameOf<"answer">): Promise<object> {
    // A socket speaks the current version, whatever its inputs say.
    const body = { ...input, protocolVersion: PROTOCOL_VERSION };
    const started = await this.#heddle.start(agent, body, startOptions(frame));
    const { threadId: thread, runId: run } = started.run;
    const { joined, queued, warnings } = started;
    if (frame.attach !== false) {
      await this.#follow(thread, { ...followStarted(started, frame), ...showOptions(frame) });
    }
    return { thread, run, joined, queued, ...(warnings.length > 0 && { warnings }) };
  }

  async #attach(frame: FrameOf<"attach">): Promise<object> {
    const { thread, after, run: runId, head, all, follow, prelude, onGap } = frame;
    const options = { after, runId, head, all, follow, prelude, onGap, ...showOptions(frame) };
    const { reset, finished } = await this.#follow(thread, options);
    return { thread, reset, finished };
  }

  /** Follows a thread in place of what of it was followed before. */
  async #follow(thread: string, options: AttachOptions): Promise<Attachment> {
    this.#detach(thread);
    const gone = new AbortController();
    this.#attached.set(thread, gone);
    try {
      const attachment = await this.#heddle.attach(thread, { ...options, signal: gone.signal });
      // The answer goes first.
      setImmediate(() => void this.#pump(thread, options.runId, attachment, gone));
      return attachment;
    } catch (error) {
      this.#forget(thread, gone);
      throw error;
    }
  }

  /** Never rejects. */
  async #pump(thread: string, run: string | undefined, attachment: Attachment, gone: AbortController): Promise<void> {
    const { frames, faultOf } = this.#parts;
    const encoding = frames.enter(thread);
    const caughtUp = (): void => this.#tell({ type: "caught-up", thread });
    try {
      for await (const bytes of attachment.frames(encoding, caughtUp)) {
        if (!(await this.#wire.write(bytes))) return;
      }
      if (!gone.signal.aborted) this.#tell({ type: "ended", thread, run });
    } catch (error) {
      const failure = error instanceof HeddleError ? error : faultOf(error);
      if (!gone.signal.aborted) this.#tell({ type: "ended", thread, run, ...failure.toJSON() });
    } finally {
      frames.leave(thread);
      this.#forget(thread, gone);
    }
  }

  #detach(thread: string): void {
    this.#attached.get(thread)?.abort();
    this.#attached.delete(thread);
  }

  #forget(thread: string, gone: AbortController): void {
    if (this.#attached.get(thread) === gone) this.#attached.delete(thread);
  }

  /** A newer token of the same principal: roles may be others, tenant and user may not. */
  async #refresh(token: string): Promise<object> {
    const { authenticate } = this.#parts;
    if (authenticate === undefined) return {};
    const { tenant, user } = this.#principal;
    const principal = await authenticate(token);
    if (principal.tenant !== tenant || principal.user !== user) {
      const message = "The token is of somebody else: open another socket with it.";
      throw new HeddleError("unauthenticated", message, {});
    }
    this.#principal = principal;
    this.#heddle = this.#actingAs(principal);
    const { expiresAtMs } = principal;
    return expiresAtMs === undefined ? {} : { expiresAt: new Date(expiresAtMs).toISOString() };
  }

  /** Ends the socket with an error. */
  fail(error: HeddleError): void {
    this.end(closeCodeOf(error), closeReasonOf(error));
  }

  /** Ends the socket. */
  end(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.gone();
    this.#wire.close(code, reason);
  }

  /** The socket is gone: nothing is followed any more. */
  gone(): void {
    this.#isOpen = false;
    clearTimeout(this.#expiry);
    for (const attached of this.#attached.values()) attached.abort();
    this.#attached.clear();
  }
}

function startOptions(frame: FrameOf<"run"> | FrameOf<"answer">): StartOptions {
  const holds = frame.after !== undefined;
  if (frame.type === "answer") return { holds };
  const { onBusy, onDisconnect, parent } = frame;
  return {
    holds,
    ...(onDisconnect === "cancel" && { onDisconnect }),
    ...(onBusy !== undefined && { onBusy }),
    ...(parent !== undefined && { parent: parent === "root" ? ROOT : parent }),
  };
}

const showOptions = ({
  protocol,
  meta,
  raw,
}: Pick<FrameOf<"attach">, "protocol" | "meta" | "raw">): Pick<AttachOptions, "peer" | "meta" | "raw"> => ({
  ...(protocol !== undefined && { peer: { version: protocol } }),
  meta,
  raw,
});

/** Answers as the input of a run. What is no result is left for whoever judges the input. */
function inputOf({ thread, run, resume, results = [], tools }: FrameOf<"answer">): Partial<RunAgentInput> & object {
  return JSON.parse(
    JSON.stringify({
      threadId: thread,
      runId: run ?? crypto.randomUUID(),
      resume,
      tools,
      messages: results.map(resultMessage),
    }),
  );
}

function resultMessage(result: unknown): unknown {
  if (typeof result !== "object" || result === null) return result;
  const toolCallId: unknown = Reflect.get(result, "toolCallId");
  return { id: `result-${String(toolCallId)}`, ...result, role: "tool" };
}

function tooMany(): HeddleError {
  const message = `${MAX_ASKED} requests are under way on this socket: wait for answers.`;
  return new HeddleError("rate-limited", message, { limit: "socket", retryAfterMs: 1000 });
}

/**
 * Threads by WebSocket (`heddle.v1`): one socket for all threads of a client. Where none can be had, everything goes by HTTP
 * from then on. A socket that breaks cuts every thread that it carries; each goes on behind its own cursor.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Frame } from "../protocol/index.ts";
import { toldError, unreachable } from "./http.ts";
import type { Http } from "./http.ts";
import type { Arrival, FollowRequest, StartRequest, Started, Transport } from "./transport.ts";

interface ServerFrame {
  readonly type: string;
  readonly ref?: string;
  readonly thread?: string;
  readonly run?: string;
  readonly id?: string;
  readonly event?: unknown;
  readonly error?: unknown;
}

/** The way by WebSocket. */
export class WsTransport implements Transport {
  readonly #http: Http;
  readonly #idleMs: number;
  readonly #fallback: Transport;
  #socket: Promise<Line> | undefined;
  #isImpossible = typeof WebSocket === "undefined";
  #wasOpen = false;

  constructor(http: Http, idleMs: number, fallback: Transport) {
    this.#http = http;
    this.#idleMs = idleMs;
    this.#fallback = fallback;
  }

  /** Follows a branch until the server ends it. */
  async follow(request: FollowRequest, signal: AbortSignal): Promise<AsyncIterable<Arrival>> {
    const line = await this.#line();
    if (line === undefined) return this.#fallback.follow(request, signal);
    const { threadId: thread, ...from } = request;
    const channel = line.channel(thread, signal);
    await channel.ask({ type: "attach", thread, ...from });
    return channel.arrivals();
  }

  /** Starts a run, and follows it to its end. */
  async start(request: StartRequest, signal: AbortSignal): Promise<Started> {
    const line = await this.#line();
    if (line === undefined) return this.#fallback.start(request, signal);
    const channel = line.channel(request.input.threadId, signal);
    const { run = request.input.runId } = await channel.ask(runFrame(request));
    return { runId: run, arrivals: channel.arrivals() };
  }

  /** Starts a run whose events come to whoever follows its branch, and gives its id in the log. */
  async begin(request: StartRequest, signal: AbortSignal): Promise<string> {
    const line = await this.#line();
    if (line === undefined) return this.#fallback.begin(request, signal);
    const { run = request.input.runId } = await line.ask({ ...runFrame(request), attach: false });
    return run;
  }

  /** Closes the socket. */
  close(): void {
    void this.#socket?.then((line) => line.close()).catch(() => undefined);
    this.#socket = undefined;
  }

  /** The socket, or undefined where everything goes by HTTP. */
  async #line(): Promise<Line | undefined> {
    if (this.#isImpossible) return undefined;
    this.#socket ??= this.#open();
    const opening = this.#socket;
    try {
      const line = await opening;
      if (line.isOpen) return line;
      if (this.#socket === opening) this.#socket = undefined;
      return await this.#line();
    } catch (error) {
      if (this.#socket === opening) this.#socket = undefined;
      // One that was there before will be again; one that never was is blocked by something on the way.
      if (error instanceof HeddleError && (error.code !== "server-unreachable" || this.#wasOpen)) throw error;
      this.#isImpossible = true;
      return undefined;
    }
  }

  async #open(): Promise<Line> {
    const token = await this.#http.token();
    const ticket =
      token === undefined
        ? undefined
        : (await this.#http.json<{ readonly ticket: string }>("/tickets", { method: "POST" })).ticket;
    const query = ticket === undefined ? "" : `?ticket=${encodeURIComponent(ticket)}`;
    const socket = new WebSocket(`${this.#http.url.replace(/^http/, "ws")}/ws${query}`, "heddle.v1");
    const line = new Line(socket, this.#idleMs);
    await line.opened;
    this.#wasOpen = true;
    return line;
  }
}

const runFrame = ({ agent, input, parent, onBusy, after }: StartRequest): object => ({
  type: "run",
  agent,
  input,
  parent,
  onBusy,
  after,
});

interface Asked extends PromiseWithResolvers<ServerFrame> {
  readonly onAnswer: (() => void) | undefined;
}

/** One socket. */
class Line {
  readonly opened: Promise<void>;
  readonly #socket: WebSocket;
  readonly #asked = new Map<string, Asked>();
  readonly #channels = new Map<string, Channel>();
  readonly #beat: ReturnType<typeof setInterval>;
  #count = 0;
  #heard = true;

  constructor(socket: WebSocket, idleMs: number) {
    this.#socket = socket;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.opened = promise;
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("message", ({ data }) => this.#take(JSON.parse(String(data))));
    socket.addEventListener("close", ({ code, reason }) => {
      const error = closeError(code, reason);
      reject(error);
      this.#end(error);
    });
    // A socket that is dead in both directions closes by itself only after minutes.
    this.#beat = setInterval(() => this.#look(), idleMs / 2);
  }

  get isOpen(): boolean {
    return this.#socket.readyState <= 1;
  }

  close(): void {
    this.#socket.close();
  }

  /** Sends a frame, and gives the answer to it; `onAnswer` is called before anything behind the answer is looked at. */
  ask(frame: object, onAnswer?: () => void): Promise<ServerFrame> {
    if (!this.isOpen) return Promise.reject(unreachable());
    const ref = String(++this.#count);
    const asked = { ...Promise.withResolvers<ServerFrame>(), onAnswer };
    this.#asked.set(ref, asked);
    this.#socket.send(JSON.stringify({ ...frame, ref }));
    return asked.promise;
  }

  /** What comes of a thread from now on, in place of whoever had it before. */
  channel(thread: string, signal: AbortSignal): Channel {
    const channel = new Channel(this, thread, signal);
    this.#channels.set(thread, channel);
    return channel;
  }

  /** Nobody takes what comes of a thread any more. */
  leave(thread: string, channel: Channel): void {
    if (this.#channels.get(thread) !== channel) return;
    this.#channels.delete(thread);
    if (this.isOpen) this.#socket.send(JSON.stringify({ type: "detach", thread }));
  }

  #take(frame: ServerFrame): void {
    this.#heard = true;
    const { ref, thread } = frame;
    if (ref !== undefined) {
      const asked = this.#asked.get(ref);
      this.#asked.delete(ref);
      asked?.onAnswer?.();
      if (frame.type === "error") asked?.reject(toldError(frame));
      else asked?.resolve(frame);
    } else if (thread !== undefined) this.#channels.get(thread)?.push(frame);
  }

  #look(): void {
    if (!this.#heard) {
      this.#end(unreachable("nothing came for too long"));
      return this.#socket.close();
    }
    this.#heard = false;
    if (this.#socket.readyState === 1) this.#socket.send('{"type":"ping","ref":"ping"}');
  }

  #end(error: HeddleError): void {
    clearInterval(this.#beat);
    for (const asked of this.#asked.values()) asked.reject(error);
    this.#asked.clear();
    for (const channel of this.#channels.values()) channel.end(error);
    this.#channels.clear();
  }
}

/** A close that must not be tried again has 4000 and the status of its error; others should be. */
function closeError(code: number, reason: string): HeddleError {
  return code >= 4400 && code < 4600
    ? toldError({ error: { code: reason, message: reason } }, code - 4000)
    : unreachable(code);
}

/** The frames of one thread on a socket. */
class Channel {
  readonly #line: Line;
  readonly #thread: string;
  readonly #signal: AbortSignal;
  #frames: ServerFrame[] = [];
  #end: { readonly error: HeddleError | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(line: Line, thread: string, signal: AbortSignal) {
    this.#line = line;
    this.#thread = thread;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#left(), { once: true });
  }

  /** Asks for what this channel is for. What comes of the thread before the answer belongs to whoever was here before. */
  async ask(frame: object): Promise<ServerFrame> {
    try {
      // At once, as the frames behind the answer may be here already when anybody waits for it.
      const answer = await this.#line.ask(frame, () => (this.#frames = []));
      this.#signal.throwIfAborted();
      return answer;
    } catch (error) {
      this.#left();
      throw error;
    }
  }

  push(frame: ServerFrame): void {
    this.#frames.push(frame);
    this.#wake?.();
  }

  end(error?: HeddleError): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  #left(): void {
    this.#line.leave(this.#thread, this);
    this.end();
  }

  async *arrivals(): AsyncGenerator<Arrival, void, undefined> {
    try {
      for (;;) {
        const taken = this.#frames;
        this.#frames = [];
        if (taken.length > 0) yield arrivalOf(taken);
        const last = taken.at(-1);
        if (last?.type === "ended") {
          if (last.error !== undefined) throw toldError(last);
          return;
        }
        if (this.#frames.length > 0) continue;
        if (this.#end?.error !== undefined) throw this.#end.error;
        if (this.#end !== undefined) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#left();
    }
  }
}

function arrivalOf(taken: readonly ServerFrame[]): Arrival {
  const frames = taken.flatMap(({ type, id, event }): Frame[] => {
    if (type === "event") return [{ ...(id !== undefined && { id }), value: event }];
    return type === "moved" && id !== undefined ? [{ id }] : [];
  });
  return { frames, caughtUp: taken.some(({ type }) => type === "caught-up") };
}

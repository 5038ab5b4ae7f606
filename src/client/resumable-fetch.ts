/**
 * A `fetch` for clients that know nothing of cuts, such as the stock `HttpAgent`: the answer to a run that was posted is one
 * stream, over as many connections as it takes, with the frames that a connection without a cut would have brought.
 *
 * Only whole frames up to one with a cursor are passed on, so whatever a cut leaves behind comes again. Until there is a
 * cursor the post is repeated, which joins the run; from then on the log is followed, which can start nothing. A stream
 * whose run has not ended never ends well. What the server refuses is passed on as it is, and so is what is not a run.
 */
import { HeddleError, SSE_MEDIA_TYPE } from "../protocol/index.ts";
import { errorOf, unreachable } from "./http.ts";
import type { HttpOptions } from "./http.ts";
import { IdleWatch } from "./idle-watch.ts";
import { Retry } from "./retry.ts";
import type { RetryOptions } from "./retry.ts";

/** Options of `resumableFetch`. */
export interface ResumableFetchOptions extends Omit<HttpOptions, "url"> {
  /** How long a server may say nothing at all before it counts as gone. Default 25,000. */
  readonly idleMs?: number;
  /** How long to wait before coming back. */
  readonly retry?: RetryOptions;
  /** How long nothing may be gained before it gives up. Default 120,000. */
  readonly giveUpMs?: number;
}

/** Posts a run, and gives its events. */
export type RunFetch = (url: string, init?: RequestInit) => Promise<Response>;

/** A `fetch` whose answers survive cuts, for runs of the server at an address. */
export function resumableFetch(url: string, options: ResumableFetchOptions = {}): RunFetch {
  const server = url.replace(/\/+$/, "");
  return (target, init = {}) => new Resumed(server, options, target, init).response();
}

/** The version that a peer which names none is taken for. */
const UNDECLARED = "0.0.57";

const SHOWN = ["protocol", "meta", "raw"] as const;

/** One connection. */
interface Line {
  readonly response: Response;
  readonly watch: IdleWatch;
}

/** One run that was asked for. */
class Resumed {
  readonly #server: string;
  readonly #options: ResumableFetchOptions;
  readonly #target: string;
  readonly #init: RequestInit;
  readonly #retry: Retry;
  readonly #gone = new AbortController();
  readonly #signal: AbortSignal;
  #place = "";
  #after: string | undefined;
  #isOver = false;
  #gainedAtMs = performance.now();

  constructor(server: string, options: ResumableFetchOptions, target: string, init: RequestInit) {
    this.#server = server;
    this.#options = options;
    this.#target = target;
    this.#init = init;
    this.#retry = new Retry(options.retry ?? {}, typeof options.token === "function");
    const { signal } = this.#gone;
    this.#signal = init.signal ? AbortSignal.any([init.signal, signal]) : signal;
  }

  /** The answer, once its head is there. */
  async response(): Promise<Response> {
    const line = await this.#open();
    const { status, headers, body } = line.response;
    this.#place = headers.get("content-location") ?? "";
    const isRun = this.#place !== "" && headers.get("content-type")?.startsWith(SSE_MEDIA_TYPE);
    if (isRun !== true || body === null || typeof this.#init.body !== "string") {
      line.watch.end();
      return line.response;
    }
    const frames = this.#frames(line);
    const utf8 = new TextEncoder();
    const whole = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await frames.next();
        if (done === true) controller.close();
        else controller.enqueue(utf8.encode(value));
      },
      cancel: () => this.#gone.abort(),
    });
    return new Response(whole, { status, headers });
  }

  async *#frames(first: Line): AsyncGenerator<string, void, undefined> {
    for (let line = first; ;) {
      let failure = unreachable("the run has not ended");
      try {
        yield* this.#passed(line);
      } catch (error) {
        failure = unreachable(error);
      } finally {
        line.watch.end();
      }
      if (this.#isOver) return;
      line = await this.#open(failure);
    }
  }

  /** Whole frames, up to the newest that has a cursor. */
  async *#passed({ response: { body }, watch }: Line): AsyncGenerator<string, void, undefined> {
    const reader = body?.getReader();
    const decoder = new TextDecoder();
    let held = "";
    try {
      while (!this.#isOver) {
        const read = await reader?.read();
        if (read?.value === undefined) return;
        watch.heard();
        const text = decoder.decode(read.value, { stream: true });
        held += text;
        // A long line is looked at when it has ended.
        const length = text.includes("\n") ? this.#take(held) : 0;
        if (length > 0) yield held.slice(0, length);
        held = held.slice(length);
      }
    } finally {
      reader?.cancel().catch(() => undefined);
    }
  }

  /** How much of a text may be passed on; what it says of the run counts from then on. */
  #take(text: string): number {
    const end = text.lastIndexOf("\n\n") + 1;
    const at = end === 0 ? -1 : `\n${text}`.lastIndexOf("\nid: ", end);
    if (at === -1) return 0;
    const length = text.indexOf("\n\n", at) + 2;
    this.#after = text.slice(at + 4, text.indexOf("\n", at));
    this.#isOver = isOver(text.slice(0, length));
    this.#gainedAtMs = performance.now();
    this.#retry.gained();
    return length;
  }

  /** Opens a connection, after others that failed too. */
  async #open(last?: HeddleError): Promise<Line> {
    const { idleMs = 25_000, giveUpMs = 120_000 } = this.#options;
    for (let failure = last; ;) {
      if (failure !== undefined) {
        this.#signal.throwIfAborted();
        if (!this.#retry.helps(failure) || performance.now() - this.#gainedAtMs > giveUpMs) throw failure;
        await this.#retry.wait(this.#signal, failure);
      }
      const watch = new IdleWatch(idleMs, this.#signal);
      try {
        return { response: await this.#request(watch.signal, failure !== undefined), watch };
      } catch (error) {
        watch.end();
        failure = error instanceof HeddleError ? error : unreachable(error);
      }
    }
  }

  /** Posts until there is a cursor; then asks for what is behind it. */
  async #request(signal: AbortSignal, isAgain: boolean): Promise<Response> {
    signal.throwIfAborted();
    const { fetch: send = fetch, token } = this.#options;
    const held = typeof token === "function" ? await token() : token;
    const headers = new Headers(this.#init.headers);
    if (held !== undefined) headers.set("authorization", `Bearer ${held}`);
    const init = { ...this.#init, headers, signal };
    const response =
      this.#after === undefined
        ? await send(isAgain ? withQuery(this.#target, "replay=true") : this.#target, init)
        : await this.#attach(send, this.#after, init);
    const { status } = response;
    // Whoever stands before a server that is away for a while answers 502 to 504.
    if (status > 501 && status < 505) throw await errorOf(response);
    if (!isAgain) return response;
    if (status >= 400) throw await errorOf(response);
    if (status === 204) throw new HeddleError("run-ended", "The run has ended, and how was not seen.", {});
    return response;
  }

  #attach(send: typeof fetch, after: string, { headers, ...init }: RequestInit & { headers: Headers }) {
    const { runId, protocolVersion = UNDECLARED } = JSON.parse(String(this.#init.body));
    const asked = new URLSearchParams(this.#target.split("?")[1]);
    const [thread = "", , run = ""] = this.#place.split("/").slice(-3);
    const query = new URLSearchParams({ run: decodeURIComponent(run), as: runId, after, on_gap: "error" });
    query.set("protocol", protocolVersion);
    for (const name of SHOWN) {
      const value = asked.get(name);
      if (value !== null) query.set(name, value);
    }
    headers.delete("content-type");
    const { body: _body, ...rest } = init;
    return send(`${this.#server}/threads/${thread}/events?${query}`, { ...rest, method: "GET", headers });
  }
}

const withQuery = (url: string, more: string): string => `${url}${url.includes("?") ? "&" : "?"}${more}`;

/** Whether the terminal event is among some frames. */
function isOver(frames: string): boolean {
  if (!/"RUN_(?:FINISHED|ERROR)"/.test(frames)) return false;
  return frames.split("\n").some((line) => {
    if (!line.startsWith("data: ") || !/"RUN_(?:FINISHED|ERROR)"/.test(line)) return false;
    const { type } = JSON.parse(line.slice(6));
    return type === "RUN_FINISHED" || type === "RUN_ERROR";
  });
}

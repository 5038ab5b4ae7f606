/**
 * A `fetch` for clients that know nothing of cuts, such as the stock `HttpAgent`: the answer to a run that was posted is one
 * stream, over as many connections as it takes, with the frames that a connection without a cut would have brought.
 *
 * Only whole frames up to one with a cursor are passed on, so whatever a cut leaves behind comes again. Until there is a
 * cursor the post is repeated, which joins the run; from then on the log is followed, which can start nothing. A stream
 * whose run has not ended never ends well. What the server refuses is passed on as it is, and so is what is not a run.
 */
import { HeddleError, SSE_MEDIA_TYPE } from "../protocol/index.ts";
import { Http, errorOf, unreachable } from "./http.ts";
import type { HttpOptions, HttpRequest } from "./http.ts";
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
  const { fetch: send = fetch, retry = {} } = options;
  return async (target, init = {}) => {
    const { body, headers: _headers, signal: _signal, ...rest } = init;
    // What a page says of its requests, credentials for one, holds for all of them.
    const http = new Http({ ...options, url, fetch: (to, more) => send(to, { ...rest, ...more }) });
    const stream = new RunStream(http, new Retry(retry, http.renewsToken), options, target, init);
    const line = await stream.open();
    const { status, headers } = line.response;
    const place = headers.get("content-location");
    const isRun = place !== null && headers.get("content-type")?.startsWith(SSE_MEDIA_TYPE) === true;
    if (isRun && typeof body === "string") return new Response(stream.follow(line, place, body), { status, headers });
    line.watch.end();
    return line.response;
  };
}

/** The version that a peer which names none is taken for. */
const UNDECLARED = "0.0.57";

/** One connection. */
interface Line {
  readonly response: Response;
  readonly watch: IdleWatch;
}

/** The events of one run. */
class RunStream {
  readonly #http: Http;
  readonly #retry: Retry;
  readonly #options: ResumableFetchOptions;
  readonly #target: string;
  readonly #init: RequestInit;
  readonly #left = new AbortController();
  readonly #signal: AbortSignal;
  /** How the rest of the log is asked for, without the cursor. */
  #rest: readonly [path: string, query: NonNullable<HttpRequest["query"]>] = ["", {}];
  #after: string | undefined;
  #isOver = false;
  #gainedAtMs = performance.now();

  constructor(http: Http, retry: Retry, options: ResumableFetchOptions, target: string, init: RequestInit) {
    this.#http = http;
    this.#retry = retry;
    this.#options = options;
    this.#target = target;
    this.#init = init;
    const { signal } = this.#left;
    this.#signal = init.signal ? AbortSignal.any([init.signal, signal]) : signal;
  }

  /** The stream that begins with a connection to the run at a place, for whoever posted this. */
  follow(line: Line, place: string, posted: string): ReadableStream<Uint8Array> {
    const { runId, protocolVersion: protocol = UNDECLARED } = JSON.parse(posted);
    const [thread, , run = ""] = place.split("/").slice(-3);
    // What the post asked for in its query is asked for again; what means nothing to a log is ignored there.
    const asked = Object.fromEntries(new URLSearchParams(this.#target.split("?")[1]));
    // Who connects sees the run under its own id.
    const as = /\/connect(?:\?|$)/.test(this.#target) ? undefined : runId;
    const query = { protocol, ...asked, run: decodeURIComponent(run), as, on_gap: "error" };
    this.#rest = [`/threads/${thread}/events`, query];
    const frames = this.#frames(line);
    const utf8 = new TextEncoder();
    return new ReadableStream({
      pull: async (controller) => {
        const { done, value } = await frames.next();
        if (done === true) controller.close();
        else controller.enqueue(utf8.encode(value));
      },
      cancel: () => this.#left.abort(),
    });
  }

  async *#frames(first: Line): AsyncGenerator<string, void, undefined> {
    for (let line = first; ;) {
      let failure: unknown;
      try {
        yield* this.#passed(line);
      } catch (error) {
        failure = error;
      }
      if (this.#isOver) return;
      line = await this.open(unreachable(failure));
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
      watch.end();
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
    this.#isOver = text.slice(0, length).split("\n").some(isTerminal);
    this.#gainedAtMs = performance.now();
    this.#retry.gained();
    return length;
  }

  /** Opens a connection, after another that failed, and again until there is one. */
  async open(failure?: HeddleError): Promise<Line> {
    const { idleMs = 25_000, giveUpMs = 120_000 } = this.#options;
    if (failure !== undefined) {
      if (!this.#retry.helps(failure) || performance.now() - this.#gainedAtMs > giveUpMs) throw failure;
      await this.#retry.wait(this.#signal, failure);
    }
    this.#signal.throwIfAborted();
    const watch = new IdleWatch(idleMs, this.#signal);
    try {
      return { response: await this.#request(watch.signal, failure !== undefined), watch };
    } catch (error) {
      watch.end();
      this.#signal.throwIfAborted();
      return this.open(error instanceof HeddleError ? error : unreachable(error));
    }
  }

  /** Posts until there is a cursor; then asks for what is behind it. */
  async #request(signal: AbortSignal, isAgain: boolean): Promise<Response> {
    const token = await this.#http.token();
    const given = new Headers(this.#init.headers);
    if (token !== undefined) given.set("authorization", `Bearer ${token}`);
    const headers = Object.fromEntries(given);
    const [path, query] = this.#rest;
    const after = this.#after;
    if (after !== undefined) {
      const asked = { ...headers, accept: SSE_MEDIA_TYPE };
      return this.#http.send(path, { query: { ...query, after }, headers: asked, signal });
    }
    const mark = this.#target.includes("?") ? "&" : "?";
    const target = isAgain ? `${this.#target}${mark}replay=true` : this.#target;
    const response = await (this.#options.fetch ?? fetch)(target, { ...this.#init, headers, signal });
    // Whoever stands before a server that is away for a while answers 502 to 504.
    if (response.status > (isAgain ? 399 : 501)) throw await errorOf(response);
    return response;
  }
}

/** Whether a line of a stream is the event that ends a run. */
function isTerminal(line: string): boolean {
  if (!/^data: .*"RUN_(?:FINISHED|ERROR)"/.test(line)) return false;
  const { type } = JSON.parse(line.slice(6));
  return type === "RUN_FINISHED" || type === "RUN_ERROR";
}

/**
 * A `fetch` for clients that know nothing of cuts, such as the stock `HttpAgent`: the answer to a run that was posted is one
 * stream, over as many connections as it takes, with the frames that a connection without a cut would have brought.
 *
 * Only whole frames up to one with a cursor are passed on, so whatever a cut leaves behind comes again. Until there is a
 * cursor the post is repeated, which joins the run; from then on the log is followed, which can start nothing. A stream
 * whose run has not ended never ends well. What the server refuses is passed on as it is, and so is what is not a run.
 */
import { HeddleError, SSE_MEDIA_TYPE } from "../protocol/index.ts";
import { Http, unreachable } from "./http.ts";
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
  const { fetch: send = (to, init) => fetch(to, init) } = options;
  return async (target, init = {}) => {
    const { body, headers, signal: _signal, ...rest } = init;
    // What a page says of its requests, credentials for one, holds for all of them.
    const http = new Http({ ...options, url, fetch: (to, more) => send(to, { ...rest, ...more }) });
    if (typeof body !== "string" || !target.startsWith(http.url)) return send(target, init);
    const [path = "", query] = target.slice(http.url.length).split("?");
    const asked = Object.fromEntries(new URLSearchParams(query));
    const post = { method: "POST", body, headers: Object.fromEntries(new Headers(headers)) } as const;
    return new RunStream(http, options, init.signal, path, { ...post, query: asked }).response();
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
  readonly #path: string;
  readonly #post: HttpRequest & { readonly body: string };
  readonly #left = new AbortController();
  readonly #signal: AbortSignal;
  #place: string | null = null;
  #after: string | undefined;
  #isOver = false;
  #gainedAtMs = performance.now();

  constructor(
    http: Http,
    options: ResumableFetchOptions,
    signal: AbortSignal | null | undefined,
    path: string,
    post: HttpRequest & { readonly body: string },
  ) {
    this.#http = http;
    this.#retry = new Retry(options.retry ?? {}, http.renewsToken);
    this.#options = options;
    this.#path = path;
    this.#post = post;
    const left = this.#left.signal;
    this.#signal = signal ? AbortSignal.any([signal, left]) : left;
  }

  /** The answer, once its head is there. */
  async response(): Promise<Response> {
    const line = await this.#open();
    const { headers } = line.response;
    this.#place = headers.get("content-location");
    if (this.#place === null || headers.get("content-type")?.startsWith(SSE_MEDIA_TYPE) !== true) {
      line.watch.end();
      return line.response;
    }
    const frames = this.#frames(line);
    const utf8 = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await frames.next();
        if (done === true) controller.close();
        else controller.enqueue(utf8.encode(value));
      },
      cancel: () => this.#left.abort(),
    });
    return new Response(body, line.response);
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
      line = await this.#open(unreachable(failure));
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
  async #open(failure?: HeddleError): Promise<Line> {
    const { idleMs = 25_000, giveUpMs = 120_000 } = this.#options;
    if (failure !== undefined) {
      if (!this.#retry.helps(failure) || performance.now() - this.#gainedAtMs > giveUpMs) throw failure;
      await this.#retry.wait(this.#signal, failure);
    }
    this.#signal.throwIfAborted();
    const watch = new IdleWatch(idleMs, this.#signal);
    try {
      return { watch, response: await this.#request(watch.signal, failure !== undefined) };
    } catch (error) {
      watch.end();
      this.#signal.throwIfAborted();
      return this.#open(error instanceof HeddleError ? error : unreachable(error));
    }
  }

  /** Posts until there is a cursor; then asks for what is behind it. */
  #request(signal: AbortSignal, isAgain: boolean): Promise<Response> {
    const { body, headers, query } = this.#post;
    const after = this.#after;
    if (after === undefined) {
      const again = isAgain ? { query: { ...query, replay: true } } : { throwsFrom: 502 };
      return this.#http.send(this.#path, { ...this.#post, ...again, signal });
    }
    const { runId, protocolVersion: protocol = UNDECLARED } = JSON.parse(body);
    const [thread, , run = ""] = (this.#place ?? "").split("/").slice(-3);
    // Who connects sees the run under its own id.
    const as = this.#path.endsWith("/connect") ? undefined : runId;
    return this.#http.send(`/threads/${thread}/events`, {
      query: { protocol, ...query, run: decodeURIComponent(run), as, after, on_gap: "error" },
      headers: { ...headers, accept: SSE_MEDIA_TYPE },
      signal,
    });
  }
}

/** Whether a line of a stream is the event that ends a run. */
function isTerminal(line: string): boolean {
  if (!/^data: .*"RUN_(?:FINISHED|ERROR)"/.test(line)) return false;
  const { type } = JSON.parse(line.slice(6));
  return type === "RUN_FINISHED" || type === "RUN_ERROR";
}

/**
 * Threads by HTTP: requests, and streams of Server-Sent Events. A server that has nothing to say still sends a comment
 * now and then; one that does not is gone, whatever the network believes.
 */
import { SSE_MEDIA_TYPE, createSseDecoder } from "../protocol/index.ts";
import { unreachable } from "./http.ts";
import type { Http, HttpRequest } from "./http.ts";
import type { Arrival, FollowRequest, StartRequest, Started, Transport } from "./transport.ts";

const CAUGHT_UP = "caught-up";

interface Stream {
  readonly arrivals: AsyncIterable<Arrival>;
  readonly place: string | undefined;
}

/** The way by HTTP. */
export class SseTransport implements Transport {
  readonly #http: Http;
  readonly #idleMs: number;

  constructor(http: Http, idleMs: number) {
    this.#http = http;
    this.#idleMs = idleMs;
  }

  /** Follows a branch until the server ends it. */
  async follow({ threadId, ...query }: FollowRequest, signal: AbortSignal): Promise<AsyncIterable<Arrival>> {
    return (await this.#stream(`/threads/${encodeURIComponent(threadId)}/events`, { query, signal })).arrivals;
  }

  /** Starts a run, and follows it to its end. */
  async start(request: StartRequest, signal: AbortSignal): Promise<Started> {
    const { arrivals, place } = await this.#stream(...posted(request, signal));
    const name = place?.split("/").at(-1);
    return { arrivals, runId: name === undefined ? request.input.runId : decodeURIComponent(name) };
  }

  /** Starts a run whose events come to whoever follows its branch, and gives its id in the log. */
  async begin(request: StartRequest, signal: AbortSignal): Promise<string> {
    const [path, asked] = posted(request, signal);
    const { runId } = await this.#http.json<{ readonly runId: string }>(path, {
      ...asked,
      headers: { prefer: "respond-async" },
    });
    return runId;
  }

  /** Nothing is open but what its own signal ends. */
  close(): void {}

  async #stream(path: string, request: HttpRequest): Promise<Stream> {
    const idle = new AbortController();
    const { signal = idle.signal } = request;
    const watch = new Watch(this.#idleMs, () => idle.abort(unreachable("nothing came for too long")));
    try {
      const either = { ...request, signal: AbortSignal.any([signal, idle.signal]) };
      const response = await this.#http.send(path, { ...either, headers: { accept: SSE_MEDIA_TYPE } });
      const stopped = (): unknown => (idle.signal.aborted ? idle.signal.reason : undefined);
      const place = response.headers.get("content-location") ?? undefined;
      return { arrivals: arrivals(response, watch, stopped, signal), place };
    } catch (error) {
      watch.end();
      throw error;
    }
  }
}

function posted({ agent, input, parent, onBusy, after }: StartRequest, signal: AbortSignal): [string, HttpRequest] {
  const query = { parent, on_busy: onBusy, after };
  return [`/agents/${encodeURIComponent(agent)}`, { method: "POST", body: input, query, signal }];
}

/** Calls when nothing was heard for so long. */
class Watch {
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(idleMs: number, onIdle: () => void) {
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
    this.heard();
  }

  heard(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onIdle, this.#idleMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

async function* arrivals(
  { body }: Response,
  watch: Watch,
  stopped: () => unknown,
  signal: AbortSignal,
): AsyncGenerator<Arrival, void, undefined> {
  let caughtUp = false;
  const decoder = createSseDecoder({}, (comment) => (caughtUp ||= comment.trim() === CAUGHT_UP));
  const reader = body?.getReader();
  try {
    for (;;) {
      const read = await reader?.read();
      if (read?.value === undefined) break;
      watch.heard();
      const arrival = { frames: decoder.push(read.value), caughtUp };
      caughtUp = false;
      if (arrival.frames.length > 0 || arrival.caughtUp) yield arrival;
    }
    const frames = decoder.end();
    if (frames.length > 0) yield { frames, caughtUp };
  } catch (error) {
    signal.throwIfAborted();
    throw stopped() ?? unreachable(error);
  } finally {
    watch.end();
    reader?.cancel().catch(() => undefined);
  }
}

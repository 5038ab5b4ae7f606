/**
 * Threads by HTTP: requests, and streams of Server-Sent Events. A server that has nothing to say still sends a comment
 * now and then; one that does not is gone, whatever the network believes.
 */
import { SSE_MEDIA_TYPE, createSseDecoder } from "../protocol/index.ts";
import { unreachable } from "./http.ts";
import type { Http, HttpRequest } from "./http.ts";
import { IdleWatch } from "./idle-watch.ts";
import type { Arrival, FollowRequest, StartRequest, Started, Transport } from "./transport.ts";

const CAUGHT_UP = "caught-up";

/** So much is decoded at a time. */
const PIECE_BYTES = 50_000;

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
    const watch = new IdleWatch(this.#idleMs, request.signal);
    try {
      const { signal } = watch;
      const response = await this.#http.send(path, { ...request, signal, headers: { accept: SSE_MEDIA_TYPE } });
      const place = response.headers.get("content-location") ?? undefined;
      return { arrivals: arrivals(response, watch), place };
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

async function* arrivals({ body }: Response, watch: IdleWatch): AsyncGenerator<Arrival, void, undefined> {
  let caughtUp = false;
  const decoder = createSseDecoder({}, (comment) => (caughtUp ||= comment.trim() === CAUGHT_UP));
  const reader = body?.getReader();
  try {
    for (;;) {
      const read = await reader?.read();
      if (read?.value === undefined) break;
      watch.heard();
      // What comes in one piece may be long: whoever takes it in gets a turn in between.
      for (let at = 0; at < read.value.length; at += PIECE_BYTES) {
        const arrival = { frames: decoder.push(read.value.subarray(at, at + PIECE_BYTES)), caughtUp };
        caughtUp = false;
        if (arrival.frames.length > 0 || arrival.caughtUp) yield arrival;
      }
    }
    const frames = decoder.end();
    if (frames.length > 0) yield { frames, caughtUp };
  } catch (error) {
    watch.signal.throwIfAborted();
    throw unreachable(error);
  } finally {
    watch.end();
    reader?.cancel().catch(() => undefined);
  }
}

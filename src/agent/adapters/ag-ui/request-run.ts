/**
 * Posts a run to its agent and returns the answer, once it is known to be a stream of events.
 *
 * The configured address is called as it is written, and nothing else decides where a run goes. A redirect within its
 * origin is followed with method and body kept, a few times; any other is refused, since the request carries credentials
 * and a conversation.
 */
import { SSE_MEDIA_TYPE } from "../../../protocol/index.ts";
import { BINARY_MEDIA_TYPE } from "../../../protocol/binary/index.ts";
import { notAStream, refusedRedirect, refusedRun, unreachable } from "./failures.ts";
import type { Remote } from "./failures.ts";

/** An answer that streams events. */
export interface RunResponse {
  /** The bytes. */
  readonly body: ReadableStream<Uint8Array>;
  /** How they are to be read. */
  readonly wire: "sse" | "binary";
}

/** One run, ready to be posted. */
export interface RunRequest {
  /** Whose run it is. */
  readonly remote: Remote;
  /** What to call; `fetch` or something like it. */
  readonly fetch: typeof fetch;
  /** Headers, complete. */
  readonly headers: Headers;
  /** The run input as JSON. */
  readonly body: string;
  /** Aborts when the run is to stop, or takes too long; its reason is the error to throw. */
  readonly signal: AbortSignal;
}

const MAX_REDIRECTS = 5;

/** Redirects after which the same request is made again. 303 asks for another one, which could not carry the run. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);

/** How much of an answer that is no stream is read, and for how long, for the details of the error. */
const MAX_READ_CHARS = 4096;
const MAX_READ_MS = 1000;

/** Posts a run. Throws `agent-unreachable`, `agent-response-invalid` or `address-refused`, or the signal's reason. */
export async function requestRun(request: RunRequest): Promise<RunResponse> {
  const { remote } = request;
  const response = await follow(request);
  if (!response.ok) throw refusedRun(remote, response.status, await beginningOf(response));
  const contentType = response.headers.get("content-type") ?? "";
  const [mediaType = ""] = contentType.split(";");
  const wire = WIRES[mediaType.trim().toLowerCase()];
  if (wire === undefined || response.body === null) {
    throw notAStream(remote, contentType, await beginningOf(response));
  }
  return { body: response.body, wire };
}

/** An answer that does not say what it is is read as SSE, which every agent can speak. */
const WIRES: Readonly<Record<string, RunResponse["wire"]>> = {
  [SSE_MEDIA_TYPE]: "sse",
  [BINARY_MEDIA_TYPE]: "binary",
  "": "sse",
};

async function follow(request: RunRequest): Promise<Response> {
  const { remote } = request;
  let { url } = remote;
  for (let redirects = 0; ; redirects++) {
    const response = await post(request, url);
    // A page cannot see where it is sent.
    if (response.type === "opaqueredirect") throw refusedRedirect(remote, "a redirect");
    // A `fetch` of the caller's may follow by itself.
    if (response.url !== "" && new URL(response.url).origin !== remote.url.origin) {
      throw await elsewhere(remote, new URL(response.url), response);
    }
    if (!REDIRECTS.has(response.status)) return response;
    const location = response.headers.get("location") ?? "";
    const target = URL.parse(location, url);
    if (target === null || location === "") return response;
    if (target.origin !== remote.url.origin) throw await elsewhere(remote, target, response);
    await response.body?.cancel();
    if (redirects === MAX_REDIRECTS) throw refusedRedirect(remote, `more than ${MAX_REDIRECTS} redirects`);
    url = target;
  }
}

async function elsewhere(remote: Remote, target: URL, response: Response): Promise<Error> {
  await response.body?.cancel();
  return refusedRedirect(remote, "another origin", target.origin);
}

async function post({ remote, fetch, headers, body, signal }: RunRequest, url: URL): Promise<Response> {
  try {
    return await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
  } catch (error) {
    signal.throwIfAborted();
    throw unreachable(remote, error);
  }
}

/** The first text of an answer that is not wanted; whatever goes wrong with it is less than what is wrong already. */
async function beginningOf(response: Response): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const end = (): void => void reader.cancel().catch(() => {});
  const timer = setTimeout(end, MAX_READ_MS);
  const text = new TextDecoder();
  let read = "";
  try {
    while (read.length < MAX_READ_CHARS) {
      const { done, value } = await reader.read();
      if (done) break;
      read += text.decode(value, { stream: true });
    }
  } catch {
    // The status or content type is the failure to report; how the rest of its body broke is not.
  } finally {
    clearTimeout(timer);
    end();
  }
  return read.slice(0, MAX_READ_CHARS);
}

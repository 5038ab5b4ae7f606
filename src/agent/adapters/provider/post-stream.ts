/**
 * Asks a provider over plain HTTP and reads its Server-Sent Events, each as the JSON value that it carries.
 *
 * No SDK is needed for that, so an agent works with nothing installed. Redirects are not followed: they would take the
 * key elsewhere. The signal goes to `fetch` itself. What fails is an error with a `model-*` code.
 */
import { createParser } from "eventsource-parser";
import { failureOf, modelError, modelErrorOf, textOf } from "./model-error.ts";
import type { ErrorContext } from "./model-error.ts";
import { redact } from "./redact.ts";

/** One request for a stream. */
export interface StreamRequest extends ErrorContext {
  /** Where to. */
  readonly url: string;
  /** Headers with the credentials; content type and accept are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is asked, sent as JSON. */
  readonly body: unknown;
  /** Aborts the request. */
  readonly signal: AbortSignal;
  /** The `fetch` to use. Default the platform's. */
  readonly fetch?: typeof fetch;
}

/** Most characters that one event of a stream may have. */
const MAX_EVENT_CHARS = 64 * 1024 * 1024;

/** Most characters of an error's body that are read. */
const MAX_ERROR_CHARS = 64 * 1024;

/** Sends the request; gives the JSON value of each event, until the end or `[DONE]`. */
export async function* postStream(request: StreamRequest): AsyncGenerator<unknown, void, undefined> {
  const { url, headers, body, signal, fetch: send = fetch } = request;
  const response = await send(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify(body),
    redirect: "manual",
    signal,
  }).catch((error: unknown) => {
    throw modelErrorOf(request, error);
  });
  if (!response.ok) throw await refusalOf(request, response);
  const type = response.headers.get("content-type") ?? "";
  if (/json|html/i.test(type)) throw await notAStream(request, response, type);
  if (response.body !== null) yield* readEvents(request, response.body);
}

async function refusalOf(request: StreamRequest, response: Response): Promise<Error> {
  const { status, headers } = response;
  if (status < 400) {
    await response.body?.cancel();
    const target = headers.get("location") ?? "another address";
    const reason = `it answers with a redirect to ${target}, which is not followed; set the base URL to the final address`;
    return modelError(request, { status, reason }, "model-request-refused");
  }
  return modelError(request, failureOf(await readBody(response), status, headers));
}

/** A body that may be JSON; nothing where it cannot be read. */
async function readBody(response: Response): Promise<unknown> {
  let text = "";
  try {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > MAX_ERROR_CHARS) break;
    }
  } catch {
    // The status is known, and more telling than that its explanation was cut.
  }
  try {
    return JSON.parse(text);
  } catch {
    return textOf(text);
  }
}

/** A server that answers with one JSON value or a page does not stream; an error among them says why. */
async function notAStream(request: StreamRequest, response: Response, type: string): Promise<Error> {
  const body = await readBody(response);
  const failure = failureOf(body);
  if (typeof body === "object" && body !== null && "error" in body && failure.reason !== "") {
    return modelError(request, failure);
  }
  return modelError(request, { reason: `it answered ${type} instead of a stream` }, "model-stream-invalid");
}

async function* readEvents(
  request: StreamRequest,
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<unknown, void, undefined> {
  const decoder = new TextDecoder();
  let waiting: string[] = [];
  let tooLong = false;
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: ({ data }) => waiting.push(data),
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") tooLong = true;
    },
  });
  try {
    for await (const bytes of body) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      const taken = waiting;
      waiting = [];
      for (const data of taken) {
        if (data === "[DONE]") return;
        if (data !== "") yield parse(request, data);
      }
      if (tooLong) throw modelError(request, { reason: "an event has no end" }, "model-stream-invalid");
    }
  } catch (error) {
    throw modelErrorOf(request, error);
  }
}

function parse(request: StreamRequest, data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // Cut after the secrets are out, or half a key would pass for text.
    const excerpt = redact(data.slice(0, 2000), request.secrets).slice(0, 80);
    throw modelError(request, { reason: `an event is not JSON: ${excerpt}` }, "model-stream-invalid");
  }
}

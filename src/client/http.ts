/**
 * Requests to a server: where it is, who asks, and what its refusals mean.
 *
 * A token may be a function, which is asked before every request: what it gives may be newer than the time before. Whatever
 * goes wrong is a `HeddleError`: the server's own, or `server-unreachable` where nobody answered, or somebody else did.
 */
import { ERRORS, HeddleError } from "../protocol/index.ts";
import type { ErrorCode } from "../protocol/index.ts";

/** A token, or what gives one; undefined for none. */
export type Token = string | (() => string | undefined | Promise<string | undefined>);

/** Where a server is, and who asks. */
export interface HttpOptions {
  /** Address of the server, with the prefix that it is mounted under. */
  readonly url: string;
  /** Shown as `Authorization: Bearer`. Default: none. */
  readonly token?: Token | undefined;
  /** What makes requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** One request. */
export interface HttpRequest {
  /** Method. Default GET. */
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** What stands behind the `?`; what is undefined is left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON, or as it is where it is a text. */
  readonly body?: unknown;
  /** More headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined;
  /** Answers of this status and above are thrown. Default 400. */
  readonly throwsFrom?: number;
}

/** Makes requests. */
export class Http {
  /** Address of the server, without a slash at its end. */
  readonly url: string;
  /** Whether asking for the token again may give another one. */
  readonly renewsToken: boolean;
  readonly #token: Token | undefined;
  readonly #fetch: typeof fetch;

  constructor({ url, token, fetch: chosen }: HttpOptions) {
    this.url = url.replace(/\/+$/, "");
    this.renewsToken = typeof token === "function";
    this.#token = token;
    this.#fetch = chosen ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** The token as it is now. */
  async token(): Promise<string | undefined> {
    return typeof this.#token === "function" ? this.#token() : this.#token;
  }

  /** Makes a request, and gives the answer once its head is there. Throws the server's error, or `server-unreachable`. */
  async send(path: string, request: HttpRequest = {}): Promise<Response> {
    const { method = "GET", body, headers = {}, signal, throwsFrom = 400 } = request;
    const token = await this.token();
    const init: RequestInit = {
      method,
      headers: {
        accept: "application/json",
        ...(body !== undefined && {
          "content-type": typeof body === "string" ? "application/x-ndjson" : "application/json",
        }),
        ...headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      signal: signal ?? null,
    };
    let response: Response;
    try {
      response = await this.#fetch(this.url + path + queryText(request.query), init);
    } catch (error) {
      signal?.throwIfAborted();
      throw unreachable(error);
    }
    if (response.status >= throwsFrom) throw await errorOf(response);
    return response;
  }

  /** Makes a request, and gives the JSON of its answer. */
  async json<T>(path: string, request?: HttpRequest): Promise<T> {
    const response = await this.send(path, request);
    try {
      return await response.json();
    } catch (error) {
      request?.signal?.throwIfAborted();
      throw unreachable(error);
    }
  }
}

function queryText(query: HttpRequest["query"] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** The error for a server that did not answer, or not to the end. */
export function unreachable(cause?: unknown): HeddleError {
  return new HeddleError("server-unreachable", "The server cannot be reached, or broke off.", {}, { cause });
}

const isCode = (code: unknown): code is ErrorCode => typeof code === "string" && Object.hasOwn(ERRORS, code);

/** The error that an answer or a frame tells of. */
export function toldError(told: unknown, status = 500): HeddleError {
  const { code, message, details } = membersOf(membersOf(told)["error"]);
  if (isCode(code)) return new HeddleError<ErrorCode>(code, String(message), membersOf(details));
  // Somebody between us and the server, who speaks only in statuses.
  if (status >= 500 || status === 408 || status === 429) return unreachable(`status ${status}`);
  const kind = status === 401 ? "unauthenticated" : "request-invalid";
  return new HeddleError<ErrorCode>(kind, `The request was refused with status ${status}.`, { status });
}

async function errorOf(response: Response): Promise<HeddleError> {
  const body: unknown = await response.json().catch(() => undefined);
  return toldError(body, response.status);
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

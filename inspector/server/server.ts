/** Requests to the server that this page came from, beside what `heddle/client` makes. */
import { ERRORS, HeddleError } from "heddle/protocol";
import type { ErrorCode } from "heddle/protocol";

/** A server, and the token that it is asked with. */
export class Server {
  /** Its address, with the path that it is mounted under, without a slash at the end. */
  readonly url: string;
  /** The token, where there is one. */
  readonly token: string | undefined;

  constructor(url: string, token: string | undefined) {
    this.url = url;
    this.token = token;
  }

  /** Asks for JSON. Throws the server's error, or `server-unreachable`. */
  async json<T>(
    path: string,
    init: { readonly method?: string; readonly body?: unknown; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    const { method = "GET", body, signal } = init;
    const headers = {
      ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    if (!canBeSent(headers)) {
      const message = "The token has a character that cannot be sent: copy it again, without anything around it.";
      throw new HeddleError("unauthenticated", message, { reason: "malformed" });
    }
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.url + path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal !== undefined && { signal }),
      });
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      const message = "The server does not answer. Is it running?";
      throw new HeddleError("server-unreachable", message, { url: this.url }, { cause });
    }
    if (!response.ok) throw refusalOf(text, response.status);
    try {
      // The server is the one that this page was built with: its answers have the form that they are read in.
      return JSON.parse(text);
    } catch (cause) {
      const message = "Something between here and the server answered in its place.";
      throw new HeddleError("server-unreachable", message, { url: this.url }, { cause });
    }
  }
}

/** Whether HTTP has room for headers: not for every character, and `fetch` refuses those as if nobody had answered. */
function canBeSent(headers: Readonly<Record<string, string>>): boolean {
  try {
    return new Headers(headers) instanceof Headers;
  } catch {
    return false;
  }
}

function refusalOf(text: string, status: number): HeddleError {
  const { code, message, details }: Partial<Record<string, unknown>> = errorIn(text);
  const known = typeof code === "string" && isCode(code) ? code : "server-unreachable";
  const sentence = typeof message === "string" ? message : `The server answered ${status}.`;
  return new HeddleError(known, sentence, Object(details));
}

/** The error of an answer; nothing where whoever answered is not Heddle. */
function errorIn(text: string): object {
  try {
    return Object(Object(JSON.parse(text)).error);
  } catch {
    return {};
  }
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

/** Where this page came from. */
export const pageUrl = (): string => new URL(".", location.href.split("#")[0]).href.replace(/\/+$/, "");

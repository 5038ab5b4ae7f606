/**
 * What a request to a remote agent is made with, judged before it is made: its address and its headers.
 *
 * What is wrong with either may be that it holds a secret, so neither is ever repeated.
 */
import { HeddleError } from "../../../protocol/index.ts";
import type { TraceHeaders } from "../../index.ts";

/** Headers of a request: names and values. */
export type RequestHeaders = Readonly<Record<string, string>>;

/** The address as a URL of one of two schemes. Throws `config-invalid` where it is none, or holds credentials. */
export function checkedUrl(url: string | URL, schemes: readonly [string, string]): URL {
  const parsed = URL.parse(url);
  const isOfScheme = schemes.some((scheme) => parsed?.protocol === `${scheme}:`);
  if (parsed !== null && isOfScheme && parsed.username === "" && parsed.password === "") return parsed;
  const expected = `${schemes[0] === "http" ? "an" : "a"} ${schemes.join(" or ")} URL without a name and a password`;
  const received = parsed === null ? "no URL" : isOfScheme ? "a URL with credentials" : `a URL of ${parsed.protocol}`;
  throw new HeddleError("config-invalid", `The url of a remote agent is ${received}: expected ${expected}.`, {
    setting: "url",
    expected,
    received,
  });
}

/** The agent's spans belong to the trace of the run, unless whoever configured the headers says otherwise. */
export function traced(headers: Headers, trace: TraceHeaders | undefined): Headers {
  if (trace === undefined || headers.has("traceparent")) return headers;
  headers.set("traceparent", trace.traceparent);
  if (trace.tracestate !== undefined) headers.set("tracestate", trace.tracestate);
  return headers;
}

/** The headers. Throws `config-invalid` where HTTP does not allow them. */
export function checkedHeaders(given: RequestHeaders | undefined): Headers {
  try {
    return new Headers(given);
  } catch {
    const expected = "names and values that HTTP allows";
    const message = `The headers of a remote agent cannot be sent: expected ${expected}.`;
    throw new HeddleError("config-invalid", message, { setting: "headers", expected, received: "another text" });
  }
}

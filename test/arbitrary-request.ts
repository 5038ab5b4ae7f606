/** Arbitrary requests to Heddle's routes: mostly paths that exist, with parameters, headers and bodies of any kind. */
import fc from "fast-check";

/** A request, before it is put on a wire. */
export interface ArbitraryRequest {
  /** Method. */
  readonly method: "GET" | "POST" | "HEAD" | "OPTIONS" | "DELETE";
  /** Path and query. The query has `follow=false`: a stream that waits for more would wait for ever. */
  readonly target: string;
  /** Headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is posted, as JSON; undefined where nothing is. */
  readonly body: string | undefined;
}

const MEDIA_TYPES = ["application/json", "application/x-ndjson", "text/event-stream", "https://a.example"];
const PARAMETERS = ["after", "run", "head", "all", "on_gap", "protocol", "meta", "raw", "on_disconnect", "other"];
const VALUES = ["true", "false", "r1", "reset", "error", "cancel", "0.0.57", "aaaaaaaa_0000000000000001"];
const PARTS = ["agents", "threads", "t1", "runs", "r1", "events", "cancel", "connect", "capabilities", "%zz", "..", ""];

const HEADERS = ["accept", "last-event-id", "origin", "content-type", "host", "content-length"];

/** Requests to a server that has this agent, and perhaps a thread `t1` with a run `r1`. */
export function arbitraryRequest(agent: string): fc.Arbitrary<ArbitraryRequest> {
  const part = fc.oneof(fc.constantFrom(agent, ...PARTS), fc.string({ maxLength: 8 }).map(encodeURIComponent));
  const known = [`/agents/${agent}`, `/agents/${agent}/connect`, "/threads/t1/events", "/threads/t1/runs/r1/cancel"];
  const path = fc.oneof(
    fc.constantFrom(...known),
    fc.array(part, { maxLength: 5 }).map((parts) => `/${parts.join("/")}`),
  );
  const value = fc.oneof(fc.constantFrom(...VALUES), fc.string({ maxLength: 12 }));
  const query = fc.array(fc.tuple(fc.constantFrom(...PARAMETERS), value), { maxLength: 4 });
  const headerValue = fc.oneof(fc.stringMatching(/^[ -~]{0,20}$/), fc.constantFrom(...MEDIA_TYPES));
  const threadId = fc.oneof(fc.constantFrom("t1", "t2"), fc.string());
  const body = fc.oneof(
    fc.record({ threadId, runId: fc.string(), messages: fc.anything() }, { requiredKeys: [] }),
    fc.json().map((text): unknown => JSON.parse(text)),
  );
  return fc
    .record({
      method: fc.constantFrom("GET", "POST", "HEAD", "OPTIONS", "DELETE"),
      target: fc
        .tuple(path, query)
        .map(([at, asked]) => `${at}?${new URLSearchParams([...asked, ["follow", "false"]])}`),
      headers: fc.dictionary(fc.constantFrom(...HEADERS), headerValue),
      posted: fc.option(body),
    })
    .map(({ method, target, headers, posted }) => {
      if (method !== "POST" || posted === null) return { method, target, headers, body: undefined };
      return {
        method,
        target,
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(posted),
      };
    });
}

/**
 * What can go wrong with a remote agent, each said in one place.
 *
 * A message may end up in a RUN_ERROR that anybody reads, so it names the agent and never its address, headers or words.
 * `details` are for whoever runs the server: the address without its query, and a short excerpt of what came back,
 * without anything that was sent as a header or looks like a secret.
 */
import { HeddleError } from "../../../protocol/index.ts";
import { redact } from "../provider/redact.ts";

/** How much of an answer is kept in the details of an error. */
const EXCERPT_CHARS = 500;

/** Shorter pieces of a header are no secrets, and blotting them out would only spoil the text. */
const SECRET_CHARS = 6;

/** The remote agent as errors name it. */
export interface Remote {
  /** Name of the agent. */
  readonly name: string;
  /** Its address. */
  readonly url: URL;
  /** What must never be shown: values of headers, and the query of the address. */
  readonly secrets: readonly string[];
}

/** Whatever must not be shown of a request: each header's value, and each word of it. */
export function secretsOf(url: URL, headers: Headers): readonly string[] {
  const words = [url.search.slice(1), ...url.searchParams.values()];
  for (const value of headers.values()) words.push(value, ...value.split(/[\s,;=]+/));
  return [...new Set(words)].filter(({ length }) => length >= SECRET_CHARS).toSorted((a, b) => b.length - a.length);
}

/** The beginning of a text, without secrets. */
export function excerpt(text: string, { secrets }: Remote): string {
  const shown = redact(text, secrets);
  return shown.length > EXCERPT_CHARS ? `${shown.slice(0, EXCERPT_CHARS)}…` : shown;
}

/** The address as errors show it. */
export const address = ({ url }: Remote): string => url.origin + url.pathname;

/** No connection, or no answer. */
export function unreachable(remote: Remote, cause: unknown): HeddleError<"agent-unreachable"> {
  const reason = reasonOf(cause);
  const message = `The agent ${remote.name} cannot be reached (${reason}): check that it runs, and its address.`;
  return new HeddleError("agent-unreachable", message, { url: address(remote), reason }, { cause });
}

/** No answer in time. */
export function noAnswer(remote: Remote, timeoutMs: number): HeddleError<"agent-unreachable"> {
  const message = `The agent ${remote.name} did not begin to answer within ${timeoutMs} ms.`;
  return new HeddleError("agent-unreachable", message, { url: address(remote), reason: "timeout", timeoutMs });
}

/** An answer that is an error by its status. */
export function refusedRun(remote: Remote, status: number, body: string): HeddleError<"agent-unreachable"> {
  const message = `The agent ${remote.name} answered with HTTP status ${status}: ${adviceFor(status)}.`;
  const details = { url: address(remote), reason: "http", status, body: excerpt(body, remote) };
  return new HeddleError("agent-unreachable", message, details);
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return "check the headers that authorise the request";
  if (status === 404 || status === 405) return "check its address";
  if (status === 429) return "it asks to slow down";
  if (status >= 300 && status < 400) return "it is somewhere else; set the address that it has now";
  return status >= 500 ? "it failed; its own log has the cause" : "it does not take the run as it stands";
}

/** A redirect that leaves the configured origin, or that cannot be followed. */
export function refusedRedirect(remote: Remote, reason: string, target?: string): HeddleError<"address-refused"> {
  const message = `The agent ${remote.name} sends the run elsewhere (${reason}): set the address that it really has.`;
  return new HeddleError("address-refused", message, { url: address(remote), reason, ...(target && { target }) });
}

/** A success that is no event stream. */
export function notAStream(remote: Remote, contentType: string, body: string): HeddleError<"agent-response-invalid"> {
  const message = `The agent ${remote.name} did not answer with an event stream: check that its address is an AG-UI endpoint.`;
  const details = { url: address(remote), reason: "content-type", contentType, body: excerpt(body, remote) };
  return new HeddleError("agent-response-invalid", message, details);
}

/** Frames that cannot be read. */
export function badFrame(remote: Remote, cause: HeddleError): HeddleError<"agent-response-invalid"> {
  const message = `The agent ${remote.name} sent a frame that is no AG-UI event: ${cause.message}`;
  const details = { url: address(remote), reason: cause.code, problem: cause.details };
  return new HeddleError("agent-response-invalid", message, details, { cause });
}

/** A stream that ended, broke or fell silent before its run had ended. */
export function cutStream(
  remote: Remote,
  reason: "ended" | "broken" | "idle",
  cause?: unknown,
): HeddleError<"agent-stream-cut"> {
  const message = `The stream of the agent ${remote.name} ${CUTS[reason]} before its run had ended.`;
  const details = { url: address(remote), reason };
  return new HeddleError("agent-stream-cut", message, details, cause === undefined ? undefined : { cause });
}

const CUTS = { ended: "stopped", broken: "broke off", idle: "fell silent" } as const;

/** More events than are read. */
export function tooManyEvents(allowed: number, actual: number): HeddleError<"limit-exceeded"> {
  const limit = "events of an answer";
  const message = `The agent was stopped: ${allowed} ${limit} are read.`;
  return new HeddleError("limit-exceeded", message, { limit, allowed, actual });
}

/** The code of the system's error, else the name of what is behind it all; neither names an address, as a message may. */
function reasonOf(error: unknown): string {
  let reason = "unknown";
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string") return cause.code;
    reason = cause.name;
  }
  return reason;
}

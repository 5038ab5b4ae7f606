/** What came of trying an agent, in sentences that say what to do. */
import { HeddleError } from "../protocol/index.ts";
import type { CheckFinding, JudgedAnswer } from "./check-answer.ts";

/** What is known of the answer. */
export interface Tried extends JudgedAnswer {
  /** Whether anything answered. */
  readonly reached: boolean;
  /** HTTP status. */
  readonly status?: number;
  /** Content type. */
  readonly contentType?: string;
  /** How long it took. */
  readonly totalMs: number;
}

/** What is said of it. */
export interface Explained {
  /** Whether any client can use the agent. */
  readonly ok: boolean;
  /** What came of it. */
  readonly sentence: string;
  /** What is wrong, with what ended it last. */
  readonly findings: readonly CheckFinding[];
}

/** Says what came of it. `cause` is what ended the run otherwise than the agent did; undefined where nothing did. */
export function explain(tried: Tried, cause: unknown): Explained {
  const failure = cause === undefined ? undefined : failureOf(tried, cause);
  const findings = failure === undefined ? tried.findings : [...tried.findings, failure];
  const error = failure ?? tried.findings.find(({ kind }) => kind === "error");
  if (error !== undefined) return { ok: false, sentence: error.message, findings };
  const repairs = findings.filter(({ kind }) => kind === "repair").length;
  if (repairs > 0) {
    const sentence = `The agent answers, and its stream breaks AG-UI's rules in ${places(repairs)}: Heddle puts them right, other clients may fail.`;
    return { ok: false, sentence, findings };
  }
  const warnings = findings.length === 0 ? "" : ` ${WARNED}`;
  return { ok: true, sentence: `The agent works: ${tried.events} events in ${tried.totalMs} ms.${warnings}`, findings };
}

const WARNED = "What is not of AG-UI 1.0 in it is translated or left out; see the warnings.";

const places = (count: number): string => (count === 1 ? "one place" : `${count} places`);

function failureOf(tried: Tried, cause: unknown): CheckFinding {
  const rule = cause instanceof HeddleError ? cause.code : "agent-failed";
  const at = tried.events > 0 ? { at: tried.events - 1 } : {};
  return { kind: "error", rule, message: sentenceOf(tried, cause), ...at };
}

function sentenceOf(tried: Tried, cause: unknown): string {
  if (!(cause instanceof HeddleError)) return "The check failed: try it again.";
  switch (cause.code) {
    case "agent-unreachable":
      return tried.status === undefined ? unreached(reasonIn(cause)) : refusal(tried.status);
    case "address-refused":
      return "The agent sends the run to another address, which is not followed: give the address that it really has.";
    case "agent-response-invalid":
      if (reasonIn(cause) === "content-type") return noStream(tried.contentType);
      return reasonIn(cause) === "limit-exceeded" || !isText(tried)
        ? unreadable(cause)
        : `${unreadable(cause)} ${FRAMES}`;
    case "event-invalid":
      return `The event is malformed: ${cause.message} Clients stop here.`;
    case "agent-stream-cut":
      return cutOff(tried, reasonIn(cause));
    case "limit-exceeded":
      return tried.reached
        ? cause.message
        : `Nothing answered in time: check the address, and that the agent is awake.`;
    default:
      return cause.message;
  }
}

function reasonIn({ details }: HeddleError): string {
  return "reason" in details && typeof details.reason === "string" ? details.reason : "unknown";
}

function unreached(reason: string): string {
  if (reason === "ENOTFOUND" || reason === "EAI_AGAIN")
    return `The host of the address is not known (${reason}): check its name.`;
  if (reason === "ERR_SSL_WRONG_VERSION_NUMBER" || reason === "ERR_SSL_PACKET_LENGTH_TOO_LONG")
    return `What answers at this address does not speak https (${reason}): use http, or another port.`;
  if (/^HPE_|^HTTPParserError$/.test(reason))
    return `What answers at this address does not speak HTTP (${reason}): check its port.`;
  if (/CERT|TLS|SSL|SELF_SIGNED/.test(reason))
    return `The agent's certificate is not trusted (${reason}): mend it, or use http.`;
  return `Nothing answers at this address (${reason}): check that the agent runs, and its host and port.`;
}

function refusal(status: number): string {
  if (status === 401 || status === 403) {
    return `The agent refuses the call (HTTP ${status}): give the headers that authorise it, such as Authorization.`;
  }
  if (status === 404) return "There is nothing at this path (HTTP 404): give the path of the AG-UI endpoint.";
  if (status === 405) return "This path does not take POST (HTTP 405): give the path of the AG-UI endpoint.";
  if (status === 400 || status === 415 || status === 422) {
    return `The agent does not take a RunAgentInput as JSON (HTTP ${status}): its own log has the cause.`;
  }
  if (status === 429) return "The agent asks to slow down (HTTP 429): try again later.";
  if (status >= 300 && status < 400)
    return `The agent is somewhere else (HTTP ${status}): give the address that it has now.`;
  return `The agent answers with HTTP ${status}: its own log has the cause.`;
}

const WANTED = "answer with text/event-stream, one event a frame";

function noStream(contentType: string | undefined): string {
  const [type = ""] = (contentType ?? "").split(";");
  if (type.trim() === "text/html") {
    return "The answer is a web page, not an event stream: give the address of the AG-UI endpoint, not that of a page.";
  }
  if (type.trim() === "text/event-stream") return `The answer has no body: ${WANTED}.`;
  return `The answer is ${type.trim() || "of no known type"}, not an event stream: ${WANTED}.`;
}

/** Whether it is frames of text that are meant: others answer in binary ones. */
const isText = ({ contentType = "" }: Tried): boolean => contentType.startsWith("text/");

const FRAMES = "Send one JSON object after each data: line, and an empty line behind it.";

/** The adapter's sentence names the agent; what went wrong stands behind the first colon. */
const unreadable = ({ message }: HeddleError): string =>
  `A frame of the stream cannot be read: ${message.split(": ").slice(1).join(": ")}`;

function cutOff({ events }: Tried, reason: string): string {
  if (events === 0) return "The stream ended without a single event: send RUN_STARTED first, and RUN_FINISHED last.";
  if (reason === "broken")
    return "The connection broke before the run had ended: look for a crash, or a proxy that cuts it.";
  return "The stream ended without RUN_FINISHED or RUN_ERROR: send one of them last.";
}

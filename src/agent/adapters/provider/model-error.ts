/**
 * What a provider's failure means: one of the `model-*` codes, with the provider's own reason and what to do.
 *
 * The same table serves an HTTP answer, an error in the middle of a stream and an error that an SDK threw: all three
 * hold a status or a type, and a message. Secrets are taken out before anyone sees the message.
 */
import { HeddleError } from "../../../protocol/index.ts";
import { isRecord, lookUp } from "./fields.ts";
import { redact } from "./redact.ts";

/** Who failed, and what must never be shown. */
export interface ErrorContext {
  /** The provider's label. */
  readonly provider: string;
  /** Values that must not appear in a message: the API key. */
  readonly secrets?: readonly string[];
}

/** What a provider said about a failure. */
export interface Failure {
  /** HTTP status. */
  readonly status?: number;
  /** The provider's word for it. */
  readonly type?: string;
  /** The provider's words for people. */
  readonly reason: string;
  /** When to try again. */
  readonly retryAfterMs?: number;
  /** The provider's id of the request, to ask its support with. */
  readonly requestId?: string;
}

/** The codes that tell how a model failed. */
export type ModelErrorCode =
  | "model-unauthorised"
  | "model-rate-limited"
  | "model-overloaded"
  | "model-context-exceeded"
  | "model-request-refused"
  | "model-stream-invalid"
  | "model-unreachable"
  | "model-output-cut"
  | "model-failed";

const SENTENCES: Readonly<Record<ModelErrorCode, readonly [string, string]>> = {
  "model-unauthorised": ["refused the credentials", "Check the API key and what it may use."],
  "model-rate-limited": ["asks to slow down, or the quota is spent", "Try again later, or raise the limit."],
  "model-overloaded": ["has no capacity", "Try again later."],
  "model-context-exceeded": ["cannot read a conversation of this length", "Shorten it, or use a larger model."],
  "model-request-refused": ["refused the request", "Change what is named here, then try again."],
  "model-stream-invalid": ["sent what is not its stream format", "Check the base URL and the API that it offers."],
  "model-unreachable": ["cannot be reached, or broke off", "Check the base URL and the network, then try again."],
  "model-output-cut": ["gave no whole answer", "Allow more output tokens, or shorten the conversation."],
  "model-failed": ["failed", "Try again later."],
};

/** The words of providers and compatible servers for what a status alone does not tell. */
const TYPES: Readonly<Record<string, ModelErrorCode>> = {
  authentication_error: "model-unauthorised",
  invalid_api_key: "model-unauthorised",
  permission_error: "model-unauthorised",
  rate_limit_error: "model-rate-limited",
  rate_limit_exceeded: "model-rate-limited",
  insufficient_quota: "model-rate-limited",
  billing_error: "model-rate-limited",
  overloaded_error: "model-overloaded",
  server_is_overloaded: "model-overloaded",
  slow_down: "model-overloaded",
  context_length_exceeded: "model-context-exceeded",
  exceed_context_size_error: "model-context-exceeded",
  request_too_large: "model-context-exceeded",
  invalid_request_error: "model-request-refused",
  not_found_error: "model-request-refused",
  invalid_prompt: "model-request-refused",
  data_residency_mismatch: "model-request-refused",
  bio_policy: "model-request-refused",
  misalignment_policy_violation: "model-request-refused",
  refusal: "model-request-refused",
};

const TOO_LONG =
  /context[ _-]?(?:length|window|size|limit)|prompt is too long|maximum context|too many (?:input )?tokens/i;

/** The error of a failure. */
export function modelError(context: ErrorContext, failure: Failure, code = codeOf(failure)): HeddleError {
  const { reason, ...details } = failure;
  const [happened, advice] = SENTENCES[code];
  // Cut twice: once for speed, and once more when the secrets are out, or half of one would pass for text.
  const said = redact(reason.slice(0, 8000), context.secrets).trim().slice(0, 1000);
  const sentence = said === "" ? "." : `: ${said}${/[.!?]$/.test(said) ? "" : "."}`;
  const message = `The model's provider (${context.provider}) ${happened}${sentence} ${advice}`;
  return new HeddleError(code, message, { provider: context.provider, ...details });
}

function codeOf({ status, type = "", reason }: Failure): ModelErrorCode {
  const named = lookUp(TYPES, type);
  if (named === "model-context-exceeded" || named === "model-overloaded") return named;
  if (status === undefined) {
    if (named === "model-request-refused" && TOO_LONG.test(reason)) return "model-context-exceeded";
    if (type.startsWith("invalid_") || type.includes("image")) return named ?? "model-request-refused";
    return named ?? "model-failed";
  }
  if (status === 401 || status === 403) return "model-unauthorised";
  if (status === 429) return "model-rate-limited";
  if (status === 503 || status === 529) return "model-overloaded";
  if (status === 502 || status === 504) return "model-unreachable";
  if (status === 413) return "model-context-exceeded";
  if (status === 402) return "model-rate-limited";
  if (status >= 500 || status === 408 || status === 409) return named ?? "model-failed";
  return TOO_LONG.test(reason) ? "model-context-exceeded" : (named ?? "model-request-refused");
}

/** The failure that an error body describes: OpenAI's and Anthropic's `{error: {…}}`, its inside, or plain text. */
export function failureOf(body: unknown, status?: number, headers?: Headers): Failure {
  const outer = isRecord(body) ? body : {};
  const inner = isRecord(outer["error"]) ? outer["error"] : outer;
  const code = inner["code"];
  // Some servers repeat the HTTP status as a numeric code inside a stream that began with 200.
  const known = status ?? (typeof code === "number" && code >= 400 && code <= 599 ? code : undefined);
  const type = [code, inner["type"]].find((word) => typeof word === "string" && word !== "" && word !== "error");
  const text = [inner["message"], outer["message"], outer["error"], outer["detail"], body].find(
    (said) => typeof said === "string" && said !== "",
  );
  const retryAfterMs = headers === undefined ? undefined : retryAfter(headers);
  const id = headers?.get("x-request-id") ?? headers?.get("request-id") ?? outer["request_id"];
  return {
    reason: typeof text === "string" ? text : known === undefined ? "" : `HTTP status ${known}`,
    ...(known === undefined ? {} : { status: known }),
    ...(typeof type === "string" ? { type } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(typeof id === "string" ? { requestId: id } : {}),
  };
}

/** The error of whatever an SDK, `fetch` or a stream threw. Errors of ours stay as they are. */
export function modelErrorOf(context: ErrorContext, thrown: unknown): HeddleError {
  if (thrown instanceof HeddleError) return thrown;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  if (thrown instanceof SyntaxError) return modelError(context, { reason }, "model-stream-invalid");
  const { status, error: body, headers } = isRecord(thrown) ? thrown : {};
  if (typeof status === "number" || isRecord(body) || (typeof body === "string" && body !== "")) {
    const known = typeof status === "number" ? status : undefined;
    // A body that is no JSON is in the message only, behind the status.
    const said = isRecord(body) ? body : textOf(reason.replace(/^\d{3} /, ""));
    return modelError(context, failureOf(said, known, headers instanceof Headers ? headers : undefined));
  }
  return modelError(context, { reason: `${reason}${causeOf(thrown)}` }, "model-unreachable");
}

/** The text of what may be a page. */
export function textOf(page: string): string {
  const text = page.replaceAll(/<(style|script)\b.*?<\/\1>|<[^>]*>/gis, " ").replaceAll(/\s+/g, " ");
  return text.slice(0, 500).trim();
}

/** Node says "fetch failed" or "terminated", and why in the cause. */
function causeOf(thrown: unknown): string {
  let cause = thrown instanceof Error ? thrown.cause : undefined;
  const said: string[] = [];
  for (let depth = 0; depth < 4 && cause instanceof Error; depth++, cause = cause.cause) said.push(cause.message);
  const reasons = said.filter((text) => text !== "");
  return reasons.length === 0 ? "" : ` (${reasons.join(": ")})`;
}

function retryAfter(headers: Headers): number | undefined {
  const inMs = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(inMs) && inMs >= 0) return Math.round(inMs);
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  const inSeconds = Number(value);
  if (Number.isFinite(inSeconds)) return inSeconds >= 0 ? Math.round(inSeconds * 1000) : undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

/**
 * What the AI SDK reports as an error, as one of the `model-*` codes with the provider's own reason.
 *
 * The SDK's errors are told by their names and fields, never by their classes: the package may be installed twice, or not
 * at all. Retries are looked through to what failed last. Secrets are taken out of the reason.
 */
import { HeddleError } from "../../../protocol/index.ts";
import { isRecord } from "../provider/fields.ts";
import { failureOf, modelError } from "../provider/model-error.ts";
import type { ModelErrorCode } from "../provider/model-error.ts";
import { redact } from "../provider/redact.ts";
import { ISSUER } from "./issuer.ts";

/** Errors of the SDK's own that hold no status, by name. */
const NAMES: Readonly<Record<string, ModelErrorCode>> = {
  AI_LoadAPIKeyError: "model-unauthorised",
  AI_LoadSettingError: "model-request-refused",
  AI_NoSuchModelError: "model-request-refused",
  AI_NoSuchProviderError: "model-request-refused",
  AI_InvalidPromptError: "model-request-refused",
  AI_InvalidArgumentError: "model-request-refused",
  AI_MessageConversionError: "model-request-refused",
  AI_MissingToolResultsError: "model-request-refused",
  AI_UnsupportedFunctionalityError: "model-request-refused",
  AI_DownloadError: "model-request-refused",
  AI_NoOutputGeneratedError: "model-unreachable",
  AI_JSONParseError: "model-stream-invalid",
  AI_TypeValidationError: "model-stream-invalid",
  AI_InvalidResponseDataError: "model-stream-invalid",
  AI_EmptyResponseBodyError: "model-stream-invalid",
  SyntaxError: "model-stream-invalid",
};

/** The error of a run that the SDK could not finish. Errors of ours stay as they are. */
export function aiSdkError(thrown: unknown): HeddleError {
  if (thrown instanceof HeddleError) return thrown;
  const context = { provider: ISSUER };
  const error = lastOf(thrown);
  if (!isRecord(error)) return modelError(context, { reason: String(error) });
  const reason = typeof error["message"] === "string" ? error["message"] : "";
  const { statusCode, responseBody, responseHeaders, data, name } = error;
  const status = typeof statusCode === "number" ? statusCode : undefined;
  if (status !== undefined || isRecord(data)) {
    const failure = failureOf(bodyOf(responseBody, data), status, headersOf(responseHeaders));
    return modelError(context, isTelling(failure.reason, status) ? failure : { ...failure, reason });
  }
  if (!(error instanceof Error)) return modelError(context, failureOf(error));
  const code = typeof name === "string" ? NAMES[name] : undefined;
  return modelError(context, { reason: `${reason}${causeOf(error)}` }, code ?? networkCode(error));
}

/** A failure of a tool, for the model and for people. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error);
  return redact(text ?? "The tool failed.");
}

function lastOf(error: unknown): unknown {
  const { lastError } = isRecord(error) ? error : {};
  return lastError ?? error;
}

const isTelling = (reason: string, status: number | undefined): boolean =>
  reason !== "" && reason !== `HTTP status ${status}`;

/** What the provider said. A page, which some proxy made, is no reason that anybody wants to read. */
function bodyOf(responseBody: unknown, data: unknown): unknown {
  if (typeof responseBody !== "string") return data;
  try {
    return JSON.parse(responseBody);
  } catch {
    return responseBody.trimStart().startsWith("<") ? undefined : responseBody;
  }
}

function headersOf(headers: unknown): Headers | undefined {
  if (!isRecord(headers)) return undefined;
  const known = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return new Headers(known);
}

/** `fetch` reports every kind of broken connection as a TypeError; the SDK wraps it into an error without a status. */
const networkCode = (error: Error): ModelErrorCode =>
  error.name === "AI_APICallError" || error instanceof TypeError ? "model-unreachable" : "model-failed";

function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error) || cause.message === "") return "";
  return ` (${cause.message}${causeOf(cause)})`;
}

/**
 * Every failure as `{"error":{"code","message","details"}}`, with the status of its code.
 *
 * Fastify's own errors are translated by their codes. What is neither ours nor a fault of the request is logged with
 * its stack, and the client learns only that it happened.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { HeddleError } from "../../protocol/index.ts";

/** Largest body that is read, in bytes. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** Answers with an error. Fits Fastify's `setErrorHandler` and `frameworkErrors`. */
export function replyError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const failure = toHeddleError(error, request);
  if (failure.code === "internal-error") request.log.error({ err: error }, "a request failed");
  void reply.code(failure.status).send(failure.toJSON());
}

/** Answers that nothing lives at this path. Fits Fastify's `setNotFoundHandler`. */
export function replyNotFound(request: FastifyRequest, reply: FastifyReply): void {
  const { method, url } = request;
  const path = url.split("?", 1)[0] ?? url;
  const message = `Nothing answers ${method} on this path: GET / says what does.`;
  replyError(new HeddleError("route-unknown", message, { method, path }), request, reply);
}

function toHeddleError(error: unknown, request: FastifyRequest): HeddleError {
  if (error instanceof HeddleError) return error;
  if (!isFastifyError(error)) return unknownFailure(error);
  switch (error.code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE": {
      const received = request.headers["content-type"] ?? "none";
      const message = "The body has to be JSON, and its content-type has to say so: application/json.";
      return new HeddleError("media-type-unsupported", message, { expected: "application/json", received });
    }
    case "FST_ERR_CTP_BODY_TOO_LARGE": {
      const declared = Number(request.headers["content-length"]);
      const actual = declared > MAX_BODY_BYTES ? declared : MAX_BODY_BYTES + 1;
      const details = { limit: "body", allowed: MAX_BODY_BYTES, actual };
      return new HeddleError("limit-exceeded", `The body is larger than ${MAX_BODY_BYTES} bytes.`, details);
    }
    default: {
      const { statusCode = 500 } = error;
      if (statusCode < 400 || statusCode >= 500) return unknownFailure(error);
      return new HeddleError("request-invalid", `${error.message}.`, { reason: error.code }, { cause: error });
    }
  }
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && "code" in error && "statusCode" in error;
}

function unknownFailure(cause: unknown): HeddleError {
  return new HeddleError("internal-error", "The server failed: its log has the cause.", {}, { cause });
}

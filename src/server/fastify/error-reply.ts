/**
 * Failures as Fastify replies. Its own errors are translated by their codes; what is neither ours nor a fault of the
 * request is logged with its stack, under the reference that the client gets.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { HeddleError } from "../../protocol/index.ts";
import { SAFE_HEADERS, bodyTooLarge, errorAnswer, unknownRoute, wrongMediaType } from "../http/index.ts";
import type { RefusalCounter } from "../http/index.ts";
import { loggedError } from "./logged-error.ts";

/** Answers to what goes wrong. */
export interface ErrorReplies {
  /** Answers with an error. Fits Fastify's `setErrorHandler` and `frameworkErrors`. */
  readonly replyError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;
  /** Answers that nothing lives at this path. Fits Fastify's `setNotFoundHandler`. */
  readonly replyNotFound: (request: FastifyRequest, reply: FastifyReply) => void;
}

/** Answers that are counted. */
export function errorReplies(onRefusal: RefusalCounter): ErrorReplies {
  const replyError: ErrorReplies["replyError"] = (error, request, reply) => {
    const onFault = (fault: unknown, reference: string): void =>
      request.log.error({ err: loggedError(fault), reference }, "a request failed");
    const { status, headers, body } = errorAnswer(translated(error, request), onFault, onRefusal);
    // Fastify closes the connection on a body that is too large: the client, still sending, might never see the answer.
    if (status === 413) void reply.removeHeader("connection");
    void reply
      .code(status)
      .headers({ ...SAFE_HEADERS, ...headers })
      .send(body);
  };
  const replyNotFound: ErrorReplies["replyNotFound"] = (request, reply) => {
    const { method, url } = request;
    replyError(unknownRoute(method, url.split("?", 1)[0] ?? url), request, reply);
  };
  return { replyError, replyNotFound };
}

function translated(error: unknown, request: FastifyRequest): unknown {
  if (error instanceof HeddleError || !isFastifyError(error)) return error;
  switch (error.code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return wrongMediaType(request.headers["content-type"]);
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return bodyTooLarge(Number(request.headers["content-length"]), request.routeOptions.bodyLimit);
    default: {
      const { statusCode = 500 } = error;
      if (statusCode < 400 || statusCode >= 500) return error;
      // Some of its sentences repeat the path, whatever its length, and some have no full stop.
      const message = `${error.message.slice(0, 200).replace(/\.$/, "")}.`;
      return new HeddleError("request-invalid", message, { reason: error.code }, { cause: error });
    }
  }
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && "code" in error && "statusCode" in error;
}

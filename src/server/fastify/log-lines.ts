/**
 * How things are told in the host's log: what a line is about, and what never stands in one.
 *
 * A request is told by its method and path, and of its query only what is no secret: who cannot send headers has a ticket there.
 * Headers and bodies are not told at all.
 */
import type { FastifyRequest } from "fastify";
import type { LogFields } from "../../agent/index.ts";
import type { Run } from "../index.ts";
import { loggedError } from "./logged-error.ts";

/** Query parameters that hold secrets. */
const SECRETS = /([?&](?:ticket|token|access_token)=)[^&#]*/gi;

/** Serialisers of a logger for requests. */
export const LOG_SERIALIZERS = {
  /** A request, without what is secret in it. */
  req: ({ method, url, host, ip }: FastifyRequest): Record<string, unknown> => ({
    method,
    url: url.replaceAll(SECRETS, "$1[redacted]"),
    host,
    remoteAddress: ip,
  }),
};

/** The run that a line is about. */
export const aboutRun = ({ agent, input: { threadId, runId }, tenant, traceId }: Run): LogFields => ({
  agent: agent.name,
  tenant,
  threadId,
  runId,
  ...(traceId !== undefined && { traceId }),
});

/** What an agent adds to a line: an error has its stack told, which loggers do under this name only. */
export function told({ error, ...fields }: LogFields): LogFields {
  return error === undefined ? fields : { ...fields, err: loggedError(error) };
}

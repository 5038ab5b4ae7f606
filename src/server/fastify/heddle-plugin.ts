/**
 * Heddle's routes as a Fastify plugin. Register it in an application of yours, under a prefix if you like; `serve`
 * is this plugin on a Fastify of its own.
 *
 * Error handler, body parser and hooks stay inside the plugin. A reader that goes away ends its stream and nothing
 * else: runs are stopped only when the application closes. There is no authentication yet.
 */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { HeddleError, decodeJson } from "../../protocol/index.ts";
import type { AgentCapabilities } from "../../protocol/index.ts";
import { createHeddle } from "../index.ts";
import type { Heddle, HeddleOptions } from "../index.ts";
import { Connections } from "./connections.ts";
import { MAX_BODY_BYTES, replyError } from "./error-reply.ts";
import { landingPage } from "./landing-page.ts";
import { goneSignal, streamEvents } from "./stream-events.ts";

/** Options of `heddlePlugin`. */
export interface HeddlePluginOptions extends HeddleOptions {
  /** How often an idle stream gets a comment, so that proxies keep it open. Default 10,000. */
  readonly keepAliveMs?: number;
  /** How long a reader may take for what was written to it before it is cut. Default 30,000. */
  readonly stallMs?: number;
}

/** How long readers may take to receive the rest when the server closes. */
const CLOSE_GRACE_MS = 1000;

/** The routes of Heddle. */
export const heddlePlugin: FastifyPluginAsync<HeddlePluginOptions> = async (app, options) => {
  const heddle = createHeddle({
    onError: (error, { agent, input: { threadId, runId } }) => {
      // What an agent refuses is its client's fault, and the client has the sentence: no need to alarm anybody.
      const level = error instanceof HeddleError && error.status < 500 ? "info" : "error";
      app.log[level]({ err: error, agent: agent.name, threadId, runId }, "a run failed");
    },
    onTrouble: (error) => app.log.error({ err: error }, "the store gives trouble"),
    ...options,
  });
  const { keepAliveMs = 10_000, stallMs = 30_000 } = options;
  const connections = new Connections({ keepAliveMs, stallMs });
  let closing = false;

  app.setErrorHandler(replyError);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, async (_: FastifyRequest, body: Buffer) =>
    decodeJson(body, { maxBytes: MAX_BODY_BYTES }),
  );
  app.addHook("onRequest", async () => {
    if (closing) throw new HeddleError("server-closing", "The server is shutting down: try again later.", {});
  });
  app.addHook("preClose", async () => {
    closing = true;
    connections.beginClose();
    await heddle.stop();
    await connections.closed(CLOSE_GRACE_MS);
    await heddle.close();
  });

  await heddle.open();
  statusRoutes(app, heddle);
  runRoutes(app, heddle, connections);
};

function statusRoutes(app: FastifyInstance, heddle: Heddle): void {
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async () => ({ status: "ready" }));

  app.get("/agents", async () => ({
    agents: heddle.agents.map(({ name }) => {
      const capabilities: AgentCapabilities = { identity: { name }, transport: { streaming: true, resumable: true } };
      return { name, url: `${app.prefix}/agents/${name}`, capabilities };
    }),
  }));

  app.get("/", async (request, reply) => {
    const names = heddle.agents.map(({ name }) => name);
    return reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'")
      .send(landingPage({ agents: names, origin: `${request.protocol}://${request.host}`, prefix: app.prefix }));
  });
}

function runRoutes(app: FastifyInstance, heddle: Heddle, connections: Connections): void {
  app.post<{ Params: { agent: string } }>("/agents/:agent", { bodyLimit: MAX_BODY_BYTES }, async (request, reply) => {
    const signal = goneSignal(reply);
    const { threadId, runId, warnings } = await heddle.start(request.params.agent, request.body);
    if (warnings.length > 0) request.log.warn({ warnings, threadId, runId }, "a run input was changed");
    const run = await heddle.attach(threadId, { runId, signal });
    const thread = `${app.prefix}/threads/${encodeURIComponent(threadId)}`;
    reply.header("content-location", `${thread}/runs/${encodeURIComponent(runId)}`);
    await streamEvents(reply, run, connections);
  });

  app.get<{ Params: { thread: string } }>(
    "/threads/:thread/events",
    { exposeHeadRoute: false },
    async (request, reply): Promise<FastifyReply | void> => {
      const signal = goneSignal(reply);
      // A reconnecting EventSource repeats its URL: the id that it saw last is the newer word.
      const after = headerOf(request, "last-event-id") ?? queryOf(request, "after");
      const options = { after, runId: queryOf(request, "run"), follow: flagOf(request, "follow", true), signal };
      const attachment = await heddle.attach(request.params.thread, options);
      if (attachment.finished) return reply.code(204).send();
      await streamEvents(reply, attachment, connections);
    },
  );
}

/** A header's value; empty counts as absent. */
function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A query parameter's value; empty counts as absent. Throws `query-invalid` where it is given twice. */
function queryOf(request: FastifyRequest, name: string): string | undefined {
  const { query } = request;
  if (typeof query !== "object" || query === null) return undefined;
  const value: unknown = Reflect.get(query, name);
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new HeddleError("query-invalid", `The parameter ${name} is given more than once.`, { parameter: name });
}

function flagOf(request: FastifyRequest, name: string, absent: boolean): boolean {
  const value = queryOf(request, name);
  if (value === undefined) return absent;
  if (value === "true" || value === "false") return value === "true";
  const details = { parameter: name, expected: "true or false", received: value.slice(0, 60) };
  throw new HeddleError("query-invalid", `The parameter ${name} is either true or false.`, details);
}

/** Spans of runs, read back from an in-memory exporter of OpenTelemetry. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SpanStatusCode, context, trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { remoteAgent } from "heddle/adapters/ag-ui";
import { defineAgent } from "heddle/agent";
import type { Event } from "heddle/protocol";
import type { Heddle } from "heddle/server";
import { serve } from "heddle/server/fastify";
import { expect, onTestFinished, test } from "vitest";
import { startTracing } from "./in-memory-tracing.ts";
import { eventsOf, post } from "./serve-agents.ts";
import { agentOf, bodyOf, collect, runToEnd, served } from "./served.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

const looker = agentOf(async ({ emit }) => {
  await emit.reasoning().write("The secret thought.");
  const call = emit.toolCall("look");
  await call.args('{"at":"the secret place"}');
  await emit.toolResult(call.id, "the secret result");
  await emit.text().write("The secret answer.");
  emit.usage({ provider: "acme", model: "loom-1", inputTokens: 30, outputTokens: 12, cachedInputTokens: 20 });
});

/** Runs to the end, and waits for whatever is done on the side. */
async function runAndClose(heddle: Heddle, traceparent?: string): Promise<readonly Event[]> {
  const { runId } = await heddle.start("test", bodyOf(), { trace: { traceparent } });
  const events = (await collect(heddle, { runId })).map(({ event }) => event);
  await heddle.close();
  return events;
}

const oursOf = (events: readonly object[]): unknown => Object(Object(events[0])["metadata"])["heddle"];

const idOf = (span: ReadableSpan | undefined): string | undefined => span?.spanContext().spanId;
const traceOf = (span: ReadableSpan | undefined): string | undefined => span?.spanContext().traceId;

test("HTTP-OPS-2: a run is a span below its request's, with a span for each tool call and each step of the model", async () => {
  const { tracerProvider, spans, named } = startTracing();
  const events = await runAndClose(served(looker, { telemetry: { tracerProvider } }), TRACEPARENT);
  const [run] = named("agui.run");
  expect(run?.parentSpanContext).toMatchObject({ traceId: TRACE, spanId: SPAN, isRemote: true });
  expect(run?.attributes).toEqual({
    "agui.thread.id": "t1",
    "agui.run.id": "r1",
    "agui.tenant": "default",
    "agui.outcome": "finished",
    "agui.event.count": events.length,
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "test",
    "gen_ai.conversation.id": "t1",
    "gen_ai.response.model": "loom-1",
    "gen_ai.usage.input_tokens": 30,
    "gen_ai.usage.output_tokens": 12,
    "gen_ai.usage.cache_read.input_tokens": 20,
  });
  expect(spans().map(({ name }) => name)).toEqual(["chat", "execute_tool look", "chat", "agui.run"]);
  for (const below of spans().slice(0, -1)) expect(below.parentSpanContext?.spanId).toBe(idOf(run));
  expect(named("execute_tool look")[0]?.attributes).toMatchObject({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "look",
    "gen_ai.tool.call.id": expect.any(String),
    "agui.tool.outcome": "completed",
  });
  expect(oursOf(events)).toMatchObject({ traceId: TRACE, traceparent: `00-${TRACE}-${idOf(run)}-01` });
  // Spans say what happened, and never what was said.
  expect(JSON.stringify(spans().map(({ attributes, name }) => [name, attributes]))).not.toContain("secret");
});

test("HTTP-OPS-2: without a trace of the request, or with one that cannot be read, a run begins one", async () => {
  const { tracerProvider, named } = startTracing();
  for (const traceparent of [undefined, "00-nonsense-01"]) {
    const events = await runAndClose(served(looker, { telemetry: { tracerProvider } }), traceparent);
    const run = named("agui.run").at(-1);
    expect(run?.parentSpanContext).toBeUndefined();
    expect(oursOf(events)).toMatchObject({ traceId: traceOf(run) });
  }
});

test("HTTP-OPS-2: where nobody keeps spans, a run has the trace of its request, or none", async () => {
  expect(oursOf(await runAndClose(served(looker), TRACEPARENT))).toMatchObject({
    traceId: TRACE,
    traceparent: TRACEPARENT,
  });
  for (const traceparent of [undefined, "00-nonsense-01"]) {
    const ours = oursOf(await runAndClose(served(looker), traceparent));
    expect(Object.keys(Object(ours))).toEqual(["lineage"]);
  }
});

test("HTTP-OPS-2: a span of the host that is active comes before the headers", async () => {
  const { tracerProvider, named } = startTracing();
  const heddle = served(looker, { telemetry: { tracerProvider } });
  const host = tracerProvider.getTracer("host").startSpan("POST /chat");
  await context.with(trace.setSpan(context.active(), host), () => runAndClose(heddle, TRACEPARENT));
  host.end();
  expect(named("agui.run")[0]?.parentSpanContext?.spanId).toBe(host.spanContext().spanId);
});

test("HTTP-OPS-2: a run that had to wait begins a trace of its own, whoever let it begin", async () => {
  const { tracerProvider, named } = startTracing();
  const gate = Promise.withResolvers<void>();
  const heddle = served(
    agentOf(() => gate.promise),
    { telemetry: { tracerProvider } },
  );
  // Whatever is active when the first one is asked for is still active when it ends.
  const host = tracerProvider.getTracer("host").startSpan("POST /chat");
  await context.with(trace.setSpan(context.active(), host), () => heddle.start("test", bodyOf("r1")));
  const waiting = await heddle.start("test", bodyOf("r2"), { onBusy: "enqueue", trace: { traceparent: TRACEPARENT } });
  expect(waiting.queued).toBe(1);
  const second = collect(heddle, { runId: "r2", queued: true });
  gate.resolve();
  const events = (await second).map(({ event }) => event);
  await heddle.close();
  const [first, later] = named("agui.run");
  expect([traceOf(first), later?.parentSpanContext]).toEqual([host.spanContext().traceId, undefined]);
  expect(oursOf(events)).toMatchObject({ traceId: traceOf(later) });
});

test("spans that an agent's own libraries make are below its run, whichever way it speaks", async () => {
  const { tracerProvider, named } = startTracing();
  const library = tracerProvider.getTracer("library");
  const query = async (): Promise<void> => {
    await Promise.resolve();
    library.startSpan("SELECT").end();
  };
  const agents = [
    agentOf(async () => query(), "function"),
    agentOf(async function* (): AsyncGenerator<Event> {
      await query();
      yield { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" };
      await query();
      yield { type: "TEXT_MESSAGE_END", messageId: "m1" };
    }, "generator"),
  ];
  const heddle = served(agents, { telemetry: { tracerProvider } });
  await runToEnd(heddle, bodyOf("r1"), "function");
  await runToEnd(heddle, bodyOf("r2", { threadId: "t2" }), "generator");
  await heddle.close();
  const [first, second] = named("agui.run");
  const above = named("SELECT").map(({ parentSpanContext }) => parentSpanContext?.spanId);
  expect(above).toEqual([idOf(first), idOf(second), idOf(second)]);
});

test("how a run and its tools fail is told by code; a call that is left open ends with its run", async () => {
  const { tracerProvider, named } = startTracing();
  const heddle = served(
    agentOf(async ({ emit }) => {
      const broken = emit.toolCall("weave");
      await emit.toolResult(broken.id, "no yarn", { error: "no yarn" });
      emit.toolCall("ask_user");
      throw new Error("the secret reason");
    }),
    { telemetry: { tracerProvider } },
  );
  await runAndClose(heddle);
  const [run] = named("agui.run");
  expect([run?.status.code, run?.attributes["error.type"], run?.attributes["agui.outcome"]]).toEqual([
    SpanStatusCode.ERROR,
    "agent-failed",
    "failed",
  ]);
  expect(named("execute_tool weave")[0]?.status.code).toBe(SpanStatusCode.ERROR);
  expect(named("execute_tool ask_user")[0]?.attributes["agui.tool.outcome"]).toBe("pending");
  expect(JSON.stringify([run?.attributes, run?.status, run?.events])).not.toContain("secret");
});

/** An agent elsewhere, and the headers that it was called with. */
async function startElsewhere(): Promise<{ readonly url: string; readonly seen: NodeJS.Dict<string | string[]>[] }> {
  const seen: NodeJS.Dict<string | string[]>[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const frame = { threadId: "t1", runId: "r1" };
    for (const type of ["RUN_STARTED", "RUN_FINISHED"])
      response.write(`data: ${JSON.stringify({ type, ...frame })}\n\n`);
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port }: AddressInfo = Object(server.address());
  return { url: `http://127.0.0.1:${port}/`, seen };
}

test("HTTP-OPS-3: an agent elsewhere is told the trace: of the run, or where nobody keeps spans of the request", async () => {
  const { tracerProvider, named } = startTracing();
  const { url, seen } = await startElsewhere();
  const far = remoteAgent({ name: "test", url });
  const own = remoteAgent({ name: "test", url, headers: { TraceParent: `00-${TRACE}-00f067aa0ba902b7-00` } });
  await runAndClose(served(far, { telemetry: { tracerProvider } }), TRACEPARENT);
  await runAndClose(served(far), TRACEPARENT);
  await runAndClose(served(far));
  await runAndClose(served(own), TRACEPARENT);
  expect(seen.map(({ traceparent }) => traceparent)).toEqual([
    `00-${TRACE}-${idOf(named("agui.run")[0])}-01`,
    TRACEPARENT,
    undefined,
    `00-${TRACE}-00f067aa0ba902b7-00`,
  ]);
});

test("HTTP-OPS-4: over HTTP, the trace of a request is that of its run, and an annotation of the run is a span in it", async () => {
  const { tracerProvider, named } = startTracing();
  const options = { agents: [looker], telemetry: { tracerProvider } };
  const server = await serve({ ...options, port: 0, host: "127.0.0.1" });
  const headers = { "content-type": "application/json", traceparent: TRACEPARENT, tracestate: "vendor=a" };
  const events = await eventsOf(post(`${server.url}/agents/test`, {}, { headers }));
  expect(oursOf(events)).toMatchObject({ traceId: TRACE });
  const body = JSON.stringify({ metaType: "thumbs_up", payload: { score: 1 }, runId: "r1" });
  const annotated = await fetch(`${server.url}/threads/t1/annotations`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  expect(annotated.status).toBe(201);
  await server.close();
  const [run] = named("agui.run");
  const [thumb] = named("agui.annotation");
  expect(run?.parentSpanContext?.traceState?.serialize()).toBe("vendor=a");
  expect([traceOf(thumb), thumb?.parentSpanContext?.spanId]).toEqual([TRACE, idOf(run)]);
  expect(thumb?.attributes).toMatchObject({
    "agui.run.id": "r1",
    "agui.meta.type": "thumbs_up",
    "agui.meta.payload": '{"score":1}',
  });
});

test("an annotation of a run that has no trace is in none", async () => {
  const { tracerProvider, spans } = startTracing();
  const first = served(looker);
  await runToEnd(first);
  const second = served(defineAgent({ name: "test", run: () => undefined }), {
    store: first.store,
    telemetry: { tracerProvider },
  });
  await second.threads.annotate("t1", { metaType: "note" });
  await second.close();
  await first.close();
  expect(spans()).toEqual([]);
});

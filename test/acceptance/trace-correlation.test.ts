/**
 * Want 29, on server processes that were started with OpenTelemetry: a page's stock client sends its trace, and reads the id of
 * the trace of its run; the server is started anew, and the thumbs-up that the page sends then is in that trace. The page is a
 * client in this process; the spans are those that the server processes wrote.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { HttpAgent } from "@ag-ui/client";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { attachTo } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { eventsOf } from "./thread-log.ts";
import type { WrittenSpan } from "./tracing-preload.ts";

const PAGE_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PAGE_SPAN = "00f067aa0ba902b7";
const PRELOAD = pathToFileURL(join(import.meta.dirname, "tracing-preload.ts")).href;

/** Asks for a run as a page does, and gives the trace id that it can read. */
async function ask(url: string, runId: string, headers: Record<string, string>): Promise<unknown> {
  const client = new HttpAgent({ url: `${url}/agents/worker`, threadId: "t1", headers });
  client.addMessage({ id: `ask-${runId}`, role: "user", content: "How many looms?" });
  let read: unknown;
  await client.runAgent({ runId }, { onRunStartedEvent: ({ event }) => void (read = Object(event).metadata) });
  return Object(Object(read).heddle).traceId;
}

test("want 29: the browser can read the trace id of a run, and a thumbs-up lands on that trace", async () => {
  const gates = await startGates();
  for (const runId of ["r1", "r2"]) gates.open(`t1 ${runId} middle`);
  const store = await sqliteFile();
  const file = `${store.replace("sqlite:", "")}.spans`;
  const env = { NODE_OPTIONS: `--import ${PRELOAD}`, TRACE_FILE: file };
  const first = await acceptanceServer(gates, { store, env });
  const traceparent = `00-${PAGE_TRACE}-${PAGE_SPAN}-01`;
  expect(await ask(first.url, "r1", { traceparent })).toBe(PAGE_TRACE);
  // Without a trace of the page's own the run begins one.
  const own = await ask(first.url, "r2", {});
  expect(own).toMatch(/^[0-9a-f]{32}$/);
  expect(own).not.toBe(PAGE_TRACE);
  expect(await first.stop()).toBe(0);

  const second = await acceptanceServer(gates, { store, env });
  const [started] = await eventsOf(await attachTo(second.url, "t1", "r1"));
  expect(started).toMatchObject({ type: "RUN_STARTED", metadata: { heddle: { traceId: PAGE_TRACE } } });
  const answer = await fetch(`${second.url}/threads/t1/annotations`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ metaType: "thumbs_up", payload: { score: 1 }, runId: "r1" }),
  });
  expect(answer.status).toBe(201);
  expect(await second.stop()).toBe(0);

  const spans: readonly WrittenSpan[] = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const runs = spans.filter(({ name }) => name === "agui.run");
  expect(runs).toMatchObject([
    { traceId: PAGE_TRACE, parentSpanId: PAGE_SPAN, attributes: { "agui.run.id": "r1", "agui.outcome": "finished" } },
    { traceId: own, attributes: { "agui.run.id": "r2" } },
  ]);
  const tools = spans.filter(({ name }) => name.startsWith("execute_tool"));
  expect(tools.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual(
    runs.flatMap(({ spanId }) => [
      ["execute_tool count_looms", spanId],
      ["execute_tool save_count", spanId],
    ]),
  );
  expect(spans.filter(({ name }) => name === "agui.annotation")).toMatchObject([
    {
      traceId: PAGE_TRACE,
      parentSpanId: runs[0]?.spanId,
      attributes: { "agui.meta.type": "thumbs_up", "agui.meta.payload": '{"score":1}', "agui.run.id": "r1" },
    },
  ]);
});

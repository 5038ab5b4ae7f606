/** Metrics of a server, read back by a parser of Prometheus' text form, and by a reader of the host's own. */
import { readFileSync } from "node:fs";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { defineAgent, defineTool } from "heddle/agent";
import { HeddleError } from "heddle/protocol";
import type { Event } from "heddle/protocol";
import { METRICS, createHeddle } from "heddle/server";
import { memoryStore } from "heddle/store";
import { expect, onTestFinished, test } from "vitest";
import { readMetrics, scrape } from "./prometheus-text.ts";
import { eventsOf, post, serveAgents } from "./serve-agents.ts";
import { agentOf, bodyOf, runToEnd, served } from "./served.ts";

const look = defineTool({
  name: "look",
  description: "Looks.",
  parameters: { type: "object" },
  execute: () => "42",
});

const agent = defineAgent({
  name: "looker",
  tools: [look],
  async run({ emit }) {
    const call = emit.toolCall("look");
    await call.args("{}");
    await emit.toolResult(call.id, "42");
    await emit.text().write("It is 42.");
  },
});

const sloppy = defineAgent({
  name: "sloppy",
  async *run(): AsyncGenerator<Event> {
    yield { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "never opened" };
  },
});

const failing = defineAgent({ name: "failing", run: () => Promise.reject(new Error("out of yarn")) });

/** Runs an agent to its end. */
const run = (url: string, name: string, threadId: string): Promise<readonly unknown[]> =>
  eventsOf(post(`${url}/agents/${name}`, { threadId }));

test("HTTP-OPS-1: runs, events, commits, tools, repairs and refusals are counted, and a parser of Prometheus reads it", async () => {
  const url = await serveAgents({ agents: [agent, sloppy, failing] });
  const before = await scrape(url);
  expect(before.value("heddle_runs_started_total", { agent: "looker" })).toBe(0);
  expect(before.value("heddle_runs_reaped_total")).toBe(0);
  const told = [...(await run(url, "looker", "t1")), ...(await run(url, "looker", "t2"))];
  await run(url, "sloppy", "t3");
  await run(url, "failing", "t4");
  expect((await fetch(`${url}/threads/unknown`)).status).toBe(404);
  expect((await fetch(`${url}/nowhere`)).status).toBe(404);
  expect((await post(`${url}/agents/nobody`, {})).status).toBe(404);

  const { types, helps, value } = await scrape(url);
  expect([...types.keys()].toSorted()).toEqual(
    Object.values(METRICS)
      .map(({ name }) => name)
      .toSorted(),
  );
  for (const { name, kind, help } of Object.values(METRICS)) {
    expect([types.get(name), helps.get(name)]).toEqual([kind.toUpperCase(), help]);
  }
  expect(value("heddle_runs_started_total", { agent: "looker" })).toBe(2);
  expect(value("heddle_runs_ended_total", { agent: "looker", status: "finished" })).toBe(2);
  expect(value("heddle_runs_ended_total", { agent: "failing", status: "failed" })).toBe(1);
  expect(value("heddle_runs_running")).toBe(0);
  expect(value("heddle_run_duration_seconds_count", { agent: "looker" })).toBe(2);
  expect(value("heddle_run_first_event_seconds_count", { agent: "looker" })).toBe(2);
  expect(value("heddle_run_first_event_seconds_bucket", { agent: "looker", le: "60" })).toBe(2);
  expect(value("heddle_events_total", { agent: "looker" })).toBe(told.length);
  expect(value("heddle_tool_duration_seconds_count", { tool: "look" })).toBe(2);
  expect(value("heddle_commit_seconds_count")).toBeGreaterThanOrEqual(4);
  expect(value("heddle_commit_batches_total")).toBeGreaterThanOrEqual(4);
  expect(value("heddle_repairs_total", { rule: "not-open" })).toBe(1);
  expect(value("heddle_rejections_total", { code: "thread-unknown" })).toBe(1);
  expect(value("heddle_rejections_total", { code: "route-unknown" })).toBe(1);
  expect(value("heddle_rejections_total", { code: "agent-unknown" })).toBe(1);
});

test("HTTP-OPS-1: names that a model makes up are counted apart up to a bound, and ids are in no label", async () => {
  const inventive = defineAgent({
    name: "inventive",
    tools: [look],
    async run({ emit }) {
      for (let index = 0; index < 80; index++) {
        const call = emit.toolCall(index === 79 ? "look" : `made-up-${index}`);
        await emit.toolResult(call.id, "done");
      }
      const long = emit.toolCall("x".repeat(5000));
      await emit.toolResult(long.id, "done");
    },
  });
  const url = await serveAgents({ agents: [inventive] });
  await eventsOf(post(`${url}/agents/inventive`, { threadId: "thread-17", runId: "run-17" }));
  const { series, value } = await scrape(url);
  const tools = new Set(series.flatMap(({ labels }) => labels["tool"] ?? []));
  expect(tools.size).toBe(50 + "other and look".split(" and ").length);
  expect(value("heddle_tool_duration_seconds_count", { tool: "look" })).toBe(1);
  expect(value("heddle_tool_duration_seconds_count", { tool: "other" })).toBe(79 - 50 + 1);
  expect(JSON.stringify(series)).not.toMatch(/thread-17|run-17/);
});

test("viewers, and how far the slowest is behind", async () => {
  const gate = Promise.withResolvers<void>();
  const heddle = served(
    agentOf(async ({ emit }) => {
      await gate.promise;
      await emit.text().write("Hello.");
    }),
  );
  onTestFinished(() => heddle.close());
  const now = async () => readMetrics(await heddle.telemetry.scrape());
  await heddle.start("test", bodyOf());
  const slow = (await heddle.attach("t1", { runId: "r1" })).events[Symbol.asyncIterator]();
  expect((await slow.next()).value).toMatchObject({ seq: 1 });
  const begun = await now();
  expect([begun.value("heddle_viewers"), begun.value("heddle_viewer_lag_events")]).toEqual([1, 0]);
  expect(begun.value("heddle_runs_running")).toBe(1);
  gate.resolve();
  const quick: unknown[] = [];
  for await (const logged of (await heddle.attach("t1", { runId: "r1" })).events) quick.push(logged);
  const behind = await now();
  expect([behind.value("heddle_viewers"), behind.value("heddle_viewer_lag_events")]).toEqual([1, quick.length - 1]);
  while ((await slow.next()).done !== true) continue;
  const over = await now();
  expect([over.value("heddle_viewers"), over.value("heddle_viewer_lag_events")]).toEqual([0, 0]);
});

test("runs that another worker left, and failures of the store", async () => {
  let nowMs = 1000;
  const inner = memoryStore({ nowMs: () => nowMs });
  const key = { tenant: "default", threadId: "left", runId: "r1" };
  const started: Event = { type: "RUN_STARTED", threadId: "left", runId: "r1" };
  await inner.claim({ ...key, agent: "test", leaseMs: 500, events: [JSON.stringify(started)] });
  nowMs += 500;
  let failures = 1;
  const store: typeof inner = {
    ...inner,
    async append(batches) {
      if (batches[0]?.lease.threadId !== "left" && failures-- > 0) {
        throw new HeddleError("store-unavailable", "The store is away.", {});
      }
      return inner.append(batches);
    },
  };
  const heddle = served(
    agentOf(({ emit }) => emit.text().write("Hello.")),
    { store, onTrouble: () => undefined },
  );
  onTestFinished(() => heddle.close());
  await runToEnd(heddle);
  const { value } = readMetrics(await heddle.telemetry.scrape());
  expect(value("heddle_runs_reaped_total")).toBe(1);
  expect(value("heddle_store_errors_total", { code: "store-unavailable" })).toBe(1);
  expect(value("heddle_store_errors_total", { code: "store-full" })).toBe(0);
});

test("a host with meters of its own gets the same numbers", async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => meterProvider.shutdown());
  const heddle = createHeddle({
    agents: [agentOf(({ emit }) => emit.text().write("Hi."))],
    telemetry: { meterProvider },
  });
  onTestFinished(() => heddle.close());
  await runToEnd(heddle);
  await meterProvider.forceFlush();
  const told = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  const named = new Map(told.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
  expect(named.get("heddle_runs_started_total")).toMatchObject([{ value: 1, attributes: { agent: "test" } }]);
  expect(named.get("heddle_run_duration_seconds")).toMatchObject([{ value: { count: 1 } }]);
});

test("docs/operations.md has every metric, as the table in the source says it", () => {
  const documented = readFileSync("docs/operations.md", "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| `heddle_"));
  const rows = Object.values(METRICS).map(
    ({ name, kind, unit, labels, help }) =>
      `| \`${name}\` | ${kind} | ${unit} | ${labels.join(", ") || "none"} | ${help} |`,
  );
  expect(documented).toEqual(rows);
});

/** The routes of threads over real sockets. */
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { once } from "node:events";
import { json } from "node:stream/consumers";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fillThread, said, wholeRun } from "../../../test/stored-thread.ts";
import { defineAgent } from "../../agent/index.ts";
import { memoryStore } from "../../store/index.ts";
import type { Store } from "../../store/index.ts";
import { serve } from "./index.ts";
import type { Served } from "./index.ts";

const echo = defineAgent({ name: "echo", run: ({ emit }) => void emit.text().write("hello") });

/** Calls a tool, and then waits until it is stopped. */
const waiting = defineAgent({
  name: "waiting",
  run: async ({ emit, signal }) => {
    emit.usage({ inputTokens: 3, outputTokens: 4 });
    const call = emit.toolCall("weave");
    await call.args('{"warp":1}');
    await call.end();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  },
});

const KEY = { tenant: "default", threadId: "t1" };
const NDJSON = "application/x-ndjson";

let store: Store;
let server: Served;

beforeEach(async () => {
  store = memoryStore();
  server = await serve({ agents: [echo, waiting], store, port: 0, host: "127.0.0.1", shutdownGraceMs: 20 });
});

afterEach(() => server.close());

const call = (path: string, init?: RequestInit): Promise<Response> => fetch(`${server.url}${path}`, init);

/** Status and body of an answer. */
async function told(path: string, init?: RequestInit): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await call(path, init);
  const body = await response.text();
  return { status: response.status, body: body === "" ? {} : JSON.parse(body) };
}

const refused = (status: number, code: string, details: object = {}) => ({
  status,
  body: { error: { code, message: expect.any(String), details: expect.objectContaining(details) } },
});

const patch = (path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }> =>
  told(path, { method: "PATCH", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

const run = (agent: string, threadId: string, runId = "r1"): Promise<Response> =>
  call(`/agents/${agent}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId,
      runId,
      messages: [{ id: `u-${runId}`, role: "user", content: "Hi" }],
      protocolVersion: "1.0",
    }),
  });

const brought = (body: RequestInit["body"], query = "", type = NDJSON) =>
  told(`/threads/import${query}`, {
    method: "POST",
    headers: { "content-type": type },
    body,
    duplex: "half",
  } as RequestInit);

async function idsOf(query: string): Promise<readonly string[]> {
  const { threads }: { threads: { threadId: string }[] } = await (await call(`/threads${query}`)).json();
  return threads.map(({ threadId }) => threadId).toSorted();
}

/** The frames of a live list. */
async function* framesOf(query = ""): AsyncGenerator<unknown, void, undefined> {
  const response = await call(`/threads${query}`, { headers: { accept: "text/event-stream" } });
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "text/event-stream",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  });
  const events = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { id, data } of events ?? []) {
    expect(id).toBeUndefined();
    yield JSON.parse(data);
  }
}

describe("the list", () => {
  test("HTTP-THR-1: pages, search, what is put away", async () => {
    for (const threadId of ["a", "b", "c"]) await (await run("echo", threadId)).text();
    await store.updateThread({ ...KEY, threadId: "a" }, { title: "Weaving", metadata: { n: 1 } });
    const first = await told("/threads?limit=2");
    expect(first).toMatchObject({ status: 200, body: { threads: [{}, {}], next: expect.any(String) } });
    const next = encodeURIComponent(String(first.body["next"]));
    const second = await told(`/threads?limit=2&after=${next}`);
    expect(second.body).toEqual({ threads: [expect.anything()] });
    const found = await told("/threads?q=WEAV");
    expect(found.body).toEqual({
      threads: [
        {
          threadId: "a",
          title: "Weaving",
          archived: false,
          metadata: { n: 1 },
          head: "r1",
          status: "finished",
          createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
          updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ],
    });
    await patch("/threads/b", { archived: true });
    expect(await idsOf("")).toEqual(["a", "c"]);
    expect(await idsOf("?archived=true")).toEqual(["b"]);
    expect(await idsOf("?archived=any")).toEqual(["a", "b", "c"]);
    for (const query of ["limit=0", "limit=201", "limit=x", "archived=maybe", "after=x", "q=a&q=b"]) {
      expect(await told(`/threads?${query}`)).toEqual(refused(400, "query-invalid"));
    }
  });

  test("HTTP-THR-2: live, over changes of this process and of another, to the end of the server", async () => {
    await (await run("echo", "a")).text();
    const frames = framesOf();
    expect((await frames.next()).value).toMatchObject({
      type: "page",
      threads: [{ threadId: "a", status: "finished" }],
    });
    await (await run("waiting", "b")).body?.cancel();
    expect((await frames.next()).value).toMatchObject({
      type: "changed",
      thread: { threadId: "b", status: "running" },
    });
    await patch("/threads/a", { title: "Renamed" });
    expect((await frames.next()).value).toMatchObject({ type: "changed", thread: { threadId: "a", title: "Renamed" } });
    expect(await told("/threads/a", { method: "DELETE" })).toEqual({ status: 204, body: {} });
    expect((await frames.next()).value).toEqual({ type: "gone", threadId: "a" });
    // Nobody here knows of this one.
    await wholeRun(store, { ...KEY, threadId: "elsewhere" }, "r1", {}, said("m", "Hi"));
    expect((await frames.next()).value).toMatchObject({ thread: { threadId: "elsewhere" } });
    expect(await told("/threads?after=1_a", { headers: { accept: "text/event-stream" } })).toEqual(
      refused(400, "query-invalid", { parameter: "after" }),
    );
    await server.close();
    const rest: unknown[] = [];
    for await (const frame of frames) rest.push(frame);
    expect(rest).toEqual([]);
  });
});

describe("one thread", () => {
  test("HTTP-THR-3: its runs as a tree, tokens added up, the ends of branches, and what is open", async () => {
    await fillThread(store, KEY);
    const { body } = await told("/threads/t1");
    const logId = (await store.thread(KEY))?.logId;
    expect(body).toMatchObject({
      threadId: "t1",
      title: "A title",
      metadata: { tags: ["a", "b"] },
      head: "r4",
      status: "interrupted",
      heads: ["r3", "r4"],
      interrupts: [{ id: "q1", message: "May I?" }],
      pendingToolCallIds: [],
      events: 31,
      droppedEvents: 16,
      lastEventId: `${logId}_0000000000000031`,
    });
    expect(body["runs"]).toMatchObject([
      { runId: "r1", agent: "writer", status: "finished", firstEventId: `${logId}_0000000000000001` },
      { runId: "r2", parentRunId: "r1", kind: "continue" },
      { runId: "r3", parentRunId: "r1", kind: "branch", status: "failed", error: { code: "agent-failed" } },
      { runId: "r4", parentRunId: "r2", startedAt: expect.any(String), durationMs: expect.any(Number) },
      { runId: "r5", kind: "spawn", agent: "helper" },
    ]);
    await (await run("waiting", "t2")).body?.cancel();
    await told("/threads/t2/runs/r1/cancel", { method: "POST" });
    const sum = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
    expect((await told("/threads/t2")).body).toMatchObject({ tokens: sum, runs: [{ tokens: sum }] });
    expect(JSON.stringify(body)).not.toContain('"ada"');
  });

  test("HTTP-THR-4: changed by name, and refused as a whole", async () => {
    await fillThread(store, KEY);
    expect(await patch("/threads/t1", { title: "Other", head: "r3" })).toMatchObject({
      status: 200,
      body: { title: "Other", head: "r3", status: "failed", metadata: { tags: ["a", "b"] } },
    });
    expect((await patch("/threads/t1", { title: null })).body).not.toHaveProperty("title");
    const before = await store.thread(KEY);
    expect(await patch("/threads/t1", { title: "x", archived: 1 })).toEqual(
      refused(400, "input-invalid", { path: "/archived", expected: "true or false", received: "1" }),
    );
    expect(await patch("/threads/t1", { head: "r9" })).toEqual(refused(404, "run-unknown", { runId: "r9" }));
    const wrong = { method: "PATCH", headers: { "content-type": "text/plain" }, body: "{}" };
    expect(await told("/threads/t1", wrong)).toEqual(refused(415, "media-type-unsupported"));
    expect(await store.thread(KEY)).toEqual(before);
  });

  test("HTTP-THR-5: deleted, with what runs in it", async () => {
    const following = await run("waiting", "t1");
    expect(await told("/threads/t1", { method: "DELETE" })).toEqual({ status: 204, body: {} });
    expect(await following.text()).toContain('"outcome":{"type":"cancelled"}');
    expect(await store.thread(KEY)).toBeUndefined();
  });

  test("HTTP-THR-6, HTTP-THR-7: a snapshot, in the middle of a run too, with tool calls and their times", async () => {
    await (await run("echo", "t1", "r0")).text();
    await (await run("waiting", "t1")).body?.cancel();
    const live = await told("/threads/t1/snapshot");
    expect(live.body).toMatchObject({
      threadId: "t1",
      runId: "r1",
      messages: [
        { role: "user" },
        { role: "assistant", content: "hello" },
        { role: "user" },
        { role: "assistant", toolCalls: [{}] },
      ],
      state: {},
      interrupts: [],
      pendingToolCallIds: [],
      toolCalls: [{ name: "weave", arguments: '{"warp":1}', status: "pending", startedAt: expect.any(String) }],
    });
    const times = Object(live.body["messageTimes"]);
    expect(Object.keys(times)).toHaveLength(4);
    await told("/threads/t1/runs/r1/cancel", { method: "POST" });
    const { body } = await told("/threads/t1/snapshot");
    expect(body["toolCalls"]).toMatchObject([
      { status: "failed", endedAt: expect.any(String), durationMs: expect.any(Number) },
    ]);
    // What follows the snapshot is what is missing in it.
    const { body: earlier } = await told("/threads/t1/snapshot?at=r0");
    expect(earlier).toMatchObject({ runId: "r0", toolCalls: [] });
    const rest = await (await call(`/threads/t1/events?follow=false&after=${earlier["eventId"]}`)).text();
    expect(rest).toMatch(/^id: \S+\ndata: \{"type":"RUN_STARTED"/);
    expect((await told(`/threads/t1/snapshot?at=${earlier["eventId"]}`)).body).toEqual(earlier);
    expect(await told("/threads/t1/snapshot?at=r9")).toEqual(refused(404, "run-unknown"));
    const foreign = "abcdefghijkl_0000000000000001";
    expect(await told(`/threads/t1/snapshot?at=${foreign}`)).toEqual(
      refused(400, "cursor-invalid", { reason: "foreign" }),
    );
  });

  test("HTTP-THR-10: a thread that is not there is unknown, whatever is asked of it", async () => {
    const asked: readonly [string, string][] = [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["GET", "/snapshot"],
      ["GET", "/snapshot?at=r1"],
      ["GET", "/export"],
      ["GET", "/events"],
      ["GET", "/runs/r1"],
      ["POST", "/runs/r1/cancel"],
    ];
    for (const [method, path] of asked) {
      const body = method === "PATCH" ? { headers: { "content-type": "application/json" }, body: "{}" } : {};
      const answer = await told(`/threads/no%20such${path}`, { method, ...body });
      expect([method, path, answer]).toEqual([method, path, refused(404, "thread-unknown", { threadId: "no such" })]);
    }
  });
});

describe("copies", () => {
  test("HTTP-THR-8, HTTP-THR-9: out and in again, under its own id and another", async () => {
    await fillThread(store, KEY);
    const answer = await call("/threads/t1/export");
    expect(answer.headers.get("content-type")).toBe(NDJSON);
    const lines = await answer.text();
    expect(lines.trimEnd().split("\n")).toHaveLength(1 + 5 + 13 + 15 + 1);
    expect(await brought(lines)).toEqual(refused(409, "thread-exists", { threadId: "t1" }));
    const copied = await brought(lines, "?as=a%2Fb");
    expect(copied).toMatchObject({
      status: 201,
      body: { thread: { threadId: "a/b", title: "A title" }, runs: 5, events: 15, closedRunIds: [] },
    });
    const before = await told("/threads/t1/snapshot");
    await told("/threads/t1", { method: "DELETE" });
    const back = await call("/threads/import", { method: "POST", headers: { "content-type": NDJSON }, body: lines });
    expect(back.headers.get("location")).toBe("/threads/t1");
    expect(await (await call("/threads/t1/export")).text()).toBe(lines);
    const after = await told("/threads/t1/snapshot");
    expect({ ...after.body, eventId: "" }).toEqual({ ...before.body, eventId: "" });
  });

  test("a broken line is named, also in the first of many bytes, and nothing is changed", async () => {
    await fillThread(store, KEY);
    const lines = (await (await call("/threads/t1/export")).text()).split("\n");
    const broken = lines.with(3, "{").join("\n");
    expect(await brought(broken, "?as=copy")).toEqual(refused(400, "import-invalid", { line: 4 }));
    const rubbish = Buffer.alloc(8 * 1024 * 1024, "x\n");
    expect(await brought(rubbish, "?as=copy")).toEqual(refused(400, "import-invalid", { line: 1 }));
    const cut = lines.slice(0, -2).join("\n");
    expect(await brought(cut, "?as=copy")).toEqual(refused(400, "import-invalid"));
    expect((await store.listThreads({ tenant: "default" })).threads).toHaveLength(1);
  });

  test("only lines are read, and only so many bytes", async () => {
    expect(await brought("{}", "", "application/json")).toEqual(
      refused(415, "media-type-unsupported", { expected: NDJSON, received: "application/json" }),
    );
    expect(await told("/threads/import", { method: "POST" })).toEqual(refused(415, "media-type-unsupported"));
    const toAgent = { method: "POST", headers: { "content-type": NDJSON }, body: "{}" };
    expect(await told("/agents/echo", toAgent)).toEqual(refused(415, "media-type-unsupported"));
    const declared = { "content-type": NDJSON, "content-length": String(256 * 1024 * 1024 + 1) };
    const sent = request(`${server.url}/threads/import`, { method: "POST", headers: declared });
    sent.flushHeaders();
    const [answer]: IncomingMessage[] = await once(sent, "response");
    if (answer === undefined) throw new Error("no answer");
    expect({ status: answer.statusCode, body: await json(answer) }).toEqual(
      refused(413, "limit-exceeded", { limit: "body" }),
    );
    sent.destroy();
  });
});

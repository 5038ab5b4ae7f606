/** A remote agent under `runAgent`: its frame is absorbed, its end is kept, and every failure has a code. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import type { Event, RunAgentInput } from "../../../protocol/index.ts";
import { chain, expanding, reduceAll, throughArray, verifying } from "../../../stream/index.ts";
import { runAgent } from "../../index.ts";
import type { RunOptions } from "../../index.ts";
import { remoteAgent } from "./index.ts";
import type { RemoteAgentOptions } from "./index.ts";

const input: RunAgentInput = { threadId: "t1", runId: "r1", messages: [] };
const STARTED = { type: "RUN_STARTED", threadId: "far-thread", runId: "far-run" };
const FINISHED = { type: "RUN_FINISHED", threadId: "far-thread", runId: "far-run" };
const START = { type: "TEXT_MESSAGE_START", messageId: "m1" };
const CONTENT = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Half" };
const END = { type: "TEXT_MESSAGE_END", messageId: "m1" };

async function listen(handle: RequestListener): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const sse = (response: ServerResponse, ...events: readonly object[]): ServerResponse => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  return response;
};

async function runOf(
  options: Omit<RemoteAgentOptions, "name">,
  run: RunOptions = {},
  given = input,
): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of runAgent(remoteAgent({ name: "far", ...options }), given, run)) events.push(event);
  return throughArray(chain(expanding(), verifying()), events);
}

const answering = (...events: readonly object[]): Promise<AsyncDisposable & { readonly url: string }> =>
  listen((_, response) => sse(response, ...events).end());

test("the run has our frame and ids, whatever ids the agent uses, and chunks are fine", async () => {
  const chunk = { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "Hi" };
  await using server = await answering(STARTED, chunk, { ...FINISHED, result: { ok: 1 }, usage: [{ inputTokens: 3 }] });
  const events = await runOf(server);
  expect(events.map(({ type }) => type)).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ]);
  const ids = { threadId: "t1", runId: "r1" };
  expect(events[0]).toMatchObject({ ...ids, protocolVersion: "1.0" });
  expect(events.at(-1)).toMatchObject({ ...ids, result: { ok: 1 }, usage: [{ inputTokens: 3 }] });
});

test("questions of the agent end the run, in the form of 1.0 and in the older one", async () => {
  const interrupt = { id: "i1", reason: "confirmation", message: "Sure?" };
  await using server = await answering(STARTED, {
    ...FINISHED,
    outcome: { type: "interrupt", interrupts: [interrupt] },
  });
  expect((await runOf(server)).at(-1)).toMatchObject({ outcome: { type: "interrupt", interrupts: [interrupt] } });

  const asked = { id: "i2", payload: { prompt: "Name?" } };
  await using older = await answering(STARTED, { ...FINISHED, outcome: "interrupt", interrupt: asked });
  expect((await runOf(older)).at(-1)).toMatchObject({
    outcome: { type: "interrupt", interrupts: [{ id: "i2", message: "Name?" }] },
  });
});

test("calls that the agent leaves to the frontend are pending", async () => {
  const call = { toolCallId: "c1" };
  const said = [
    { type: "TOOL_CALL_START", ...call, toolCallName: "pick" },
    { type: "TOOL_CALL_END", ...call },
  ];
  await using server = await answering(STARTED, ...said, FINISHED);
  expect((await runOf(server)).at(-1)).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c1"] } });
});

test("an agent that fails says so itself; what it had said stays", async () => {
  await using server = await answering(STARTED, START, CONTENT, {
    type: "RUN_ERROR",
    message: "No.",
    code: "own-code",
  });
  const events = await runOf(server);
  expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", message: "No.", code: "own-code" });
  expect(reduceAll(events).messages).toMatchObject([{ content: "Half" }]);
});

test("questions, failures and usage of earlier runs that an agent replays are not this run's", async () => {
  const interrupt = { id: "old", reason: "confirmation" };
  const asked = { ...FINISHED, outcome: { type: "interrupt", interrupts: [interrupt] }, usage: [{ inputTokens: 99 }] };
  const failed = { type: "RUN_ERROR", message: "Then." };
  const said = [START, CONTENT, END];
  await using server = await answering(STARTED, asked, STARTED, failed, STARTED, ...said, {
    ...FINISHED,
    usage: [{ inputTokens: 1 }],
  });
  const events = await runOf(server);
  expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", usage: [{ inputTokens: 1 }] });
  expect(events.at(-1)).not.toHaveProperty("outcome");
  expect(reduceAll(events).messages).toMatchObject([{ content: "Half" }]);
});

test("an agent that fails after its end has failed", async () => {
  await using server = await answering(STARTED, FINISHED, { type: "RUN_ERROR", message: "After all." });
  expect((await runOf(server)).at(-1)).toMatchObject({ type: "RUN_ERROR", message: "After all." });
});

test("what an agent says behind its end takes the end back in neither direction", async () => {
  const late = { type: "CUSTOM", name: "usage", value: 1 };
  const note = { type: "META", metaType: "trace", payload: {} };
  const failed = { type: "RUN_ERROR", message: "No." };
  const said = [STARTED, START, CONTENT, END] as const;
  for (const [ends, behind, last] of [
    [[FINISHED], [late], "RUN_FINISHED"],
    [[FINISHED], [note], "RUN_FINISHED"],
    [[FINISHED, late], [failed], "RUN_ERROR"],
    [[failed], [late], "RUN_ERROR"],
    [[failed, late], [FINISHED], "RUN_ERROR"],
    [[FINISHED, late, STARTED], [FINISHED], "RUN_FINISHED"],
  ] as const) {
    await using server = await answering(...said, ...ends, ...behind);
    const events = await runOf(server);
    throughArray(chain(expanding(), verifying()), events);
    expect(events.at(-1)).toMatchObject({ type: last });
    expect(events.at(-1)).not.toMatchObject({ code: "agent-stream-cut" });
    expect(reduceAll(events).messages).toMatchObject([{ content: "Half" }]);
  }
  await using cut = await answering(...said, FINISHED, late, STARTED, START);
  expect((await runOf(cut)).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "agent-stream-cut" });
});

test("a cut stream fails the run and keeps the text", async () => {
  await using server = await answering(STARTED, START, CONTENT);
  const onError = vi.fn<(error: unknown) => void>();
  const events = await runOf(server, { onError });
  expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "agent-stream-cut" });
  expect(reduceAll(events).messages).toMatchObject([{ content: "Half" }]);
  expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ details: expect.anything() }));
});

test("a run error names the agent and nothing that is ours alone", async () => {
  await using server = await listen((_, response) => {
    response.writeHead(500).end("at /srv/secret/app.py");
  });
  const url = `${server.url}hidden-path?key=query-secret`;
  const headers = { Authorization: "Bearer s3cr3t-token" };
  const last = JSON.stringify((await runOf({ url, headers })).at(-1));
  expect(last).toContain("far");
  expect(last).not.toMatch(/127\.0\.0\.1|hidden-path|query-secret|s3cr3t|app\.py/);
});

test("a stop ends the request and the run; what was said stays", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await listen((request, response) => {
    request.socket.once("close", () => closed.resolve());
    sse(response, STARTED, START, CONTENT);
  });
  const stop = new AbortController();
  const events: Event[] = [];
  const agent = remoteAgent({ name: "far", url: server.url });
  for await (const event of runAgent(agent, input, { signal: stop.signal })) {
    events.push(event);
    if (event.type === "TEXT_MESSAGE_CONTENT") stop.abort();
  }
  await closed.promise;
  throughArray(chain(expanding(), verifying()), events);
  expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  expect(reduceAll(events).messages).toMatchObject([{ content: "Half" }]);
});

test("headers may be made anew for each run", async () => {
  const seen: IncomingHttpHeaders[] = [];
  await using server = await listen((request, response) => {
    seen.push(request.headers);
    sse(response, STARTED, START, END, FINISHED).end();
  });
  let runs = 0;
  const headers = async ({ threadId }: RunAgentInput) => ({ "X-Run": `${threadId}-${++runs}` });
  for (const runId of ["r1", "r2"]) await runOf({ url: server.url, headers }, {}, { ...input, runId });
  expect(seen.map((each) => each["x-run"])).toEqual(["t1-1", "t1-2"]);
});

test("what was translated goes to the run's log, unless somebody asks for it", async () => {
  await using server = await answering(STARTED, { ...START, rawEvent: null }, END, FINISHED);
  const warn = vi.fn<(message: string, fields?: unknown) => void>();
  const log = { debug: warn, info: warn, warn, error: warn };
  await runOf(server, { log });
  expect(warn).toHaveBeenCalledWith(expect.any(String), { code: "retired-form", path: "/rawEvent" });
});

test.each([
  ["no URL", { url: "not an address" }, "url"],
  ["another scheme", { url: "file:///etc/passwd" }, "url"],
  ["credentials", { url: "http://user:hunter22@host/" }, "url"],
  ["a header of two lines", { url: "http://host/", headers: { "X-Key": "hunter22\r\nHost: other" } }, "headers"],
])("%s is refused at once, without repeating it", (_, options, setting) => {
  const define = () => remoteAgent({ name: "far", ...options });
  expect(define).toThrow(
    expect.objectContaining({ code: "config-invalid", details: expect.objectContaining({ setting }) }),
  );
  expect(define).not.toThrow(/hunter22|passwd/);
});

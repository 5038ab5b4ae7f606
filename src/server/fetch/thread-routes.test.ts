/** The routes of threads through the function from Request to Response: one of each kind, and bodies that break off. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { fillThread } from "../../../test/stored-thread.ts";
import { defineAgent } from "../../agent/index.ts";
import { memoryStore } from "../../store/index.ts";
import type { Store } from "../../store/index.ts";
import { createHeddle } from "../index.ts";
import type { Heddle } from "../index.ts";
import { heddleHandler } from "./index.ts";
import type { HeddleHandler } from "./index.ts";

const BASE = "http://heddle.test/api";
const KEY = { tenant: "default", threadId: "t1" };
const NDJSON = "application/x-ndjson";
const echo = defineAgent({ name: "echo", run: ({ emit }) => void emit.text().write("hello") });

let store: Store;
let heddle: Heddle;
let handle: HeddleHandler;
const faults: unknown[] = [];

beforeEach(async () => {
  faults.length = 0;
  store = memoryStore();
  heddle = createHeddle({ agents: [echo], store });
  handle = heddleHandler(heddle, { prefix: "/api", onFault: (error) => faults.push(error) });
  await fillThread(store, KEY);
});

afterEach(() => heddle.close());

const ask = (path: string, init?: RequestInit): Promise<Response> => handle(new Request(`${BASE}${path}`, init));

function imported(body: ReadableStream<Uint8Array> | string, query = ""): Promise<Response> {
  const init = { method: "POST", headers: { "content-type": NDJSON }, body, duplex: "half" };
  return ask(`/threads/import${query}`, init);
}

/** Bytes that come piece by piece, told of who stops reading. */
function pieces(texts: readonly string[], onCancel: () => void, failure?: Error): ReadableStream<Uint8Array> {
  const left = texts.map((text) => new TextEncoder().encode(text));
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next !== undefined) controller.enqueue(next);
      else if (failure === undefined) controller.close();
      else controller.error(failure);
    },
    cancel: onCancel,
  });
}

test("HTTP-THR-3, HTTP-THR-4, HTTP-THR-5, HTTP-THR-6: looked at, changed, seen at a moment, and deleted", async () => {
  expect(await (await ask("/threads/t1")).json()).toMatchObject({ threadId: "t1", heads: ["r3", "r4"] });
  const change = { method: "PATCH", headers: { "content-type": "application/json" }, body: '{"title":"Other"}' };
  expect(await (await ask("/threads/t1", change)).json()).toMatchObject({ title: "Other" });
  expect(await (await ask("/threads?q=other")).json()).toMatchObject({ threads: [{ threadId: "t1" }] });
  expect(await (await ask("/threads/t1/snapshot?at=r3")).json()).toMatchObject({ runId: "r3", state: { count: 1 } });
  const removed = await ask("/threads/t1", { method: "DELETE" });
  expect([removed.status, await removed.text()]).toEqual([204, ""]);
  expect((await ask("/threads/t1")).status).toBe(404);
});

test("HTTP-THR-2: a live list, until its reader leaves", async () => {
  const response = await ask("/threads", { headers: { accept: "text/event-stream" } });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toMatch(/^data: \{"type":"page","threads":\[\{"threadId":"t1".*\]\}\n\n$/);
  await heddle.threads.update("t1", { title: "Other" });
  expect((await reader?.read())?.value).toMatch(/^data: \{"type":"changed","thread":\{.*"title":"Other".*\}\}\n\n$/);
  await reader?.cancel();
});

test("HTTP-THR-8, HTTP-THR-9: out and in again, however the bytes are cut", async () => {
  const response = await ask("/threads/t1/export");
  expect(response.headers.get("content-type")).toBe(NDJSON);
  const lines = await response.text();
  const cut = lines.match(/[^]{1,100}/gu) ?? [];
  const answer = await imported(
    pieces(cut, () => undefined),
    "?as=copy",
  );
  expect([answer.status, answer.headers.get("location")]).toEqual([201, "/api/threads/copy"]);
  expect(await answer.json()).toMatchObject({ thread: { threadId: "copy" }, runs: 5 });
  expect((await imported(lines)).status).toBe(409);
});

test("a body that is refused is read no further, and is not cancelled: its host still has to answer", async () => {
  const cancelled: unknown[] = [];
  const answer = await imported(pieces(["{\n", "more"], () => cancelled.push(true)));
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { code: "import-invalid", details: { line: 1 } } });
  expect([cancelled, faults]).toEqual([[], []]);
});

test("a body that breaks off imports nothing, and is no fault of the server", async () => {
  const lines = await (await ask("/threads/t1/export")).text();
  const body = pieces([lines.slice(0, 500)], () => undefined, new Error("reset"));
  const answer = await imported(body, "?as=copy");
  expect(await answer.json()).toMatchObject({ error: { code: "request-invalid", details: { reason: "body" } } });
  expect(await store.thread({ ...KEY, threadId: "copy" })).toBeUndefined();
  expect(faults).toEqual([]);
});

test("HTTP-SRV-2: pages that have to ask first may change threads; what comes without asking may not", async () => {
  const headers = { origin: "http://elsewhere.test" };
  const plain = await ask("/threads/import", {
    method: "POST",
    headers: { ...headers, "content-type": "text/plain" },
    body: "x",
  });
  expect(plain.status).toBe(415);
  const lines = await ask("/threads/import", {
    method: "POST",
    headers: { ...headers, "content-type": NDJSON },
    body: "x",
  });
  expect(lines.status).toBe(400);
  expect((await ask("/threads/t1", { method: "DELETE", headers })).status).toBe(204);
});

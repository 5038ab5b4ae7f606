import { afterAll, beforeAll, expect, test } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import { openSocket } from "../../../test/ws-client.ts";
import { serve } from "./index.ts";
import type { Served } from "./index.ts";

const talker = defineAgent({ name: "talker", run: ({ emit }) => void emit.text().write("hello") });
let server: Served;
beforeAll(async () => {
  server = await serve({ agents: [talker], port: 0 });
});
afterAll(() => server.close());

test("a run is started and followed to its end over a socket", async () => {
  const socket = await openSocket(server.url);
  const input = { threadId: "t1", runId: "r1", messages: [], forwardedProps: { go: 1 } };
  expect(await socket.ask({ type: "run", agent: "talker", input })).toMatchObject({
    type: "ok",
    thread: "t1",
    run: "r1",
  });
  expect(await socket.next(({ type }) => type === "ended")).toMatchObject({ thread: "t1", run: "r1" });
  const events = socket.frames.filter(({ type }) => type === "event");
  expect(events.map(({ event }) => Object(event).type)).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ]);
  const again = await socket.ask({ type: "attach", thread: "t1", after: events[1]?.["id"] });
  expect(again).toMatchObject({ type: "ok", reset: false });
  await socket.next(({ type }) => type === "caught-up");
  expect(socket.frames.filter(({ type }) => type === "event").slice(5)).toEqual(events.slice(2));
  expect(await socket.ask({ type: "ping" })).toMatchObject({ type: "pong" });
  expect(await socket.ask({ type: "attach", thread: "none" })).toMatchObject({
    type: "error",
    error: { code: "thread-unknown" },
  });
  socket.socket.close();
  await socket.closed;
});

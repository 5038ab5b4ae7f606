import { describe, expect, test } from "vitest";
import { agentOf, bodyOf, checkStream, collect, framesOf, runToEnd, served, sourceOf } from "../../test/served.ts";
import type { Agent } from "../agent/index.ts";
import { decodeSse } from "../protocol/index.ts";
import type { Frame } from "../protocol/index.ts";
import { decodeBinary } from "../protocol/binary/index.ts";
import { UNDECLARED_PEER } from "../protocol/dialects/index.ts";
import { PROTOBUF, SSE } from "./index.ts";
import type { AttachOptions, Heddle } from "./index.ts";

const SAY = { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "x", rawEvent: { secret: 1 } };
const SOURCE = [
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "RAW", event: { prompt: "secret" } },
  SAY,
  { type: "META", metaType: "thumbs", payload: { value: "up" } },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
  { type: "RAW", event: { prompt: "secret" } },
];

/** A thread of one run with something to hide, the rest of which never comes. */
async function hiding(): Promise<Heddle> {
  const heddle = served(
    agentOf(async function* ({ signal }) {
      yield* SOURCE as never[];
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    }),
  );
  await heddle.start("test", bodyOf());
  for await (const { seq } of (await heddle.attach("t1", { raw: true })).events) if (seq === SOURCE.length + 1) break;
  return heddle;
}

async function sse(heddle: Heddle, options: AttachOptions): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of decodeSse([await framesOf(heddle, SSE, options)])) frames.push(frame);
  return frames;
}

const typesIn = (frames: readonly Frame[]): readonly unknown[] =>
  frames.map(({ value }) => (typeof value === "object" && value !== null ? Reflect.get(value, "type") : undefined));

/** Cursors of the events, and the last one. Between commits others may come: how many of them there are is left to time. */
const placesIn = (frames: readonly Frame[]): readonly number[] =>
  frames
    .filter(({ value }, index) => value !== undefined || index === frames.length - 1)
    .map(({ id = "" }) => Number(id.slice(-4)));

describe("what was not asked for is hidden", () => {
  test("and the cursor moves past it all the same", async () => {
    const heddle = await hiding();
    const plain = await sse(heddle, { follow: false });
    const text = "TEXT_MESSAGE_";
    const said = plain.filter(({ value }) => value !== undefined);
    expect(typesIn(said)).toEqual(["RUN_STARTED", `${text}START`, `${text}CONTENT`, `${text}END`]);
    expect(plain.at(-1)?.value).toBe(undefined);
    expect(placesIn(plain)).toEqual([1, 2, 4, 6, 7]);
    expect(said[2]?.value).not.toHaveProperty("rawEvent");
    expect(JSON.stringify(plain)).not.toContain("secret");
    await heddle.close();
  });

  test.each<[string, AttachOptions, readonly number[]]>([
    ["raw", { raw: true }, [1, 2, 3, 4, 6, 7]],
    ["meta", { meta: true }, [1, 2, 4, 5, 6, 7]],
    ["both", { raw: true, meta: true }, [1, 2, 3, 4, 5, 6, 7]],
  ])("unless %s is asked for", async (_, options, places) => {
    const heddle = await hiding();
    const frames = await sse(heddle, { follow: false, ...options });
    expect(placesIn(frames)).toEqual(places);
    expect(JSON.stringify(frames).includes("secret")).toBe(options.raw === true);
    const wanted = places.length - (options.raw === true ? 0 : 1);
    expect(await collect(heddle, { follow: false, ...options })).toHaveLength(wanted);
    await heddle.close();
  });

  test("for viewers who came with a cursor of something hidden too", async () => {
    const heddle = await hiding();
    const all = await collect(heddle, { follow: false, raw: true, meta: true });
    for (const { cursor, seq } of all) {
      const rest = await sse(heddle, { follow: false, after: cursor });
      expect(placesIn(rest)).toEqual([1, 2, 4, 6, 7].filter((place) => place > seq));
    }
    await heddle.close();
  });
});

describe("older clients", () => {
  const call = [
    { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "helper" },
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "ask", subagentRunId: "s" },
    { type: "TOOL_CALL_END", toolCallId: "c", subagentRunId: "s" },
    { type: "SUBAGENT_FINISHED", subagentRunId: "s" },
  ];

  test("get what their version understands, with exact cursors", async () => {
    const heddle = served(sourceOf(...call));
    await runToEnd(heddle, bodyOf("r1", { messages: [{ id: "u", role: "user", content: "hi" }] }));
    const frames = await sse(heddle, { runId: "r1", peer: UNDECLARED_PEER });
    const old = frames.filter(({ value }) => value !== undefined);
    expect(typesIn(old)).toEqual(["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_END", "RUN_FINISHED"]);
    expect(placesIn(old)).toEqual([1, 3, 4, 6]);
    expect(old[0]?.value).not.toHaveProperty("protocolVersion");
    expect(old[0]?.value).toMatchObject({ input: { messages: [{ id: "u" }], state: {}, tools: [], context: [] } });
    expect(old[1]?.value).not.toHaveProperty("subagentRunId");
    expect(old[3]?.value).toMatchObject({ outcome: { type: "success" } });
    expect(JSON.stringify(old[3]?.value)).not.toContain("pendingToolCallIds");
    const current = await sse(heddle, { runId: "r1" });
    expect(placesIn(current)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(current[5]?.value).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c"] } });
    expect(await sse(heddle, { runId: "r1", peer: { version: "1.0" } })).toEqual(current);
  });

  test("see a stop as a stop, and a question that they would misread as a failure", async () => {
    const cancelled = served(
      sourceOf({ type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "cancelled" } }),
    );
    await runToEnd(cancelled);
    const stop = await sse(cancelled, { runId: "r1", peer: UNDECLARED_PEER });
    expect(stop.at(-1)?.value).toMatchObject({ type: "RUN_ERROR", code: "abort" });
    const asking = served(agentOf(({ emit }) => emit.interrupt({ reason: "approval" })));
    await runToEnd(asking);
    const question = await sse(asking, { runId: "r1", peer: { version: "0.0.50" } });
    expect(question.at(-1)?.value).toMatchObject({ type: "RUN_ERROR", code: "projection-refused" });
  });

  test("get preludes that they understand, with the cursor on the last frame", async () => {
    const heddle = served(sourceOf(...call));
    await runToEnd(heddle);
    const opening = await sse(heddle, { runId: "r1", prelude: true, peer: UNDECLARED_PEER });
    const open = ["TOOL_CALL_START", "TOOL_CALL_END"];
    expect(typesIn(opening)).toEqual(["RUN_STARTED", "MESSAGES_SNAPSHOT", ...open, "RUN_FINISHED"]);
    const nowhere = opening.slice(1).map(() => undefined);
    expect(opening.map(({ id }) => id?.slice(-4))).toEqual([...nowhere, "0006"]);
  });

  test("are known by what they post", async () => {
    const heddle = served(sourceOf());
    expect((await heddle.start("test", bodyOf("r1", { protocolVersion: undefined }))).peer).toEqual(UNDECLARED_PEER);
    expect((await heddle.start("test", bodyOf("r1"))).peer).toEqual({ version: "1.0" });
  });
});

test.each<[string, Agent]>([
  [
    "emit",
    agentOf(async ({ emit }) => {
      await emit.text({ id: "s", role: "developer" }).write("secret");
      await emit.text({ id: "m" }).write("hello");
    }),
  ],
  [
    "events from elsewhere",
    sourceOf(
      { type: "TEXT_MESSAGE_START", messageId: "s", role: "system" },
      { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "s", delta: "secret" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "hello" },
      { type: "TEXT_MESSAGE_END", messageId: "s" },
      { type: "TEXT_MESSAGE_END", messageId: "m" },
    ),
  ],
])("HTTP-VER-1: instructions that are streamed by %s are hidden as a whole, live and later", async (_, agent) => {
  const heddle = served(agent);
  await runToEnd(heddle);
  for (const prelude of [false, true]) {
    const seen = await collect(heddle, { runId: "r1", prelude });
    checkStream(seen.map(({ event }) => event));
    const text = JSON.stringify(seen);
    expect([text.includes("hello"), text.includes("secret"), text.includes('"s"')]).toEqual([true, false, false]);
    expect(JSON.stringify(await collect(heddle, { runId: "r1", prelude, raw: true }))).toContain("secret");
  }
});

test("protobuf says the same", async () => {
  const heddle = await hiding();
  const { frames } = await heddle.attach("t1", { follow: false });
  const values: unknown[] = [];
  for await (const { value } of decodeBinary(frames(PROTOBUF))) values.push(value);
  const [started, ...events] = (await collect(heddle, { follow: false })).map(({ event }) => event);
  // Protobuf has no empty list that is absent.
  expect(values[0]).toMatchObject({ ...started, input: { messages: [] } });
  expect(values.slice(1)).toEqual(events);
  await heddle.close();
});

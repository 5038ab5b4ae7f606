import { existsSync, readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { judgeFixture } from "./index.ts";
import type { Fixture } from "./index.ts";

/** The public corpus stands beside the project where it is developed; a copy of its facts would not be ours to keep. */
const CORPUS = "../shared/conformance/streams";
const files = existsSync(CORPUS) ? readdirSync(CORPUS).toSorted() : [];

describe.runIf(files.length > 0)("AG-UI's public conformance streams", () => {
  it.each(files)("%s", (file) => {
    const fixture = JSON.parse(readFileSync(`${CORPUS}/${file}`, "utf8")) as Fixture;
    expect(judgeFixture(fixture, { version: "1.1" })).toEqual([]);
  });
});

const started = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finished = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const text = [
  { type: "TEXT_MESSAGE_START", messageId: "m" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "hi", extra: 1 },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
];
const stream = [started, ...text, { type: "FUTURE" }, { type: "STATE_SNAPSHOT", snapshot: { a: [1], b: 2 } }, finished];
const good = {
  outcome: "completed",
  eventTypes: ["RUN_STARTED", ...text.map(({ type }) => type), "STATE_SNAPSHOT", "RUN_FINISHED"],
  eventTypesAbsent: ["FUTURE"],
  eventPaths: { "2.delta": "hi", "4.snapshot": { b: 2 } },
  eventAbsentPaths: ["2.extra"],
  warnings: ["/extra", "FUTURE"],
  messageCount: 1,
  messages: [{ role: "assistant", content: "hi" }],
  state: { a: [1] },
  request: { protocolVersion: "1.1", messages: [] },
  requestAbsentPaths: ["parentRunId"],
};

describe("judgeFixture", () => {
  it("finds nothing where everything is as expected", () => {
    expect(judgeFixture({ stream, expect: good }, { version: "1.1" })).toEqual([]);
  });

  it.each([
    { outcome: "failed" },
    { eventTypes: ["RUN_STARTED"] },
    { eventTypesAbsent: ["STATE_SNAPSHOT"] },
    { eventPaths: { "2.delta": "ho" } },
    { eventPaths: { "9.delta": "hi" } },
    { eventAbsentPaths: ["2.delta"] },
    { warnings: ["/elsewhere"] },
    { noWarnings: true },
    { messageCount: 2 },
    { messages: [] },
    { messages: [{ role: "assistant", content: "ho" }] },
    { state: { a: [] } },
    { state: null },
    { request: { protocolVersion: "1.0" } },
    { requestAbsentPaths: ["protocolVersion"] },
    { runError: true },
  ])("finds the difference to %j", (wrong) => {
    expect(judgeFixture({ stream, expect: wrong }, { version: "1.1" })).toHaveLength(1);
  });

  it("tells a rejected stream from a run that reports its own failure", () => {
    const failing = { stream: [started, { type: "RUN_ERROR", message: "no luck" }], expect: {} };
    expect(judgeFixture({ ...failing, expect: { outcome: "completed", runError: "luck" } })).toEqual([]);
    expect(judgeFixture({ ...failing, expect: { runError: "another" } })).toHaveLength(1);
    expect(judgeFixture({ stream: [started], expect: { outcome: "completed" } })).toMatchObject([
      expect.stringContaining("sequence-violation"),
    ]);
  });

  it("leaves subagents out of the stream of a peer that predates them", () => {
    const subagents = [started, { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "n" }, finished];
    const expected = {
      outcome: "completed",
      eventTypes: ["RUN_STARTED", "RUN_FINISHED"],
      warnings: ["SUBAGENT_STARTED"],
    };
    expect(judgeFixture({ stream: subagents, client: { maxProtocolVersion: "0.0.57" }, expect: expected })).toEqual([]);
  });
});

import { describe, expect, it } from "vitest";
import type { Event } from "../generated/model.ts";
import { expandChunks } from "./expand-chunks.ts";
import type { OpenChunks } from "./expand-chunks.ts";
import { projectToSession } from "./project-to-session.ts";

function expand(events: readonly Event[]): readonly Event[] {
  const open: OpenChunks = new Map();
  return events.flatMap((event) => expandChunks(open, event));
}

const textChunk = (messageId: string | undefined, delta?: string, subagentRunId?: string): Event => ({
  type: "TEXT_MESSAGE_CHUNK",
  ...(messageId === undefined ? {} : { messageId }),
  ...(delta === undefined ? {} : { delta }),
  ...(subagentRunId === undefined ? {} : { subagentRunId }),
});

const chunks: readonly Event[] = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "REASONING_MESSAGE_CHUNK", messageId: "m0", delta: "Hm" },
  textChunk("m1", "Hel"),
  textChunk(undefined, "lo"),
  { type: "TOOL_CALL_CHUNK", toolCallId: "c", toolCallName: "t", parentMessageId: "m1", delta: "[1," },
  { type: "TOOL_CALL_CHUNK", delta: "2]" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
];

const triads: readonly Event[] = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "REASONING_MESSAGE_START", messageId: "m0", role: "reasoning" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "m0", delta: "Hm" },
  { type: "REASONING_MESSAGE_END", messageId: "m0" },
  { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Hel" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "lo" },
  { type: "TEXT_MESSAGE_END", messageId: "m1" },
  { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "t", parentMessageId: "m1" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "[1," },
  { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "2]" },
  { type: "TOOL_CALL_END", toolCallId: "c" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
];

describe("chunk events", () => {
  it("are short for start, content and end", () => {
    expect(expand(chunks)).toEqual(triads);
  });

  it("give the same session events as what they are short for", () => {
    const [short, long] = [chunks, triads].map((events) => {
      const step = projectToSession({ sessionId: "s", clock: () => 0 });
      return events.flatMap((event) => step(event));
    });
    expect(short).toEqual(long);
    expect(short?.map(({ type }) => type)).toEqual([
      "thought-chunk",
      "thought-complete",
      "text-chunk",
      "text-chunk",
      "text-message-complete",
      "tool-call-chunk",
      "tool-call-complete",
      "agent-response-complete",
    ]);
  });

  it("leave a stream without chunks as it is", () => {
    expect(expand(triads)).toEqual(triads);
  });

  it("open in one lane and are not ended by another", () => {
    const events = expand([textChunk("a", "1"), textChunk("b", "2", "sub"), textChunk(undefined, "3")]);
    expect(events.map(({ type }) => type)).toEqual([
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_CONTENT",
    ]);
    expect(events[2]).toMatchObject({ messageId: "b", subagentRunId: "sub" });
  });

  it.each<[string, Event, boolean]>([
    ["RAW", { type: "RAW", event: 1 }, false],
    ["an activity", { type: "ACTIVITY_SNAPSHOT", messageId: "x", activityType: "y", content: {} }, false],
    ["a custom event", { type: "CUSTOM", name: "n", value: 1 }, true],
    ["a custom event of a subagent", { type: "CUSTOM", name: "n", value: 1, subagentRunId: "sub" }, false],
    ["a snapshot of messages", { type: "MESSAGES_SNAPSHOT", messages: [] }, true],
    ["an error", { type: "RUN_ERROR", message: "No." }, true],
  ])("end or go on at %s", (_title, event, ends) => {
    const types = expand([textChunk("a", "1"), event]).map(({ type }) => type);
    expect(types.includes("TEXT_MESSAGE_END")).toBe(ends);
    expect(types.at(-1)).toBe(event.type);
  });

  it("end in every lane with the run", () => {
    const events = expand([textChunk("a", "1"), textChunk("b", "2", "sub"), { type: "RUN_ERROR", message: "No." }]);
    expect(events.slice(4)).toEqual([
      { type: "TEXT_MESSAGE_END", messageId: "a" },
      { type: "TEXT_MESSAGE_END", messageId: "b", subagentRunId: "sub" },
      { type: "RUN_ERROR", message: "No." },
    ]);
  });

  it("keep the time: of the chunk, and for the end of what ended it", () => {
    const end: Event = { type: "RUN_ERROR", message: "No.", timestamp: 2 };
    const times = expand([{ type: "TEXT_MESSAGE_CHUNK", messageId: "a", delta: "x", timestamp: 1 }, end]);
    expect(times.map(({ timestamp }) => timestamp)).toEqual([1, 1, 2, 2]);
  });

  it("say nothing where they name nothing and continue nothing", () => {
    expect(expand([textChunk(undefined, "lost"), { type: "TOOL_CALL_CHUNK", delta: "{}" }])).toEqual([]);
  });
});

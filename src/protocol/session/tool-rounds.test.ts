import { describe, expect, it } from "vitest";
import type { ContentPart, Event, ToolCallResultEvent } from "../generated/model.ts";
import type { SessionEvent } from "./model.ts";
import { projectToSession } from "./project-to-session.ts";
import { decodeSessionEvent, encodeSessionEvent } from "./session-codec.ts";

const runStart: Event = { type: "RUN_STARTED", threadId: "t1", runId: "r1" };
const runEnd = { type: "RUN_FINISHED", threadId: "t1", runId: "r1" } as const;

const start = (toolCallId: string, parentMessageId?: string, subagentRunId?: string): Event => ({
  type: "TOOL_CALL_START",
  toolCallId,
  toolCallName: `tool-${toolCallId}`,
  ...(parentMessageId === undefined ? {} : { parentMessageId }),
  ...(subagentRunId === undefined ? {} : { subagentRunId }),
});
const args = (toolCallId: string, delta: string): Event => ({ type: "TOOL_CALL_ARGS", toolCallId, delta });
const end = (toolCallId: string): Event => ({ type: "TOOL_CALL_END", toolCallId });
const result = (toolCallId: string, content: string | readonly ContentPart[] = "fine"): ToolCallResultEvent => ({
  type: "TOOL_CALL_RESULT",
  messageId: `result-${toolCallId}`,
  toolCallId,
  content,
});
const call = (toolCallId: string, parentMessageId?: string): readonly Event[] => [
  start(toolCallId, parentMessageId),
  args(toolCallId, `{"of":`),
  args(toolCallId, `"${toolCallId}"}`),
  end(toolCallId),
];

const round = (message: string, ...ids: readonly string[]): readonly Event[] => [
  ...ids.flatMap((id) => call(id, message)),
  ...ids.map((id) => result(id)),
];
const text = (messageId: string): readonly Event[] => [
  { type: "TEXT_MESSAGE_START", messageId },
  { type: "TEXT_MESSAGE_CONTENT", messageId, delta: "…" },
  { type: "TEXT_MESSAGE_END", messageId },
];

function project(events: readonly Event[]): readonly SessionEvent[] {
  const step = projectToSession({ sessionId: "s1", clock: () => 0 });
  return events.flatMap((event) => step(event)).map((event) => decodeSessionEvent(encodeSessionEvent(event)));
}

/** Each event in a few letters: `call a`, `calls a b`, `result a`, `results a b`. */
function outline(events: readonly SessionEvent[]): readonly string[] {
  return events.map((event) => {
    switch (event.type) {
      case "tool-call-chunk":
        return `call ${event.data.toolCallId}`;
      case "tool-call-complete":
        return `calls ${event.data.toolCallIds.join(" ")}`;
      case "tool-result-chunk":
        return `result ${event.data.toolCallId}`;
      case "tool-result-complete":
        return `results ${event.data.toolCallIds.join(" ")}`;
      default:
        return event.type;
    }
  });
}

const firstData = (events: readonly Event[]): unknown => project(events)[0]?.data;
const failed = (error: unknown): unknown => firstData([{ ...result("a"), metadata: { heddle: { error } } }]);

describe("ToolsCallMessage mapping", () => {
  it("ToolsCallMessage mapping 1: each tool call yields an event of its own, when its arguments are whole", () => {
    const step = projectToSession({ sessionId: "s1" });
    const counts = [...call("a", "m1"), ...call("b", "m1")].map((event) => step(event).length);
    expect(counts).toEqual([0, 0, 0, 1, 0, 0, 0, 1]);
    expect(outline(project([...call("a", "m1"), ...call("b", "m1")]))).toEqual(["call a", "call b"]);
  });

  it("ToolsCallMessage mapping 2: data.toolCallId is the call's id", () => {
    expect(firstData(call("a"))).toMatchObject({ toolCallId: "a" });
  });

  it("ToolsCallMessage mapping 3: data.toolName is the name of the tool", () => {
    expect(firstData(call("a"))).toMatchObject({ toolName: "tool-a" });
  });

  it("ToolsCallMessage mapping 4: data.arguments is the parsed JSON of the streamed arguments", () => {
    expect(firstData(call("a"))).toMatchObject({ arguments: { of: "a" } });
    expect(firstData([start("a"), args("a", "[1, null]"), end("a")])).toMatchObject({ arguments: [1, null] });
    const none = { toolCallId: "a", toolName: "tool-a", arguments: {}, isComplete: false };
    expect(firstData([start("a"), end("a")])).toEqual(none);
    expect(firstData([start("a"), args("a", " \n"), end("a")])).toEqual(none);
  });

  it.each(['{"of":', "Bern", "{'of': 1}"])("argument text that is not JSON is kept as text: %s", (text) => {
    expect(firstData([start("a"), args("a", text), end("a")])).toEqual({
      toolCallId: "a",
      toolName: "tool-a",
      arguments: null,
      argumentsText: text,
      isComplete: false,
    });
  });

  it("argument text that is nested too deep is kept as text", () => {
    const text = "[".repeat(100_000) + "]".repeat(100_000);
    expect(firstData([start("a"), args("a", text), end("a")])).toMatchObject({ arguments: null, argumentsText: text });
  });

  it("ToolsCallMessage mapping 5: tool-call-complete follows when all calls have been sent", () => {
    const calls = [...call("a", "m1"), ...call("b", "m1")];
    expect(outline(project([...calls, runEnd]))).toEqual(["call a", "call b", "calls a b", "agent-response-complete"]);
    expect(project([...calls, runEnd])[2]).toMatchObject({
      messageId: "m1",
      data: { toolCallIds: ["a", "b"], isComplete: true },
    });
  });

  it("ToolsCallMessage mapping form: a tool-call-chunk has the envelope, the call and isComplete false", () => {
    expect(project(call("a", "m1"))[0]).toEqual({
      type: "tool-call-chunk",
      sessionId: "s1",
      messageId: "m1",
      timestamp: "1970-01-01T00:00:00.000Z",
      data: { toolCallId: "a", toolName: "tool-a", arguments: { of: "a" }, isComplete: false },
    });
  });

  it("calls whose arguments stream at the same time stay apart and complete together", () => {
    const events = [
      start("a", "m1"),
      start("b", "m1"),
      args("b", "[2"),
      args("a", "[1"),
      args("b", "]"),
      end("b"),
      args("a", "]"),
      end("a"),
      runEnd,
    ];
    const projected = project(events);
    expect(outline(projected)).toEqual(["call b", "call a", "calls a b", "agent-response-complete"]);
    expect(projected.slice(0, 2).map(({ data }) => data)).toMatchObject([{ arguments: [2] }, { arguments: [1] }]);
  });

  it("what is said between calls without ending them does not split them", () => {
    const between: readonly Event[] = [
      { type: "RAW", event: {} },
      { type: "STATE_DELTA", delta: [] },
      { type: "META", metaType: "note", payload: {} },
    ];
    const events = [...call("a", "m1"), ...between, ...call("b", "m1"), runEnd];
    expect(outline(project(events))).toEqual(["call a", "call b", "calls a b", "agent-response-complete"]);
  });

  it.each<[string, Event, readonly string[]]>([
    ["text", { type: "TEXT_MESSAGE_START", messageId: "m2" }, []],
    ["reasoning", { type: "REASONING_MESSAGE_START", messageId: "m2", role: "reasoning" }, []],
    ["a step", { type: "STEP_FINISHED", stepName: "s" }, ["status-update"]],
    ["a call of another message", start("z", "m2"), []],
    ["an error", { type: "RUN_ERROR", message: "No." }, ["agent-error"]],
  ])("calls are complete when the agent goes on to %s", (_title, event, more) => {
    expect(outline(project([...call("a", "m1"), event]))).toEqual(["call a", "calls a", ...more]);
  });

  it("calls of different messages and subagents complete apart", () => {
    const inner = [start("c", "m3", "sub"), end("c")];
    const events = [...call("a", "m1"), ...inner, ...call("b", "m2"), runEnd];
    const projected = project(events);
    expect(outline(projected)).toEqual([
      "call a",
      "call c",
      "calls a",
      "call b",
      "calls c",
      "calls b",
      "agent-response-complete",
    ]);
    expect(projected[4]?.data).toMatchObject({ subagentRunId: "sub" });
  });

  it("a call that outlasts its round's turn completes the round by itself", () => {
    const events = [start("a", "m1"), start("b", "m2"), end("a"), end("b"), runEnd];
    expect(outline(project(events))).toEqual(["call a", "calls a", "call b", "calls b", "agent-response-complete"]);
  });

  it("a call that is opened again goes on where it was", () => {
    const events = [start("a", "m1"), args("a", "[1,"), end("a"), start("a", "m1"), args("a", "2]"), end("a"), runEnd];
    const projected = project(events);
    expect(outline(projected)).toEqual(["call a", "call a", "calls a", "agent-response-complete"]);
    expect(projected[1]?.data).toMatchObject({ arguments: [1, 2] });
  });

  it("a call that is opened again in a later round keeps what it had", () => {
    const again = [start("a", "m1"), args("a", "2]"), end("a"), runEnd];
    const projected = project([start("a", "m1"), args("a", "[1,"), end("a"), ...text("m2"), ...again]);
    expect(outline(projected).filter((line) => line.startsWith("call"))).toEqual([
      "call a",
      "calls a",
      "call a",
      "calls a",
    ]);
    expect(projected.findLast(({ type }) => type === "tool-call-chunk")?.data).toMatchObject({ arguments: [1, 2] });
  });

  it("a call after the results of its message is a round of its own", () => {
    const events = [...call("a", "m1"), result("a"), ...call("b", "m1"), runEnd];
    expect(outline(project(events)).slice(4)).toEqual(["call b", "calls b", "agent-response-complete"]);
  });

  it("a stream that breaks the rules still completes what ended", () => {
    expect(outline(project([start("a"), start("a"), end("a"), end("a"), runEnd]))).toEqual([
      "call a",
      "calls a",
      "agent-response-complete",
    ]);
    const late = [start("a"), args("a", "1"), end("a"), args("a", "2"), start("a"), end("a")];
    expect(project(late).at(-1)?.data).toMatchObject({ arguments: 1 });
  });

  it("a call whose arguments never end is no call", () => {
    expect(outline(project([start("a"), args("a", "{"), { type: "RUN_ERROR", message: "No." }]))).toEqual([
      "agent-error",
    ]);
    expect(outline(project([args("x", "{}"), end("x")]))).toEqual([]);
  });
});

describe("ToolsCallResultMessage mapping", () => {
  it("ToolsCallResultMessage mapping 1: each result yields an event of its own", () => {
    const events = [...call("a", "m1"), ...call("b", "m1"), result("b"), result("a")];
    expect(outline(project(events)).filter((line) => line.startsWith("result "))).toEqual(["result b", "result a"]);
  });

  it("ToolsCallResultMessage mapping 2: data.toolCallId is the id of the call that is answered", () => {
    expect(firstData([result("a")])).toMatchObject({ toolCallId: "a" });
  });

  it("ToolsCallResultMessage mapping 3: data.result is the result's text", () => {
    expect(firstData([result("a", "12 °C")])).toMatchObject({ result: "12 °C" });
  });

  it("ToolsCallResultMessage mapping 4: data.isError is true when metadata.heddle.error says so", () => {
    expect(failed("cloudy")).toMatchObject({ isError: true, error: "cloudy" });
    expect(failed(true)).toMatchObject({ isError: true });
    for (const none of [false, null]) expect(failed(none)).toMatchObject({ isError: false });
    for (const metadata of [{}, { heddle: {} }, { heddle: null }, { heddle: "error" }, { error: true }]) {
      expect(firstData([{ ...result("a"), metadata }])).toMatchObject({ isError: false });
    }
  });

  it("ToolsCallResultMessage mapping 5: tool-result-complete follows when all results have been sent", () => {
    const events = [...call("a", "m1"), ...call("b", "m1"), result("b"), result("a")];
    expect(outline(project(events)).slice(3)).toEqual(["result b", "result a", "results b a"]);
    expect(project(events).at(-1)).toMatchObject({ messageId: "result-a", data: { isComplete: true } });
  });

  it("ToolsCallResultMessage mapping form: a tool-result-chunk has envelope, result, isError and isComplete", () => {
    expect(project([result("a")])[0]).toEqual({
      type: "tool-result-chunk",
      sessionId: "s1",
      messageId: "result-a",
      timestamp: "1970-01-01T00:00:00.000Z",
      data: { toolCallId: "a", result: "fine", isError: false, isComplete: false },
    });
  });

  it("ImageMessage: a result of parts is a note in the text, and whole in parts", () => {
    const parts: readonly ContentPart[] = [
      { type: "text", text: "Here:" },
      { type: "image", source: { type: "data", value: "AAAA", mimeType: "image/png" } },
      { type: "document", source: { type: "url", value: "https://example.org/a.pdf" } },
    ];
    expect(firstData([result("a", parts)])).toEqual({
      toolCallId: "a",
      result: "Here:\n[image: image/png]\n[document: https://example.org/a.pdf]",
      isError: false,
      parts,
      isComplete: false,
    });
  });

  it("a result whose call is not of this run is complete by itself", () => {
    const events = [...call("a"), ...call("b"), runEnd, runStart, result("a")];
    expect(outline(project(events)).slice(4)).toEqual(["result a", "results a"]);
  });

  it("results that came are complete when the run ends, though other calls have none", () => {
    const events = [...call("a", "m1"), ...call("b", "m1"), result("a"), runEnd];
    expect(outline(project(events))).toEqual([
      "call a",
      "call b",
      "calls a b",
      "result a",
      "results a",
      "agent-response-complete",
    ]);
  });

  it("what completes at the end of the run comes before its usage", () => {
    const events = [...call("a"), { ...runEnd, usage: [{}] }];
    expect(outline(project(events))).toEqual(["call a", "calls a", "metadata-update", "agent-response-complete"]);
  });

  it("a second result for the same call is sent too", () => {
    expect(outline(project([...call("a"), result("a"), result("a")])).slice(2)).toEqual([
      "result a",
      "results a",
      "result a",
      "results a",
    ]);
  });
});

describe("ToolsCallAggregateMessage mapping", () => {
  it("ToolsCallAggregateMessage mapping 1: the tool-call-chunk events come first", () => {
    expect(outline(project(round("m1", "a", "b"))).slice(0, 2)).toEqual(["call a", "call b"]);
  });

  it("ToolsCallAggregateMessage mapping 2: the tool-result-chunk events come after the calls are complete", () => {
    const lines = outline(project(round("m1", "a", "b")));
    expect(lines.indexOf("calls a b")).toBeLessThan(lines.indexOf("result a"));
  });

  it("ToolsCallAggregateMessage mapping 3: calls stand before results, completes after each", () => {
    expect(outline(project(round("m1", "a", "b")))).toEqual([
      "call a",
      "call b",
      "calls a b",
      "result a",
      "result b",
      "results a b",
    ]);
  });

  it("ToolsCallAggregateMessage mapping 4: several rounds come in the order in which they happened", () => {
    expect(outline(project([...round("m1", "a"), ...round("m2", "b")]))).toEqual([
      "call a",
      "calls a",
      "result a",
      "results a",
      "call b",
      "calls b",
      "result b",
      "results b",
    ]);
  });

  it("one request may be answered with text, a tool call, its result and more text", () => {
    expect(outline(project([runStart, ...text("m1"), ...round("m1", "a"), ...text("m2"), runEnd]))).toEqual([
      "text-chunk",
      "text-message-complete",
      "call a",
      "calls a",
      "result a",
      "results a",
      "text-chunk",
      "text-message-complete",
      "agent-response-complete",
    ]);
  });
});

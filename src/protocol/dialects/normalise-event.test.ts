import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryEvent } from "../../../test/arbitrary-event.ts";
import { parseEvent } from "../enforce.ts";
import { HeddleError } from "../errors.ts";
import type { Event } from "../generated/model.ts";
import { createNormaliseMemory, normaliseEvent } from "./normalise-event.ts";

/** What one stream becomes once it is translated and judged, and the paths of what was changed. */
function translate(...stream: readonly unknown[]): {
  readonly events: readonly Event[];
  readonly paths: readonly string[];
} {
  let ids = 0;
  const memory = createNormaliseMemory({ newId: () => `made-${++ids}` });
  const events: Event[] = [];
  const paths: string[] = [];
  for (const raw of stream) {
    const { values, warnings } = normaliseEvent(raw, memory);
    for (const value of values) {
      const judged = parseEvent(value);
      expect(judged.warnings).toEqual([]);
      if (judged.value !== undefined) events.push(judged.value);
    }
    for (const { code, path, message } of warnings) {
      expect(code).toBe("retired-form");
      expect(message).toMatch(/\.$/);
      paths.push(path);
    }
  }
  return { events, paths };
}

const finished = (fields: object): unknown => ({ type: "RUN_FINISHED", threadId: "t", runId: "r", ...fields });
const outcomeOf = (fields: object): unknown => {
  const [event] = translate(finished(fields)).events;
  return event?.type === "RUN_FINISHED" ? event.outcome : undefined;
};

describe("normaliseEvent", () => {
  it("leaves events of 1.0 alone, and the same object", () => {
    fc.assert(
      fc.property(arbitraryEvent(), (event) => {
        const { values, warnings } = normaliseEvent(event);
        expect(values).toHaveLength(1);
        expect(values[0]).toBe(event);
        expect(warnings).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  const ODD = ["constructor", "toString", "__proto__", "hasOwnProperty"].map((type) => ({ type }));
  it.each([null, 1, "x", [], {}, { type: 5 }, { type: { toString: 1 } }, ...ODD, { type: "FUTURE_EVENT", any: null }])(
    "leaves %j for enforcement to judge",
    (value) => {
      expect(normaliseEvent(value).values).toEqual([value]);
    },
  );

  it("makes no text of ids that are none", () => {
    const event = { type: "RUN_FINISHED", runId: { toString: 1 }, outcome: "interrupt" };
    expect(normaliseEvent(event).values).toMatchObject([{ outcome: { interrupts: [{ id: "run-interrupt-1" }] } }]);
  });

  it("does not change what it is given", () => {
    const raw = Object.freeze({
      type: "RUN_FINISHED",
      threadId: "t",
      runId: "r",
      outcome: "interrupt",
      interrupt: Object.freeze({ id: "i" }),
    });
    expect(normaliseEvent(raw).values[0]).not.toBe(raw);
  });
});

const retired = (event: unknown): readonly unknown[] =>
  normaliseEvent(event, createNormaliseMemory({ forms: "retired" })).values;

describe("with retired forms only", () => {
  it.each([
    { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: "success" },
    { type: "RUN_FINISHED", threadId: "t", runId: "r", interrupt: { id: "i" } },
    { type: "REASONING_MESSAGE_START", messageId: "m", role: "assistant" },
    { type: "REASONING_START", messageId: "m", encryptedContent: "e" },
    { type: "STEP_STARTED", step_name: "s" },
    { type: "STEP_STARTED", stepName: "s", timestamp: "2026-01-02T03:04:05Z" },
    { type: "TOOL_CALL_RESULT", messageId: "m", toolCallId: "c", result: "x" },
  ])("%j stays as it is", (event) => {
    expect(retired(event)).toEqual([event]);
  });

  it("THINKING, binary parts and listed nulls are still translated", () => {
    expect(retired({ type: "THINKING_END" })).toMatchObject([{ type: "REASONING_END" }]);
    expect(retired(finished({ outcome: null, usage: [{ provider: null }] }))).toEqual([finished({ usage: [{}] })]);
    const content = [{ type: "binary", mimeType: "image/png", url: "u" }];
    expect(retired({ type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "user", content }] })).toMatchObject([
      { messages: [{ content: [{ type: "image" }] }] },
    ]);
  });
});

describe("outcomes", () => {
  it.each([
    [{ outcome: "success" }, { type: "success" }],
    [{ outcome: "cancelled" }, { type: "cancelled" }],
    [{ outcome: null }, undefined],
    [{ outcome: { type: "success", pendingToolCallIds: null } }, { type: "success" }],
    [{ result: null }, undefined],
  ])("turn %j into %j", (fields, outcome) => {
    expect(outcomeOf(fields)).toEqual(outcome);
  });

  it("PROTO-IN-2: are an interrupt where one stands at the top level, whatever else is said", () => {
    const interrupt = {
      id: "call_abc123",
      payload: { functionName: "delete_file", functionArguments: { path: "/x" } },
    };
    const expected = {
      type: "interrupt",
      interrupts: [
        {
          id: "call_abc123",
          reason: "tool_call",
          toolCallId: "call_abc123",
          message: "Call delete_file?",
          metadata: { heddle: { payload: interrupt.payload } },
        },
      ],
    };
    expect(outcomeOf({ outcome: "interrupt", interrupt })).toEqual(expected);
    expect(outcomeOf({ interrupt })).toEqual(expected);
    expect(outcomeOf({ outcome: null, interrupt })).toEqual(expected);
    expect(outcomeOf({ outcome: "success", interrupt })).toEqual(expected);
    expect(outcomeOf({ outcome: { type: "success" }, interrupt })).toEqual(expected);
    expect(outcomeOf({ outcome: "interrupt", interrupts: [interrupt] })).toEqual(expected);
  });

  it("PROTO-KEPT-1: keep a second telling of the same question in the metadata", () => {
    const interrupts = [{ id: "i", reason: "confirmation" }];
    const { events } = translate(finished({ outcome: { type: "interrupt", interrupts }, interrupt: { id: "i" } }));
    expect(events).toEqual([
      finished({ outcome: { type: "interrupt", interrupts }, metadata: { heddle: { interrupt: { id: "i" } } } }),
    ]);
  });

  it("ask for input where the payload has a prompt, and for confirmation otherwise", () => {
    expect(outcomeOf({ interrupt: { id: "i", payload: { prompt: "Key?", inputType: "password" } } })).toMatchObject({
      interrupts: [
        { reason: "input_required", message: "Key?", metadata: { heddle: { payload: { inputType: "password" } } } },
      ],
    });
    expect(outcomeOf({ interrupt: { id: "i", payload: 5 } })).toMatchObject({
      interrupts: [{ reason: "confirmation", metadata: { heddle: { payload: 5 } } }],
    });
    expect(outcomeOf({ interrupt: { id: "i", reason: "mine", message: "m", payload: { prompt: "p" } } })).toMatchObject(
      {
        interrupts: [{ reason: "mine", message: "m" }],
      },
    );
  });

  it("PROTO-IN-3: name a question that came without an id, and say so", () => {
    const { events, paths } = translate(finished({ outcome: "interrupt" }));
    expect(events).toEqual([
      finished({ outcome: { type: "interrupt", interrupts: [{ id: "r-interrupt-1", reason: "confirmation" }] } }),
    ]);
    expect(paths).toContain("/outcome/interrupts");
  });

  it.each([[[]], ["yes"], [true], [5], [["x"]]])("never read the malformed interrupt %j as success", (interrupt) => {
    expect(() => translate(finished({ interrupt }))).toThrow(HeddleError);
    expect(() => translate(finished({ outcome: "success", interrupt }))).toThrow(HeddleError);
  });

  it.each(["paused", 5, ["success"], true])("of an unknown form, such as %j, are refused", (outcome) => {
    expect(() => translate(finished({ outcome }))).toThrow(HeddleError);
  });

  it("are named by the run that is open where they do not name it (seed 002)", () => {
    const { events } = translate(
      { type: "RUN_STARTED", threadId: "t1", runId: "r1" },
      { type: "RUN_FINISHED", runId: "r1" },
    );
    expect(events[1]).toEqual({ type: "RUN_FINISHED", threadId: "t1", runId: "r1" });
  });
});

describe("reasoning", () => {
  it("of role assistant is of role reasoning", () => {
    const { events, paths } = translate({ type: "REASONING_MESSAGE_START", messageId: "m", role: "assistant" });
    expect(events).toEqual([{ type: "REASONING_MESSAGE_START", messageId: "m", role: "reasoning" }]);
    expect(paths).toEqual(["/role"]);
  });

  it("with encryptedContent gives its value to the message that follows", () => {
    const { events, paths } = translate(
      { type: "REASONING_START", messageId: "span", encryptedContent: "secret", subagentRunId: "s" },
      { type: "REASONING_MESSAGE_START", messageId: "m", role: "assistant", subagentRunId: "s" },
      { type: "REASONING_MESSAGE_END", messageId: "m" },
      { type: "REASONING_END", messageId: "span" },
    );
    expect(events).toEqual([
      { type: "REASONING_START", messageId: "span", subagentRunId: "s" },
      { type: "REASONING_MESSAGE_START", messageId: "m", role: "reasoning", subagentRunId: "s" },
      {
        type: "REASONING_ENCRYPTED_VALUE",
        subtype: "message",
        entityId: "m",
        encryptedValue: "secret",
        subagentRunId: "s",
      },
      { type: "REASONING_MESSAGE_END", messageId: "m" },
      { type: "REASONING_END", messageId: "span" },
    ]);
    expect(paths).toEqual(["/encryptedContent", "/role"]);
  });

  it("with encryptedContent and no message gets an empty one, so that nothing is lost", () => {
    const { events } = translate(
      { type: "REASONING_START", messageId: "span", encryptedContent: "secret" },
      { type: "REASONING_END", messageId: "span" },
    );
    expect(events.map(({ type }) => type)).toEqual([
      "REASONING_START",
      "REASONING_MESSAGE_START",
      "REASONING_MESSAGE_END",
      "REASONING_ENCRYPTED_VALUE",
      "REASONING_END",
    ]);
  });

  it("keeps the values of spans that overlap apart", () => {
    const { events } = translate(
      { type: "REASONING_START", messageId: "a", encryptedContent: "A" },
      { type: "REASONING_START", messageId: "b", encryptedContent: "B" },
      { type: "REASONING_MESSAGE_START", messageId: "b", role: "reasoning" },
      { type: "REASONING_MESSAGE_START", messageId: "m", role: "reasoning" },
    );
    const values = events.flatMap((event) =>
      event.type === "REASONING_ENCRYPTED_VALUE" ? [[event.entityId, event.encryptedValue]] : [],
    );
    expect(values).toEqual([
      ["b", "B"],
      ["m", "A"],
    ]);
  });

  it("was called thinking, and gets ids that hold together", () => {
    const { events, paths } = translate(
      { type: "THINKING_START", title: "Plan" },
      { type: "THINKING_TEXT_MESSAGE_START" },
      { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "hm", timestamp: 5 },
      { type: "THINKING_TEXT_MESSAGE_END" },
      { type: "THINKING_END" },
    );
    expect(events).toEqual([
      { type: "REASONING_START", messageId: "made-1", metadata: { heddle: { title: "Plan" } } },
      { type: "REASONING_MESSAGE_START", messageId: "made-2", role: "reasoning" },
      { type: "REASONING_MESSAGE_CONTENT", messageId: "made-2", delta: "hm", timestamp: 5 },
      { type: "REASONING_MESSAGE_END", messageId: "made-2" },
      { type: "REASONING_END", messageId: "made-1" },
    ]);
    expect(paths).toEqual(Array.from({ length: 5 }, () => "/type"));
  });
});

describe("PROTO-IN-1: other old forms", () => {
  it("ISO timestamps are milliseconds (seed 003); others stay malformed", () => {
    const { events } = translate({ type: "STEP_STARTED", stepName: "s", timestamp: "2026-01-02T03:04:05.678Z" });
    expect(events[0]?.timestamp).toBe(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
    expect(() => translate({ type: "STEP_STARTED", stepName: "s", timestamp: "yesterday" })).toThrow(HeddleError);
    expect(() => translate({ type: "STEP_STARTED", stepName: "s", timestamp: 1.5 })).toThrow(HeddleError);
  });

  it("result is content (seed 004), and gets the id that it lacks", () => {
    const { events, paths } = translate({ type: "TOOL_CALL_RESULT", toolCallId: "call-456", result: '{"temp": 22}' });
    expect(events).toEqual([
      { type: "TOOL_CALL_RESULT", toolCallId: "call-456", messageId: "result-call-456", content: '{"temp": 22}' },
    ]);
    expect(paths).toEqual(["/result", "/messageId"]);
    expect(
      translate({ type: "TOOL_CALL_RESULT", messageId: "m", toolCallId: "c", result: { temp: 22 } }).events,
    ).toEqual([{ type: "TOOL_CALL_RESULT", messageId: "m", toolCallId: "c", content: '{"temp":22}' }]);
  });

  it("snake_case is camelCase, where the field is known", () => {
    const { events } = translate({ type: "RUN_STARTED", thread_id: "t", run_id: "r", parent_run_id: "p" });
    expect(events).toEqual([{ type: "RUN_STARTED", threadId: "t", runId: "r", parentRunId: "p" }]);
    const kept = { type: "CUSTOM", name: "n", value: { thread_id: 1 }, metadata: { some_key: 1 } };
    expect(normaliseEvent(kept).values[0]).toBe(kept);
  });

  it.each([
    [{ type: "STEP_STARTED", stepName: "s", rawEvent: null, subagentRunId: null }, 2],
    [{ type: "RUN_STARTED", threadId: "t", runId: "r", parentRunId: null, input: null }, 2],
    [
      finished({
        outcome: null,
        result: null,
        usage: [{ provider: null, reasoningTokens: null, cachedInputTokens: null, cacheWriteInputTokens: null }],
      }),
      6,
    ],
    [{ type: "RUN_ERROR", message: "m", usage: null }, 1],
    [{ type: "SUBAGENT_FINISHED", subagentRunId: "s", result: null }, 1],
    [{ type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "n", parentMessageId: null }, 1],
    [{ type: "TOOL_CALL_CHUNK", toolCallId: "c", parentMessageId: null }, 1],
    [{ type: "TOOL_CALL_RESULT", messageId: "m", toolCallId: "c", content: "x", role: null }, 1],
    [
      {
        type: "RUN_STARTED",
        threadId: "t",
        runId: "r",
        input: {
          threadId: "t",
          runId: "r",
          messages: [],
          state: null,
          forwardedProps: null,
          tools: [{ name: "n", description: "d", parameters: null }],
          resume: [{ interruptId: "i", status: "resolved", payload: null }],
        },
      },
      4,
    ],
    [
      {
        type: "MESSAGES_SNAPSHOT",
        messages: [
          { id: "1", role: "user", content: [{ type: "image", source: { type: "url", value: "u" }, metadata: null }] },
        ],
      },
      1,
    ],
  ])("null means absent in %j", (event, count) => {
    const { events, paths } = translate(event);
    expect(JSON.stringify(events)).not.toContain("null");
    expect(paths).toHaveLength(count);
  });

  it.each([
    { type: "TEXT_MESSAGE_START", messageId: "m", name: null },
    finished({ usage: null }),
    finished({ usage: [{ model: null }] }),
    { type: "RUN_ERROR", message: "m", code: null },
    { type: "STEP_STARTED", stepName: "s", metadata: null },
    { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "n", description: null },
    { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "user", content: "x", subagentRunId: null }] },
  ])("null stays malformed in %j: it is not on the list", (event) => {
    expect(() => translate(event)).toThrow(HeddleError);
  });

  it("nulls that are data stay", () => {
    const { events } = translate({ type: "STATE_SNAPSHOT", snapshot: null, rawEvent: null, metadata: { a: null } });
    expect(events).toEqual([{ type: "STATE_SNAPSHOT", snapshot: null, metadata: { a: null } }]);
  });
});

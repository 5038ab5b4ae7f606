import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeddleError } from "../errors.ts";
import { SESSION_EVENT_TYPES } from "./definition.ts";
import type { SessionEvent, SessionEventData, SessionEventType, SessionRunInput } from "./model.ts";
import {
  decodeSessionEvent,
  decodeSessionRunInput,
  encodeSessionEvent,
  encodeSessionRunInput,
} from "./session-codec.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);
const timestamp = "2026-08-01T09:30:00.000Z";

/** Each event with every member that it can have. */
const EXAMPLES: { readonly [T in SessionEventType]: SessionEventData[T] } = {
  "session-started": {
    session: {
      sessionId: "s1",
      createdAt: timestamp,
      lastActivityAt: timestamp,
      usage: { promptTokens: 1 },
      metadata: { tenant: null },
    },
    isResumed: false,
  },
  "session-ended": { reason: "error", error: { code: "session-invalid", message: "No.", details: { path: "/type" } } },
  "session-error": { error: { code: "SESSION_ERROR", message: "No.", details: {}, isFatal: true } },
  "text-chunk": { text: "Hello", role: "assistant", isComplete: false, subagentRunId: "sub" },
  "text-message-complete": { role: "user", isComplete: true },
  "tool-call-chunk": {
    toolCallId: "c1",
    toolName: "weather",
    arguments: { city: "Bern", unit: null },
    argumentsText: "{",
    isComplete: false,
  },
  "tool-call-complete": { toolCallIds: ["c1", "c2"], isComplete: true },
  "tool-result-chunk": {
    toolCallId: "c1",
    result: "[image: image/png]",
    isError: true,
    error: "cloudy",
    parts: [{ type: "image", source: { type: "data", value: "AA==", mimeType: "image/png" }, metadata: 1 }],
    isComplete: false,
  },
  "tool-result-complete": { toolCallIds: ["c1"], isComplete: true },
  "thought-chunk": { thought: "Hm", isComplete: false },
  "thought-complete": { isComplete: true },
  "status-update": { subject: "step", status: "failed", name: "plan", message: "No plan.", code: "E1" },
  "progress-update": { activityType: "search", content: { hits: [null] }, patch: [{ op: "test" }], replace: false },
  "agent-response-complete": {
    outcome: "interrupt",
    runId: "r1",
    result: [null, { a: null }],
    interrupts: [{ id: "i1", reason: "confirmation", responseSchema: { type: "boolean" }, expiresAt: "soon" }],
    pendingToolCallIds: ["c1"],
  },
  "agent-error": { error: { code: "AGENT_EXECUTION_ERROR", message: "No.", details: { why: null } } },
  "metadata-update": {
    usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 },
    provider: "p",
    model: "m",
    custom: { name: "acme.note", value: null },
  },
};

const textChunk = {
  type: "text-chunk",
  sessionId: "s1",
  messageId: "m1",
  timestamp,
  data: { text: "Hello", role: "assistant", isComplete: false },
} as const satisfies SessionEvent;

const runAgent = {
  type: "run-agent",
  sessionId: "s1",
  data: {
    messages: [
      { role: "system", content: "Be kind.", id: "m0" },
      { role: "user", content: "Hello, how can you help me?" },
      { role: "assistant", toolCalls: [{ toolCallId: "c1", toolName: "weather", arguments: {} }] },
      { role: "tool", toolCallId: "c1", content: "fine", isError: false },
    ],
    options: { modelId: "openai/gpt-4", temperature: 0.7, maxTokens: 2048, stop: null },
    resume: [{ interruptId: "i1", status: "resolved", payload: { ok: true } }],
  },
} as const satisfies SessionRunInput;

/** What a call throws, as code and details. */
function failure(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    if (error instanceof HeddleError) return { code: error.code, ...error.details };
    throw error;
  }
  return "nothing was thrown";
}

describe("an event", () => {
  it.each(SESSION_EVENT_TYPES)("round trips through JSON text: %s", (type) => {
    const event = { type, sessionId: "s1", messageId: "m1", timestamp, data: EXAMPLES[type] };
    const text = JSON.stringify(event);
    const decoded = decodeSessionEvent(text);
    expect(decoded).toEqual(event);
    expect(decoded.type).toBe(type);
    expect(JSON.parse(encodeSessionEvent(decoded))).toEqual(JSON.parse(text));
  });

  it("is written with its envelope first", () => {
    expect(encodeSessionEvent(textChunk)).toBe(
      `{"type":"text-chunk","sessionId":"s1","messageId":"m1","timestamp":"${timestamp}",` +
        `"data":{"text":"Hello","role":"assistant","isComplete":false}}`,
    );
  });

  it("has camelCase names only", () => {
    const names = SESSION_EVENT_TYPES.flatMap((type) => {
      const { custom: _, ...data } = { custom: undefined, ...EXAMPLES[type] };
      const event = { type, sessionId: "s1", messageId: "m1", timestamp, data };
      return [...encodeSessionEvent(decodeSessionEvent(JSON.stringify(event))).matchAll(/"([^"]*)":/g)];
    }).map(([, name]) => name);
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name) => !/^[a-z]+([A-Z][a-z]+)*$/.test(name ?? ""))).toEqual([]);
  });

  it("leaves out optional members that are undefined or null", () => {
    const loose = { ...textChunk, messageId: null, data: { ...textChunk.data, subagentRunId: undefined } };
    // A caller without types can hold such a value.
    const text = encodeSessionEvent(loose as unknown as SessionEvent);
    expect(text).not.toContain("messageId");
    expect(text).not.toContain("subagentRunId");
    expect(text).not.toContain("null");
  });

  it("keeps null inside opaque data", () => {
    const data = { toolCallId: "c", toolName: "t", arguments: null, isComplete: false };
    expect(encodeSessionEvent({ ...textChunk, type: "tool-call-chunk", data })).toContain('"arguments":null');
    const custom = { name: "n", value: { a: [null] } };
    expect(encodeSessionEvent({ ...textChunk, type: "metadata-update", data: { custom } })).toContain('{"a":[null]}');
  });

  it("reads null as absent where a member may be absent", () => {
    const text = JSON.stringify({ ...textChunk, messageId: null });
    expect(decodeSessionEvent(text)).not.toHaveProperty("messageId");
  });

  it("writes enumerated values as strings", () => {
    const statuses = ["queued", "started", "waiting", "finished", "failed"] as const;
    for (const status of statuses) {
      const data = { subject: "step", status } as const;
      expect(encodeSessionEvent({ ...textChunk, type: "status-update", data })).toContain(`"status":"${status}"`);
    }
  });

  it("drops members that the dialect does not know", () => {
    const more = { ...textChunk, colour: "red", data: { ...textChunk.data, font: {} } };
    expect(decodeSessionEvent(JSON.stringify(more))).toEqual(textChunk);
    expect(encodeSessionEvent(more)).toBe(encodeSessionEvent(textChunk));
  });

  it("keeps an own __proto__ inside opaque data", () => {
    const event = { ...textChunk, type: "tool-call-chunk" };
    const data = '{"toolCallId":"c","toolName":"t","arguments":{"__proto__":{"x":1}},"isComplete":false}';
    const text = JSON.stringify({ ...event, data: "DATA" }).replace('"DATA"', data);
    expect(encodeSessionEvent(decodeSessionEvent(text))).toBe(text);
  });
});

describe("an event is refused", () => {
  const { sessionId: _, ...withoutSession } = textChunk;
  const types = SESSION_EVENT_TYPES.join(", ");
  const data = textChunk.data;

  it.each([
    ["that is no object", [], "", "an object", "a list"],
    ["that is null", null, "", "an object", "null"],
    ["without a type", { data: {} }, "/type", `one of ${types}`, "nothing"],
    ["of an unknown type", { ...textChunk, type: "text" }, "/type", `one of ${types}`, '"text"'],
    ["of AG-UI's own type", { type: "RUN_STARTED" }, "/type", `one of ${types}`, '"RUN_STARTED"'],
    ["of an inherited type", { ...textChunk, type: "toString" }, "/type", `one of ${types}`, '"toString"'],
    ["without a session", withoutSession, "/sessionId", "a string", "nothing"],
    ["with a number as message", { ...textChunk, messageId: 7 }, "/messageId", "a string", "7"],
    ["with a time in milliseconds", { ...textChunk, timestamp: 1 }, "/timestamp", "an ISO 8601 time", "1"],
    ["with a day only", { ...textChunk, timestamp: "2026-08-01" }, "/timestamp", "an ISO 8601 time", '"2026-08-01"'],
    ["without data", { ...textChunk, data: null }, "/data", "an object", "null"],
    ["without text", { ...textChunk, data: { ...data, text: null } }, "/data/text", "a string", "null"],
    [
      "with an unknown role",
      { ...textChunk, data: { ...data, role: "robot" } },
      "/data/role",
      "one of developer, system, assistant, user",
      '"robot"',
    ],
    [
      "with a word as flag",
      { ...textChunk, data: { ...data, isComplete: "no" } },
      "/data/isComplete",
      "true or false",
      '"no"',
    ],
    [
      "that is complete and says it is not",
      { ...textChunk, type: "thought-complete", data: { isComplete: false } },
      "/data/isComplete",
      "true",
      "false",
    ],
    [
      "with a negative count",
      { ...textChunk, type: "metadata-update", data: { usage: { promptTokens: -1 } } },
      "/data/usage/promptTokens",
      "an integer from 0",
      "-1",
    ],
    [
      "with ids that are no list",
      { ...textChunk, type: "tool-call-complete", data: { toolCallIds: "c1", isComplete: true } },
      "/data/toolCallIds",
      "a list",
      '"c1"',
    ],
    [
      "without arguments",
      { ...textChunk, type: "tool-call-chunk", data: { toolCallId: "c", toolName: "t", isComplete: false } },
      "/data/arguments",
      "a JSON value",
      "nothing",
    ],
    [
      "with a part of unknown type",
      {
        ...textChunk,
        type: "tool-result-chunk",
        data: { ...EXAMPLES["tool-result-chunk"], parts: [{ type: "text", text: "" }, { type: "hologram" }] },
      },
      "/data/parts/1/type",
      "one of text, image, audio, video, document",
      '"hologram"',
    ],
    [
      "whose error does not say if it is fatal",
      { ...textChunk, type: "session-error", data: { error: { code: "c", message: "m" } } },
      "/data/error/isFatal",
      "true or false",
      "nothing",
    ],
  ])("%s", (_title, value, path, expected, received) => {
    const problem = { code: "session-invalid", path, expected, received };
    expect(failure(() => decodeSessionEvent(JSON.stringify(value)))).toEqual(problem);
    expect(failure(() => encodeSessionEvent(value as SessionEvent))).toEqual(problem);
  });

  it("whose members are inherited", () => {
    const heir: SessionEvent = Object.create(textChunk);
    expect(failure(() => encodeSessionEvent(heir))).toMatchObject({ path: "/type", received: "nothing" });
    const { data: inner } = textChunk;
    const poor = { ...textChunk, data: Object.create(inner) };
    expect(failure(() => encodeSessionEvent(poor))).toMatchObject({ path: "/data/text", received: "nothing" });
  });

  it("that holds what JSON cannot", () => {
    const details: Record<string, unknown> = {};
    details["self"] = details;
    const event: SessionEvent = {
      ...textChunk,
      type: "agent-error",
      data: { error: { code: "c", message: "m", details } },
    };
    expect(failure(() => encodeSessionEvent(event))).toMatchObject({ code: "session-invalid", path: "/data" });
  });
});

describe("a run-agent request", () => {
  it("round trips through JSON text", () => {
    expect(decodeSessionRunInput(JSON.stringify(runAgent))).toEqual(runAgent);
    expect(JSON.parse(encodeSessionRunInput(runAgent))).toEqual(runAgent);
  });

  it("may leave out session and options, and come with nulls in their place", () => {
    const bare = { type: "run-agent", data: { messages: [] } };
    expect(decodeSessionRunInput(JSON.stringify(bare))).toEqual(bare);
    expect(
      decodeSessionRunInput(JSON.stringify({ ...bare, sessionId: null, data: { messages: [], options: null } })),
    ).toEqual(bare);
  });

  it.each([
    ["of another type", { ...runAgent, type: "text-chunk" }, "/type", '"run-agent"', '"text-chunk"'],
    ["without a type", { data: runAgent.data }, "/type", '"run-agent"', "nothing"],
    ["whose session is a number", { ...runAgent, sessionId: 1 }, "/sessionId", "a string", "1"],
    ["without messages", { ...runAgent, data: {} }, "/data/messages", "a list", "nothing"],
    [
      "with a message of an unknown role",
      { ...runAgent, data: { messages: [{ role: "robot", content: "" }] } },
      "/data/messages/0/role",
      "one of user, assistant, tool, system, developer",
      '"robot"',
    ],
    [
      "with a user who says nothing",
      { ...runAgent, data: { messages: [{ role: "user" }] } },
      "/data/messages/0/content",
      "a string or a list of content parts",
      "nothing",
    ],
    [
      "with a result for no call",
      { ...runAgent, data: { messages: [{ role: "tool", content: "" }] } },
      "/data/messages/0/toolCallId",
      "a string",
      "nothing",
    ],
    [
      "whose options are a list",
      { ...runAgent, data: { messages: [], options: [] } },
      "/data/options",
      "an object",
      "a list",
    ],
  ])("is refused %s", (_title, value, path, expected, received) => {
    const problem = { code: "session-invalid", path, expected, received };
    expect(failure(() => decodeSessionRunInput(JSON.stringify(value)))).toEqual(problem);
  });
});

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
const withArguments = (value: string): string =>
  JSON.stringify({
    ...textChunk,
    type: "tool-call-chunk",
    data: { toolCallId: "c", toolName: "t", arguments: "ARGS", isComplete: false },
  }).replace('"ARGS"', value);

describe("hostile text", () => {
  it.each(["", "{", "nul", '{"type":', "\u0000", "run-agent"])("that is not JSON is refused: %j", (text) => {
    expect(failure(() => decodeSessionEvent(text))).toMatchObject({ code: "json-invalid" });
    expect(failure(() => decodeSessionRunInput(text))).toMatchObject({ code: "json-invalid" });
  });

  it("that is too long is refused", () => {
    const text = JSON.stringify(runAgent);
    expect(failure(() => decodeSessionRunInput(text, { maxBytes: 100 }))).toMatchObject({
      code: "limit-exceeded",
      allowed: 100,
      actual: text.length,
    });
  });

  it("that is nested deep passes up to the limit and is refused beyond it", () => {
    const deep = withArguments(nested(1000));
    expect(encodeSessionEvent(decodeSessionEvent(deep))).toBe(deep);
    for (const text of [withArguments(nested(100_000)), nested(1_000_000), '{"data":'.repeat(100_000)]) {
      expect(failure(() => decodeSessionEvent(text))).toMatchObject({
        code: expect.stringMatching(/^(limit-exceeded|json-invalid)$/),
      });
    }
    const options = `{"type":"run-agent","data":{"messages":[],"options":{"x":${nested(100_000)}}}}`;
    expect(failure(() => decodeSessionRunInput(options))).toMatchObject({ code: "limit-exceeded" });
  });

  it("cannot come out either: a value too deep to be written is refused", () => {
    let value: unknown = null;
    for (let depth = 0; depth < 100_000; depth++) value = [value];
    const data = { toolCallId: "c", toolName: "t", arguments: value, isComplete: false };
    const event: SessionEvent = { ...textChunk, type: "tool-call-chunk", data };
    expect(failure(() => encodeSessionEvent(event))).toMatchObject({ code: "limit-exceeded" });
  });

  it("gives a value or a typed error, whatever it is: 2,000 fuzzed texts", () => {
    const texts = SESSION_EVENT_TYPES.map((type) =>
      JSON.stringify({ type, sessionId: "s1", timestamp, data: EXAMPLES[type] }),
    ).concat(JSON.stringify(runAgent));
    const damaged = fc
      .tuple(fc.constantFrom(...texts), fc.nat(), fc.nat({ max: 12 }), fc.string({ unit: "binary", maxLength: 6 }))
      .map(([text, at, length, put]) => {
        const start = at % text.length;
        return text.slice(0, start) + put + text.slice(start + length);
      });
    const anyText = fc.oneof(damaged, fc.string({ unit: "binary" }), fc.json());
    const codes = new Set<unknown>();
    fc.assert(
      fc.property(anyText, (text) => {
        for (const decode of [decodeSessionEvent, decodeSessionRunInput]) {
          const outcome = failure(() => decode(text));
          codes.add(typeof outcome === "string" ? outcome : (outcome as { code: string }).code);
        }
      }),
      { numRuns: 2_000 * SCALE },
    );
    expect(codes).toEqual(new Set(["json-invalid", "session-invalid", "nothing was thrown"]));
  });
});

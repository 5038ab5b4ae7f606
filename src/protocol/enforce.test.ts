/** What the enforcement takes out, what it refuses, what it leaves alone, and what it says about each. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryEvent, arbitraryRunInput } from "../../test/arbitrary-event.ts";
import { arbitraryMutated } from "../../test/differential-differences.ts";
import { isExactEvent, parseEvent, parseRunInput } from "./enforce.ts";
import { parseAs } from "./parse-as.ts";
import type { Enforced } from "./enforce.ts";
import { HeddleError } from "./errors.ts";
import { checkOf } from "./shape.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);

const message = (content: unknown, more: object = {}) => ({ id: "m", role: "user", content, ...more });
const snapshot = (...messages: readonly unknown[]) => ({ type: "MESSAGES_SNAPSHOT", messages });
const input = (more: object = {}) => ({ threadId: "t", runId: "r", messages: [], ...more });
const finished = (outcome: unknown) => ({ type: "RUN_FINISHED", threadId: "t", runId: "r", outcome });
const interrupted = (more: object) => finished({ type: "interrupt", interrupts: [{ id: "i", reason: "r", ...more }] });
const delta = (...operations: readonly unknown[]) => ({ type: "STATE_DELTA", delta: operations });
const started = (echo: unknown) => ({ type: "RUN_STARTED", threadId: "t", runId: "r", input: echo });
const text = { type: "text", text: "hello" };
const image = { type: "image", source: { type: "url", value: "https://example.org/a.png" } };
const strangeImage = { type: "image", source: { type: "torrent", value: "magnet:" } };

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

/** Judges a frozen value: what is left of it, and the codes and paths of the warnings. */
function judged(parse: (value: unknown) => Enforced<unknown>, value: unknown) {
  const { value: left, warnings } = parse(deepFreeze(value));
  return { left, warned: warnings.map(({ code, path }) => `${code} ${path}`) };
}

function refusal(run: () => unknown): HeddleError<"event-invalid" | "input-invalid"> {
  try {
    run();
  } catch (error) {
    if (error instanceof HeddleError) return error as HeddleError<"event-invalid" | "input-invalid">;
    throw error;
  }
  throw new Error("Nothing was refused.");
}

describe("what is unknown (PROTO-ENF-1, PROTO-ENF-4)", () => {
  it("drops an event of unknown type whole, and names the type in the warning", () => {
    const { value, warnings } = parseEvent({ type: "THINKING_START", title: 7, timestamp: "malformed" });
    expect(value).toBeUndefined();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({ code: "unknown-event", path: "" });
    expect(warnings[0]?.message).toContain("THINKING_START");
  });

  it.each(["toString", "constructor", "__proto__", "hasOwnProperty", "", "run_started", "RUN_STARTED "])(
    "drops an event of type %j, which is not one of ours",
    (type) => expect(judged(parseEvent, { type })).toEqual({ left: undefined, warned: ["unknown-event "] }),
  );

  it("strips unknown properties at any depth, and names each by a JSON Pointer", () => {
    const value = snapshot(
      message(
        [
          { ...text, "a/b~c": 1 },
          { ...image, source: { ...image.source, checksum: "x" } },
        ],
        { "": null },
      ),
      {
        id: "a",
        role: "assistant",
        toolCalls: [{ id: "c", type: "function", function: { name: "f", arguments: "", v: 1 } }],
      },
    );
    expect(judged(parseEvent, { ...value, "~/~": 1 })).toEqual({
      left: snapshot(message([text, image]), {
        id: "a",
        role: "assistant",
        toolCalls: [{ id: "c", type: "function", function: { name: "f", arguments: "" } }],
      }),
      warned: [
        "unknown-property /messages/0/content/0/a~1b~0c",
        "unknown-property /messages/0/content/1/source/checksum",
        "unknown-property /messages/0/",
        "unknown-property /messages/1/toolCalls/0/function/v",
        "unknown-property /~0~1~0",
      ],
    });
  });

  it("strips unknown properties named like members of every object, and pollutes nothing", () => {
    const value: unknown = JSON.parse(
      `{"type":"RUN_ERROR","message":"no","toString":1,"constructor":{},"hasOwnProperty":null,"valueOf":[],"__proto__":{"polluted":true}}`,
    );
    const { left, warned } = judged(parseEvent, value);
    expect(JSON.stringify(left)).toBe(`{"type":"RUN_ERROR","message":"no"}`);
    expect(warned).toEqual(
      ["toString", "constructor", "hasOwnProperty", "valueOf", "__proto__"].map((key) => `unknown-property /${key}`),
    );
    expect(Object.getPrototypeOf(left)).toBe(Object.prototype);
  });

  it("says of an unknown property which one it was and where it stood", () => {
    const [warning] = parseEvent({ type: "STEP_STARTED", stepName: "s", colour: "red" }).warnings;
    expect(warning?.message).toContain('"colour"');
    expect(warning?.message).toContain("/colour");
  });

  it("takes an unknown content part out of its list, and keeps the list", () => {
    const value = message([text, { type: "binary", data: 7 }, image]);
    expect(judged(parseEvent, snapshot(value))).toEqual({
      left: snapshot(message([text, image])),
      warned: ["unknown-member /messages/0/content/1"],
    });
  });

  it("takes a part out whole where its required source is of unknown kind, and keeps the message", () => {
    expect(judged(parseEvent, snapshot(message([strangeImage])))).toEqual({
      left: snapshot(message([])),
      warned: ["unknown-member /messages/0/content/0"],
    });
  });

  it("does the same in the content of a tool result and in a run input", () => {
    const result = { type: "TOOL_CALL_RESULT", messageId: "m", toolCallId: "c", content: [strangeImage, text] };
    expect(judged(parseEvent, result)).toEqual({
      left: { ...result, content: [text] },
      warned: ["unknown-member /content/0"],
    });
    expect(judged(parseRunInput, input({ messages: [message([text, strangeImage])] }))).toEqual({
      left: input({ messages: [message([text])] }),
      warned: ["unknown-member /messages/0/content/1"],
    });
  });

  it("takes out a message of unknown role, and keeps the others", () => {
    const known = message("hello");
    expect(judged(parseEvent, snapshot({ id: "n", role: "narrator" }, known, { id: "n", role: "toString" }))).toEqual({
      left: snapshot(known),
      warned: ["unknown-member /messages/0", "unknown-member /messages/2"],
    });
  });

  it("names an unknown message by its role, even where it has a type", () => {
    const [warning] = parseEvent(snapshot({ type: "message", role: "narrator" })).warnings;
    expect(warning?.message).toContain("narrator");
  });

  it("takes an unknown patch operation out of its patch", () => {
    const patch = [
      { op: "add", path: "/a", value: null },
      { op: "increment", path: "/a" },
    ];
    expect(judged(parseEvent, { type: "STATE_DELTA", delta: patch })).toEqual({
      left: { type: "STATE_DELTA", delta: patch.slice(0, 1) },
      warned: ["unknown-member /delta/1"],
    });
  });

  it("removes an outcome of unknown type, which is optional, and keeps the event", () => {
    expect(judged(parseEvent, finished({ type: "paused", until: 7 }))).toEqual({
      left: { type: "RUN_FINISHED", threadId: "t", runId: "r" },
      warned: ["unknown-member /outcome"],
    });
    expect(
      judged(parseEvent, { type: "SUBAGENT_FINISHED", subagentRunId: "s", outcome: { type: "interrupt" } }),
    ).toEqual({
      left: { type: "SUBAGENT_FINISHED", subagentRunId: "s" },
      warned: ["unknown-member /outcome"],
    });
  });

  it("strips unknown keys inside an interrupt outcome, and keeps the interrupt", () => {
    expect(judged(parseEvent, interrupted({ urgency: 1 }))).toEqual({
      left: interrupted({}),
      warned: ["unknown-property /outcome/interrupts/0/urgency"],
    });
  });

  it("removes an unknown text role, which is optional (R-PROC-12)", () => {
    expect(judged(parseEvent, { type: "TEXT_MESSAGE_START", messageId: "m", role: "tool" })).toEqual({
      left: { type: "TEXT_MESSAGE_START", messageId: "m" },
      warned: ["unknown-member /role"],
    });
  });

  it("takes out a resume entry of unknown status (R-PROC-12), and keeps the others", () => {
    const entry = { interruptId: "i", status: "resolved" };
    expect(judged(parseRunInput, input({ resume: [{ interruptId: "j", status: "rejected" }, entry] }))).toEqual({
      left: input({ resume: [entry] }),
      warned: ["unknown-member /resume/0"],
    });
  });

  it("drops an encrypted value of unknown subtype whole (R-REAS-13), and says that the subtype is what is unknown", () => {
    const value = { type: "REASONING_ENCRYPTED_VALUE", subtype: "step", entityId: "e", encryptedValue: "v" };
    const { value: left, warnings } = parseEvent(value);
    expect(left).toBeUndefined();
    expect(warnings.map((warning) => warning.message)).toEqual([expect.stringContaining("step")]);
  });

  it("hides what is malformed or unknown inside a value that is dropped whole", () => {
    const part = { id: 7, colour: "red", ...strangeImage, metadata: null, shape: "round" };
    expect(judged(parseEvent, snapshot({ role: "narrator", id: 7, extra: 1 }, message([part], { extra: 1 })))).toEqual({
      left: snapshot(message([])),
      warned: [
        "unknown-member /messages/0",
        "unknown-member /messages/1/content/0",
        "unknown-property /messages/1/extra",
      ],
    });
  });

  it("hides it wherever the unknown value stands among the others", () => {
    const entry = { extra: 1, payload: null, status: "rejected", interruptId: 7 };
    expect(judged(parseRunInput, input({ resume: [entry] }))).toEqual({
      left: input({ resume: [] }),
      warned: ["unknown-member /resume/0"],
    });
    const value = { extra: 1, type: "REASONING_ENCRYPTED_VALUE", entityId: 7, subtype: "step", encryptedValue: null };
    expect(judged(parseEvent, value)).toMatchObject({ left: undefined, warned: { length: 1 } });
  });

  it("still reports what is malformed before and after a value that is dropped whole", () => {
    const bad = message("x", { name: 7 });
    const strange = { role: "narrator", id: 7 };
    expect(refusal(() => parseEvent(snapshot(bad, strange))).details.path).toBe("/messages/0/name");
    expect(refusal(() => parseEvent(snapshot(strange, bad))).details.path).toBe("/messages/1/name");
  });
});

describe("what is open (PROTO-ENF-5)", () => {
  const open = JSON.parse(
    `{"__proto__":{"a":null},"toString":null,"nested":{"type":"unheard-of","deep":[null]}}`,
  ) as object;
  const values: readonly (readonly [string, (value: unknown) => Enforced<unknown>, object])[] = [
    ["metadata of an event", parseEvent, { type: "RUN_ERROR", message: "no", metadata: open }],
    ["metadata of a message", parseEvent, snapshot(message("x", { metadata: open }))],
    ["activity content", parseEvent, { type: "ACTIVITY_SNAPSHOT", messageId: "m", activityType: "a", content: open }],
    ["activity message content", parseEvent, snapshot({ id: "m", role: "activity", activityType: "a", content: open })],
    ["responseSchema", parseEvent, interrupted({ responseSchema: open })],
    ["extra members of patch operations", parseEvent, delta({ op: "remove", path: "/a", value: null, ...open })],
    ["the value of a patch operation", parseEvent, delta({ op: "test", path: "", value: open })],
    ["a custom value", parseEvent, { type: "CUSTOM", name: "n", value: open }],
    ["a raw event", parseEvent, { type: "RAW", event: open, rawEvent: open }],
    ["a state snapshot", parseEvent, { type: "STATE_SNAPSHOT", snapshot: open }],
    ["a result", parseEvent, { ...finished({ type: "success" }), result: open }],
    ["the payload of META", parseEvent, { type: "META", metaType: "rating", payload: open }],
    ["state and forwardedProps", parseRunInput, input({ state: open, forwardedProps: open })],
    ["tool parameters", parseRunInput, input({ tools: [{ name: "t", description: "", parameters: open }] })],
    ["a resume payload", parseRunInput, input({ resume: [{ interruptId: "i", status: "cancelled", payload: open }] })],
    ["custom capabilities", (value) => parseAs("AgentCapabilities", value), { custom: open }],
  ];

  it.each(values)("keeps everything in %s, nulls and strange keys included", (_, parse, value) => {
    const { value: left, warnings } = parse(deepFreeze(value));
    expect(left).toBe(value);
    expect(warnings).toEqual([]);
  });

  it("keeps what is open in a value that loses something else", () => {
    const value = deepFreeze({ type: "RUN_ERROR", message: "no", metadata: open, extra: 1 });
    expect(parseEvent(value).value).toEqual({ type: "RUN_ERROR", message: "no", metadata: open });
  });
});

describe("identity", () => {
  it("returns the very value where nothing is taken out, and shares no warnings array that can be written to", () => {
    const value = deepFreeze(snapshot(message([text, image])));
    const first = parseEvent(value);
    expect(first.value).toBe(value);
    expect(() => (first.warnings as unknown[]).push("x")).toThrow(TypeError);
    expect(parseEvent(value).warnings).toEqual([]);
  });

  it("copies only the way to what is taken out: untouched siblings stay the same objects", () => {
    const kept = message([text, image], { metadata: { a: 1 } });
    const value = deepFreeze({ ...snapshot(kept, message([text, strangeImage, image])), metadata: { b: null } });
    const left = parseEvent(value).value as unknown as { messages: { content: unknown[] }[]; metadata: unknown };
    expect(left.metadata).toBe(value.metadata);
    expect(left.messages[0]).toBe(kept);
    expect(left.messages[1]?.content[0]).toBe(text);
    expect(left.messages[1]?.content[1]).toBe(image);
  });

  it("keeps the order of keys", () => {
    const left = parseEvent({ extra: 1, runId: "r", type: "RUN_STARTED", more: 2, threadId: "t" }).value;
    expect(JSON.stringify(left)).toBe(`{"runId":"r","type":"RUN_STARTED","threadId":"t"}`);
  });

  it("is done after one pass: what is left has nothing more to take out", () => {
    const property = fc.property(arbitraryMutated(arbitraryEvent()), (value) => {
      const left = attempt(() => parseEvent(value).value);
      if (left === undefined) return;
      const again = parseEvent(left);
      expect(again.value).toBe(left);
      expect(again.warnings).toEqual([]);
    });
    expect(fc.defaultReportMessage(fc.check(property, { numRuns: 1000 * SCALE }))).toBeUndefined();
  });
});

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof HeddleError) return undefined;
    throw error;
  }
}

describe("what is malformed (PROTO-ENF-2, PROTO-ENF-3)", () => {
  it.each([null, true, 7, "RUN_STARTED", [], [{ type: "RUN_ERROR", message: "no" }], undefined])(
    "refuses %j as an event and as a run input",
    (value) => {
      const received = value === undefined ? "nothing" : Array.isArray(value) ? "a list" : JSON.stringify(value);
      const details = { path: "", expected: "an object", received };
      expect(refusal(() => parseEvent(value))).toMatchObject({ code: "event-invalid", details });
      expect(refusal(() => parseRunInput(value))).toMatchObject({ code: "input-invalid", details });
    },
  );

  it.each([
    [{}, "nothing"],
    [{ type: null }, "null"],
    [{ type: 7 }, "7"],
    [{ type: ["RAW"] }, "a list"],
  ])("refuses %j as an event: its type is missing or not a string", (value, received) => {
    expect(refusal(() => parseEvent(value)).details).toEqual({ path: "/type", expected: "a string", received });
  });

  it("refuses a message, part, source, outcome or operation whose discriminator is missing or not a string", () => {
    const paths = [
      snapshot({ id: "m" }),
      snapshot(message([{ type: 7 }])),
      snapshot(message([{ ...image, source: {} }])),
      finished({ type: null }),
      delta({ op: ["add"] }),
    ].map((value) => refusal(() => parseEvent(value)).details.path);
    const source = "/messages/0/content/0/source/type";
    expect(paths).toEqual(["/messages/0/role", "/messages/0/content/0/type", source, "/outcome/type", "/delta/0/op"]);
  });

  it("reports the first problem in the order of the value, and what is missing after what is wrong", () => {
    const first = refusal(() => parseEvent({ type: "RUN_STARTED", runId: 7, parentRunId: null }));
    expect(first.details).toEqual({ path: "/runId", expected: "a string", received: "7" });
    const missing = refusal(() => parseEvent({ type: "RUN_STARTED" }));
    expect(missing.details).toEqual({ path: "/threadId", expected: "a string", received: "nothing" });
    const nested = refusal(() =>
      parseRunInput(input({ messages: [message("x"), message([text, { ...text, text: 7 }])] })),
    );
    expect(nested.details.path).toBe("/messages/1/content/1/text");
  });

  it("says in its message what belongs where, and what stood there", () => {
    expect(refusal(() => parseEvent({ type: "RUN_ERROR", message: 7 })).message).toBe(
      "Expected a string at /message, received 7.",
    );
    expect(refusal(() => parseEvent("text")).message).toBe('Expected an object at the top, received "text".');
  });

  it("shortens what it received, and leaves whole characters", () => {
    for (let length = 50; length < 70; length++) {
      const { details, message: sentence } = refusal(() =>
        parseEvent({ type: "RAW", event: 1, timestamp: `${"x".repeat(length)}${"😀".repeat(50)}` }),
      );
      expect(details.received.length).toBeLessThan(80);
      expect(details.received.isWellFormed()).toBe(true);
      expect(sentence.isWellFormed()).toBe(true);
    }
  });

  it("refuses a known field with a wrong value even where the event loses something unknown too", () => {
    expect(refusal(() => parseEvent({ type: "RUN_ERROR", extra: 1, message: null })).details.path).toBe("/message");
  });

  it("treats a field that is undefined as absent", () => {
    const value = { type: "RUN_ERROR", message: "no", code: undefined };
    expect(Object.keys(parseEvent(value).value ?? {})).toEqual(["type", "message"]);
    expect(refusal(() => parseEvent({ type: "RUN_ERROR", message: undefined })).details.received).toBe("nothing");
  });
});

describe("run inputs and META (PROTO-META-1)", () => {
  it("refuses a malformed run input with input-invalid, and the same paths", () => {
    const error = refusal(() => parseRunInput(input({ resume: { interruptId: "i", payload: 1 } })));
    expect(error).toMatchObject({ code: "input-invalid", status: 400, retryable: false });
    expect(error.details).toEqual({ path: "/resume", expected: "a list", received: "an object" });
  });

  it("refuses a null state, tool list or parent run in a run input (R-EVT-06)", () => {
    for (const field of ["state", "tools", "context", "parentRunId", "forwardedProps", "resume", "protocolVersion"]) {
      expect(refusal(() => parseRunInput(input({ [field]: null }))).details.path).toBe(`/${field}`);
    }
  });

  it("judges the echo on RUN_STARTED like a run input, with event-invalid", () => {
    expect(judged(parseEvent, started(input({ extra: 1 })))).toEqual({
      left: started(input()),
      warned: ["unknown-property /input/extra"],
    });
    expect(refusal(() => parseEvent(started(input({ state: null }))))).toMatchObject({
      code: "event-invalid",
      details: { path: "/input/state" },
    });
  });

  it("accepts META with an open payload, and refuses one without", () => {
    const meta = { type: "META", metaType: "rating", payload: { stars: 5, note: null }, timestamp: 1 };
    expect(parseEvent(meta)).toEqual({ value: meta, warnings: [] });
    expect(refusal(() => parseEvent({ type: "META", metaType: "rating" })).details.path).toBe("/payload");
  });
});

type Judge = (value: unknown) => Enforced<unknown>;

/** Expects a check to say yes where the walk returns the very value without a warning, and nowhere else. */
const agree = (isExact: (value: unknown) => boolean, walk: Judge) => (value: unknown) => {
  const walked = attempt(() => walk(value));
  expect(isExact(value)).toBe(walked !== undefined && walked.value === value && walked.warnings.length === 0);
};

describe("the quick check and the walk", () => {
  it.each([
    ["event", isExactEvent, "Event", arbitraryEvent()],
    ["event in the table", checkOf("%Event"), "Event", arbitraryEvent()],
    ["run input", checkOf("@RunAgentInput"), "RunAgentInput", arbitraryRunInput()],
  ] as const)("agree on whether an %s is exactly right", (_, isExact, name, values) => {
    const property = fc.property(
      arbitraryMutated(values),
      agree(isExact, (value) => parseAs(name, value)),
    );
    expect(fc.defaultReportMessage(fc.check(property, { numRuns: 3000 * SCALE }))).toBeUndefined();
  });

  it.each([
    ["a list with a hole", { type: "MESSAGES_SNAPSHOT", messages: Array(2) }],
    ["an undefined optional field", { type: "RUN_ERROR", message: "no", code: undefined }],
    ["an undefined delta", { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: undefined }],
    ["a delta with a stranger", { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "", extra: 1 }],
    ["a delta with a stranger for its id", { type: "TOOL_CALL_ARGS", delta: "", messageId: "m" }],
    ["a delta with __proto__", JSON.parse(`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"","__proto__":null}`)],
  ])("agree on %s", (_, value) => {
    expect(() => agree(isExactEvent, (each) => parseAs("Event", each))(value)).not.toThrow();
  });
});

/** Every event and every message, with a secret in each place that may hold one, and something to be seen in the others. */
import { describe, expect, test } from "vitest";
import { ARBITRARY_EVENT_TYPES } from "../../test/arbitrary-event.ts";
import type { Event, Message } from "../protocol/index.ts";
import { UNDECLARED_PEER } from "../protocol/dialects/index.ts";
import { PROTOBUF, SSE } from "./encoding.ts";
import type { Encoding } from "./encoding.ts";
import { ForViews } from "./for-views.ts";
import { createReduceState, reduce } from "../stream/index.ts";
import { showOf, shown } from "./show.ts";
import type { ShowOptions } from "./show.ts";

const SECRET = "SECRET";
const SHOWN = "SHOWN";
const HIDDEN = { meta: true, reasoning: false, hiddenState: ["/secrets", "/users/*/key"] } as const;

const sealed = { encryptedValue: SECRET, encryptedValueType: SECRET };
const state = { secrets: SECRET, users: [{ key: SECRET, name: SHOWN }], note: SHOWN };
const call = { id: "c", type: "function", function: { name: SHOWN, arguments: SHOWN }, ...sealed } as const;

/** What is left of each role. */
const MESSAGES = {
  developer: [{ id: "1", role: "developer", content: SECRET, ...sealed }, undefined],
  system: [{ id: "2", role: "system", content: SECRET, name: SECRET, ...sealed }, undefined],
  assistant: [{ id: "3", role: "assistant", content: SHOWN, toolCalls: [call], ...sealed }, SHOWN],
  user: [{ id: "4", role: "user", content: [{ type: "text", text: SHOWN }], ...sealed }, SHOWN],
  tool: [{ id: "5", role: "tool", toolCallId: "c", content: SHOWN, error: SHOWN, ...sealed }, SHOWN],
  activity: [{ id: "6", role: "activity", activityType: "PLAN", content: { step: SHOWN } }, SHOWN],
  reasoning: [{ id: "7", role: "reasoning", content: SECRET, ...sealed, metadata: { k: SECRET } }, undefined],
} as const satisfies Record<Message["role"], readonly [Message, string | undefined]>;

const messages = Object.values(MESSAGES).map(([message]) => message);
const input = { threadId: "t", runId: "r", messages, state, context: [{ description: SHOWN, value: SHOWN }] };
const frame = { threadId: "t", runId: "r" };
const said = { messageId: "m", delta: SHOWN } as const;
const thought = { messageId: "h", metadata: { k: SECRET } } as const;
const done = { subagentRunId: "s" } as const;
const interrupts = [{ id: "i", reason: "ask", message: SHOWN }];

/** One event of each type, and what is left of it: nothing, or what is to be seen. */
const EVENTS = {
  RUN_STARTED: [{ type: "RUN_STARTED", ...frame, input }, SHOWN],
  RUN_FINISHED: [{ type: "RUN_FINISHED", ...frame, result: SHOWN, outcome: { type: "interrupt", interrupts } }, SHOWN],
  RUN_ERROR: [{ type: "RUN_ERROR", message: SHOWN }, SHOWN],
  STEP_STARTED: [{ type: "STEP_STARTED", stepName: SHOWN }, SHOWN],
  STEP_FINISHED: [{ type: "STEP_FINISHED", stepName: SHOWN }, SHOWN],
  TEXT_MESSAGE_START: [{ type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant", name: SHOWN }, SHOWN],
  TEXT_MESSAGE_CONTENT: [{ type: "TEXT_MESSAGE_CONTENT", ...said }, SHOWN],
  TEXT_MESSAGE_END: [{ type: "TEXT_MESSAGE_END", messageId: SHOWN }, SHOWN],
  TEXT_MESSAGE_CHUNK: [{ type: "TEXT_MESSAGE_CHUNK", role: "system", delta: SECRET, messageId: "m" }, undefined],
  TOOL_CALL_START: [{ type: "TOOL_CALL_START", toolCallId: "c", toolCallName: SHOWN }, SHOWN],
  TOOL_CALL_ARGS: [{ type: "TOOL_CALL_ARGS", toolCallId: "c", delta: SHOWN }, SHOWN],
  TOOL_CALL_END: [{ type: "TOOL_CALL_END", toolCallId: SHOWN }, SHOWN],
  TOOL_CALL_CHUNK: [{ type: "TOOL_CALL_CHUNK", toolCallId: "c", toolCallName: SHOWN }, SHOWN],
  TOOL_CALL_RESULT: [{ type: "TOOL_CALL_RESULT", messageId: "t", toolCallId: "c", content: SHOWN }, SHOWN],
  STATE_SNAPSHOT: [{ type: "STATE_SNAPSHOT", snapshot: state }, SHOWN],
  STATE_DELTA: [
    {
      type: "STATE_DELTA",
      delta: [
        { op: "add", path: "/users/-", value: { key: SECRET, name: SHOWN } },
        { op: "add", path: "/secrets/SECRET", value: SECRET },
        { op: "test", path: "/secrets", value: SECRET },
        { op: "remove", path: "/users/0/key" },
        { op: "copy", from: "/secrets/SECRET", path: "/out" },
        { op: "move", from: "/note", path: "/secrets/SECRET" },
        { op: "replace", path: "", value: state },
      ],
    },
    SHOWN,
  ],
  MESSAGES_SNAPSHOT: [{ type: "MESSAGES_SNAPSHOT", messages }, SHOWN],
  ACTIVITY_SNAPSHOT: [
    { type: "ACTIVITY_SNAPSHOT", messageId: "a", activityType: "PLAN", content: { step: SHOWN } },
    SHOWN,
  ],
  ACTIVITY_DELTA: [
    {
      type: "ACTIVITY_DELTA",
      messageId: "a",
      activityType: "PLAN",
      patch: [{ op: "add", path: "/secrets", value: SHOWN }],
    },
    SHOWN,
  ],
  REASONING_START: [{ type: "REASONING_START", ...thought }, undefined],
  REASONING_MESSAGE_START: [{ type: "REASONING_MESSAGE_START", role: "reasoning", ...thought }, undefined],
  REASONING_MESSAGE_CONTENT: [{ type: "REASONING_MESSAGE_CONTENT", ...thought, delta: SECRET }, undefined],
  REASONING_MESSAGE_END: [{ type: "REASONING_MESSAGE_END", ...thought }, undefined],
  REASONING_MESSAGE_CHUNK: [{ type: "REASONING_MESSAGE_CHUNK", ...thought, delta: SECRET }, undefined],
  REASONING_END: [{ type: "REASONING_END", ...thought }, undefined],
  REASONING_ENCRYPTED_VALUE: [
    { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "m", ...sealed },
    undefined,
  ],
  SUBAGENT_STARTED: [{ type: "SUBAGENT_STARTED", ...done, name: SHOWN }, SHOWN],
  SUBAGENT_FINISHED: [{ type: "SUBAGENT_FINISHED", ...done, result: SHOWN }, SHOWN],
  SUBAGENT_ERROR: [{ type: "SUBAGENT_ERROR", ...done, message: SHOWN }, SHOWN],
  RAW: [{ type: "RAW", event: SECRET, source: SECRET }, undefined],
  CUSTOM: [{ type: "CUSTOM", name: "note", value: SHOWN }, SHOWN],
  META: [{ type: "META", metaType: "note", payload: { text: SHOWN } }, SHOWN],
} as const satisfies Record<Event["type"], readonly [Event, string | undefined]>;

function told(event: Event, options: ShowOptions, encoding: Encoding = SSE): string | undefined {
  const seen = shown({ seq: 1, runId: "r", json: JSON.stringify(event) }, showOf(options));
  return seen === undefined ? undefined : Buffer.from(encoding.encode(seen, "")).toString("latin1");
}

/** A word in escapes. */
const spelled = (word: string): string =>
  Array.from(word, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

test("the table has every event", () => {
  expect(Object.keys(EVENTS).toSorted()).toEqual([...ARBITRARY_EVENT_TYPES, "META"].toSorted());
});

describe.each(Object.entries(EVENTS))("%s", (_, [event, left]) => {
  const full: Event = { ...event, rawEvent: { said: SECRET } };
  test.each<[string, ShowOptions, Encoding]>([
    ["a current reader", HIDDEN, SSE],
    ["an older one", { ...HIDDEN, peer: UNDECLARED_PEER }, SSE],
    ["protobuf, which has no META", { ...HIDDEN, meta: false }, PROTOBUF],
  ])("holds no secret for %s", (__, options, encoding) => {
    expect(told(full, options, encoding) ?? "").not.toContain(SECRET);
  });

  test("holds none where its text is spelled otherwise", () => {
    const spaced = JSON.stringify(full, null, 1).replaceAll("\n", "");
    const escaped = JSON.stringify(full).replaceAll(/(?<=")[A-Za-z]+(?=")/g, spelled);
    for (const json of [spaced, escaped]) {
      const seen = shown({ seq: 1, runId: "r", json }, showOf(HIDDEN));
      expect(JSON.stringify(JSON.parse(seen?.json ?? "{}"))).not.toContain(SECRET);
    }
  });

  test("shows the rest", () => {
    const seen = told(full, HIDDEN);
    expect(seen?.includes(SHOWN) ?? false).toBe(left === SHOWN);
    expect(seen === undefined).toBe(left === undefined);
  });

  test("is there as a whole for who may see everything", () => {
    expect(told(full, { meta: true, raw: true })).toBe(`data: ${JSON.stringify(full)}\n\n`);
  });
});

describe.each(Object.entries(MESSAGES))("a message of role %s", (_, [message, left]) => {
  test.each([
    ["restated", { type: "MESSAGES_SNAPSHOT", messages: [message] } satisfies Event],
    ["posted", { type: "RUN_STARTED", ...frame, input: { ...frame, messages: [message] } } satisfies Event],
  ])("that is %s", (__, event) => {
    const seen = told(event, HIDDEN) ?? "";
    expect(seen).not.toContain(SECRET);
    expect(seen.includes(SHOWN)).toBe(left === SHOWN);
    expect(seen.includes(`"id":"${message.id}"`)).toBe(left === SHOWN);
  });
});

test("who may not see everything gets nothing of what a provider said, though they ask", () => {
  for (const hides of [{ reasoning: false }, { hiddenState: ["/secrets"] }]) {
    const options = { ...hides, raw: true };
    expect(told(EVENTS.RAW[0], options)).toBe(undefined);
    expect(told({ ...EVENTS.CUSTOM[0], rawEvent: SECRET }, options)).not.toContain(SECRET);
    expect(told({ type: "MESSAGES_SNAPSHOT", messages: [MESSAGES.system[0]] }, options)).toContain(`"${SECRET}"`);
  }
});

test("a state that is hidden as a whole is never spoken of", () => {
  const options = { hiddenState: [""] };
  expect(told(EVENTS.STATE_SNAPSHOT[0], options)).toBe(undefined);
  expect(told(EVENTS.STATE_DELTA[0], options)).toBe(undefined);
  expect(told(EVENTS.RUN_STARTED[0], options)).not.toContain('"state"');
});

/** What a reader who may not see everything gets of the messages that events leave. */
function log(...events: readonly Event[]): string {
  const [fold, forViews] = [createReduceState(), new ForViews()];
  for (const event of events) reduce(fold, forViews.tell(event, fold));
  const restated: Event = { type: "MESSAGES_SNAPSHOT", messages: fold.list.publish() };
  return told(restated, HIDDEN) ?? "";
}

describe("ids that belong to another kind", () => {
  const answer: Event = { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" };
  const shownDelta: Event = { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: SHOWN };
  const end: Event = { type: "TEXT_MESSAGE_END", messageId: "m" };
  const thinks: readonly Event[] = [
    { type: "REASONING_MESSAGE_START", messageId: "m", role: "reasoning" },
    { type: "REASONING_MESSAGE_CONTENT", messageId: "m", delta: SECRET },
    { type: "REASONING_MESSAGE_END", messageId: "m" },
  ];
  const instructs: readonly Event[] = [
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "system" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: SECRET },
    end,
  ];

  test.each([
    ["a thought behind an answer", [answer, shownDelta, end, ...thinks]],
    ["a thought before an answer", [...thinks, answer, shownDelta, end]],
    ["a thought within an answer", [answer, ...thinks, shownDelta, end]],
    ["an instruction behind an answer", [answer, shownDelta, end, ...instructs]],
    ["an instruction before an answer", [...instructs, answer, shownDelta, end]],
    ["an instruction, a thought and an answer", [...instructs, ...thinks, answer, shownDelta, end]],
  ])("%s stay apart", (_, events) => {
    expect(log(...events)).toContain(SHOWN);
    expect(log(...events)).not.toContain(SECRET);
  });
});

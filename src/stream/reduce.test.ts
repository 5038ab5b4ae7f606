/** The fold of messages and state, row by row of ag-ui-facts.md (section 5) as we settle it. */
import { describe, expect, it } from "vitest";
import type { Event, Message } from "../protocol/index.ts";
import { createReduceState, reduce } from "./reduce.ts";
import type { ReduceOptions } from "./reduce.ts";
import { reduceAll } from "./stage.ts";

/** What a fold says that it skipped. */
function warningsOf(events: readonly Event[], options?: ReduceOptions): readonly string[] {
  const state = createReduceState(options);
  return events.flatMap((event) => reduce(state, event).map(({ message }) => message));
}

const messagesOf = (events: readonly Event[], messages: readonly Message[] = []) =>
  reduceAll(events, { messages }).messages;
const stateOf = (events: readonly Event[], state?: unknown) => reduceAll(events, { state }).state;

const start: Event = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const s1 = { subagentRunId: "s1" };
const textStart: Event = { type: "TEXT_MESSAGE_START", messageId: "m1" };
const textMore: Event = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "a" };
const textEnd: Event = { type: "TEXT_MESSAGE_END", messageId: "m1" };
const callStart: Event = { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "f" };
const callMore: Event = { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "{}" };
const callEnd: Event = { type: "TOOL_CALL_END", toolCallId: "c1" };
const result: Event = { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "ok" };
const thoughtStart: Event = { type: "REASONING_MESSAGE_START", messageId: "t1", role: "reasoning" };
const thoughtMore: Event = { type: "REASONING_MESSAGE_CONTENT", messageId: "t1", delta: "hm" };
const activity = { type: "ACTIVITY_SNAPSHOT", messageId: "a1", activityType: "PLAN", content: { n: 1 } } as const;
const change: Event = {
  type: "ACTIVITY_DELTA",
  messageId: "a1",
  activityType: "DONE",
  patch: [{ op: "replace", path: "/n", value: 2 }],
};
const user: Message = { id: "u1", role: "user", content: "hi" };
const parts: Message = { id: "m1", role: "user", content: [{ type: "text", text: "see" }] };
const held: Message = { id: "a1", role: "activity", activityType: "PLAN", content: { n: 1 } };
const call = (id = "c1", args = "") => ({ id, type: "function", function: { name: "f", arguments: args } }) as const;
const carrier: Message = { id: "m1", role: "assistant", toolCalls: [call()] };
const k1 = { metadata: { k: 1, deep: { a: 1 } } };
const k2 = { metadata: { k: 2, more: null, deep: { b: 1 } } };
const merged = { k: 2, more: null, deep: { b: 1 } };

describe("text messages", () => {
  it("are created at the end, with role, name and owner", () => {
    expect(messagesOf([{ ...textStart, role: "user", name: "Ada", ...s1 }], [user])).toEqual([
      user,
      { id: "m1", role: "user", content: "", name: "Ada", ...s1 },
    ]);
    expect(messagesOf([textStart, textMore, textMore, textEnd])).toEqual([
      { id: "m1", role: "assistant", content: "aa" },
    ]);
  });

  it("are appended to when they are opened again, and keep role, name and owner", () => {
    const again = { ...textStart, role: "user", name: "Bob", ...s1 } as const;
    expect(messagesOf([textStart, textMore, textEnd, again, textMore, textEnd])).toEqual([
      { id: "m1", role: "assistant", content: "aa" },
    ]);
    expect(messagesOf([textStart, textMore], [carrier])).toEqual([{ ...carrier, content: "a" }]);
    expect(messagesOf([thoughtStart, { ...textMore, messageId: "t1" }])).toMatchObject([
      { role: "reasoning", content: "a" },
    ]);
  });

  it.each([
    ["an activity", held],
    ["a message with parts", { ...parts, id: "a1" }],
  ])("are not written over %s", (_, message) => {
    const events = [textStart, textMore, textEnd].map((event): Event => ({ ...event, messageId: "a1", ...k1 }));
    expect(messagesOf(events, [message])).toEqual([message]);
    expect(warningsOf(events, { messages: [message] })).toHaveLength(3);
  });

  it("that are not there are skipped, with a warning", () => {
    expect(messagesOf([textMore, textEnd])).toEqual([]);
    expect(warningsOf([textMore, textEnd])).toHaveLength(2);
  });

  it("merge metadata key by key, the last write wins, never inside a value", () => {
    expect(messagesOf([{ ...textStart, ...k1 }, { ...textMore, ...k2 }, textEnd])).toMatchObject([
      { metadata: merged },
    ]);
    expect(
      messagesOf([
        { ...textStart, ...k1 },
        { ...textEnd, ...k2 },
      ])[0]?.metadata,
    ).toEqual(merged);
  });
});

describe("tool calls", () => {
  it("go to the assistant message that they name", () => {
    expect(messagesOf([textStart, { ...callStart, parentMessageId: "m1" }, callMore])).toEqual([
      { id: "m1", role: "assistant", content: "", toolCalls: [call("c1", "{}")] },
    ]);
  });

  it("make the message that they name where there is none, with their owner", () => {
    expect(messagesOf([{ ...callStart, parentMessageId: "m1", ...s1 }])).toEqual([{ ...carrier, ...s1 }]);
  });

  it("make a message of their own id without a parent, or where the parent is no assistant's", () => {
    expect(messagesOf([callStart])).toEqual([{ id: "c1", role: "assistant", toolCalls: [call()] }]);
    expect(messagesOf([{ ...callStart, parentMessageId: "u1" }], [user])).toEqual([
      user,
      { id: "c1", role: "assistant", toolCalls: [call()] },
    ]);
  });

  it("never make a message of an id that is taken", () => {
    const taken: Message = { id: "c1", role: "user", content: "" };
    const messages = messagesOf([callStart, callMore, result], [taken]);
    expect(messages).toMatchObject([taken, { role: "assistant", toolCalls: [call("c1", "{}")] }, { id: "r1" }]);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(3);
  });

  it("are not added twice: a call opened again keeps its arguments, takes the new name and merges metadata", () => {
    const again: Event = { ...callStart, toolCallName: "g", parentMessageId: "m9", ...k2 };
    const events = [{ ...callStart, parentMessageId: "m1", ...k1 }, callMore, callEnd, again, callMore];
    expect(messagesOf(events)).toEqual([
      {
        id: "m1",
        role: "assistant",
        toolCalls: [{ ...call("c1", "{}{}"), function: { name: "g", arguments: "{}{}" }, metadata: merged }],
      },
    ]);
    expect(warningsOf(events)).toHaveLength(1);
  });

  it("merge metadata into the call, not into its message", () => {
    const [message] = messagesOf([
      { ...callStart, ...k1 },
      { ...callMore, ...k2 },
      { ...callEnd, metadata: { end: 1 } },
    ]);
    expect(message).toEqual({
      id: "c1",
      role: "assistant",
      toolCalls: [{ ...call("c1", "{}"), metadata: { ...merged, end: 1 } }],
    });
  });

  it("that are not there are skipped, with a warning", () => {
    expect(messagesOf([callMore, { ...callEnd, ...k1 }])).toEqual([]);
    expect(warningsOf([callMore, { ...callEnd, ...k1 }])).toHaveLength(2);
  });

  it("that two messages carry are the first one's, as in the stock client", () => {
    const second: Message = { ...carrier, id: "m2" };
    const messages = messagesOf([callMore, result], [carrier, second]);
    expect(messages).toEqual([
      { ...carrier, toolCalls: [call("c1", "{}")] },
      expect.objectContaining({ id: "r1" }),
      second,
    ]);
  });
});

describe("tool results", () => {
  const tool = { id: "r1", role: "tool", toolCallId: "c1", content: "ok" } as const;

  it("stand behind the message of their call, and behind the answers there", () => {
    const second = { ...result, messageId: "r2" } as const;
    expect(messagesOf([{ ...result, ...s1, ...k1 }, second], [carrier, user])).toEqual([
      carrier,
      { ...tool, ...s1, ...k1 },
      { ...tool, id: "r2" },
      user,
    ]);
  });

  it("stand at the end where nothing carries the call", () => {
    expect(messagesOf([result], [user])).toEqual([user, tool]);
  });

  it("that come twice under one message id stand once, where they stood, as they came last", () => {
    const again = { ...result, content: "better" } as const;
    expect(messagesOf([result, again], [carrier, user])).toEqual([carrier, { ...tool, content: "better" }, user]);
  });

  it("never take the place of another kind of message", () => {
    expect(messagesOf([{ ...result, messageId: "u1" }], [user])).toEqual([user]);
    expect(warningsOf([{ ...result, messageId: "u1" }], { messages: [user] })).toHaveLength(1);
  });

  it("keep parts as they are", () => {
    const content = [{ type: "text", text: "x" }] as const;
    expect(messagesOf([{ ...result, content }])).toEqual([{ ...tool, content }]);
  });
});

describe("state", () => {
  it.each([null, 0, false, "", [], { a: 1 }])("is what a snapshot says: %j", (snapshot) => {
    expect(stateOf([{ type: "STATE_SNAPSHOT", snapshot }], { b: 1 })).toEqual(snapshot);
  });

  it("is an empty object until anything says otherwise, then the input's", () => {
    expect(stateOf([start])).toEqual({});
    const input = { threadId: "t", runId: "r", messages: [], state: { a: 1 } };
    const delta: Event = { type: "STATE_DELTA", delta: [{ op: "add", path: "/b", value: 2 }] };
    expect(stateOf([delta])).toEqual({ b: 2 });
    expect(stateOf([{ ...start, input }, delta])).toEqual({ a: 1, b: 2 });
    expect(stateOf([{ ...start, input }], { held: 1 })).toEqual({ held: 1 });
  });

  it("is patched as a whole or not at all, and the run goes on", () => {
    const bad: Event = {
      type: "STATE_DELTA",
      delta: [
        { op: "add", path: "/b", value: 1 },
        { op: "test", path: "/a", value: 2 },
      ],
    };
    const good: Event = { type: "STATE_DELTA", delta: [{ op: "replace", path: "/a", value: 3 }] };
    expect(stateOf([bad], { a: 1 })).toEqual({ a: 1 });
    expect(stateOf([bad, good], { a: 1 })).toEqual({ a: 3 });
    expect(warningsOf([bad, good], { state: { a: 1 } })).toHaveLength(1);
    expect(stateOf([{ type: "STATE_DELTA", delta: [{ op: "add", path: "/a", value: 1 }] }], null)).toBeNull();
  });
});

const snapshot = (...messages: readonly Message[]): Event => ({ type: "MESSAGES_SNAPSHOT", messages });

describe("snapshots of messages", () => {
  const thought: Message = { id: "t1", role: "reasoning", content: "hm" };

  it("replace what is known where it stands, add what is not at the end, and drop the rest", () => {
    const now: Message = { ...user, content: "again" };
    const fresh: Message = { id: "n1", role: "system", content: "" };
    expect(messagesOf([snapshot(fresh, now)], [carrier, user])).toEqual([now, fresh]);
    expect(messagesOf([snapshot(user, carrier)], [carrier, user])).toEqual([carrier, user]);
  });

  it("keep activities and reasoning, unless they hold any of the kind", () => {
    const other: Message = { ...held, id: "a2" };
    expect(messagesOf([snapshot(user)], [held, thought, carrier])).toEqual([held, thought, user]);
    expect(messagesOf([snapshot(other)], [held, thought])).toEqual([thought, other]);
    expect(messagesOf([snapshot({ ...thought, id: "t2" })], [held, thought])).toMatchObject([held, { id: "t2" }]);
  });

  it("hold an id once, as it comes last", () => {
    expect(messagesOf([snapshot(user, { ...user, content: "last" })])).toEqual([{ ...user, content: "last" }]);
  });

  it("let a message be continued that they restate, and not one that they drop", () => {
    expect(messagesOf([textStart, snapshot({ id: "m1", role: "assistant", content: "x" }), textMore])).toMatchObject([
      { content: "xa" },
    ]);
    expect(messagesOf([textStart, snapshot(user), textMore])).toEqual([user]);
    expect(messagesOf([snapshot(carrier), callMore])).toEqual([{ ...carrier, toolCalls: [call("c1", "{}")] }]);
    expect(messagesOf([callStart, snapshot(user), callMore])).toEqual([user]);
  });

  it("withdraw an encrypted value that they leave out", () => {
    const seal: Event = { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "u1", encryptedValue: "x" };
    expect(messagesOf([seal, snapshot(user)], [user])).toEqual([user]);
  });
});

describe("activities", () => {
  const replaced = { ...activity, activityType: "NEW", content: { m: 1 } } as const;

  it("come at the end, and are replaced where they stand: metadata stays, the owner is anew", () => {
    expect(messagesOf([{ ...activity, ...s1, ...k1 }], [user])).toEqual([user, { ...held, ...s1, ...k1 }]);
    const events = [{ ...activity, ...s1, ...k1 }, textStart, { ...replaced, ...k2 }];
    expect(messagesOf(events)[0]).toEqual({ ...held, activityType: "NEW", content: { m: 1 }, metadata: merged });
  });

  it("are left alone by a snapshot that does not replace, but for metadata", () => {
    expect(messagesOf([{ ...replaced, replace: false, ...s1, ...k1 }], [held])).toEqual([{ ...held, ...k1 }]);
    expect(messagesOf([{ ...activity, replace: false, ...s1 }])).toEqual([{ ...held, ...s1 }]);
  });

  it.each([undefined, true, false])("never take the place of another kind of message (replace: %s)", (replace) => {
    const event = { ...activity, messageId: "u1", ...(replace === undefined ? {} : { replace }) };
    expect(messagesOf([event], [user])).toEqual([user]);
    expect(warningsOf([event], { messages: [user] })).toHaveLength(1);
  });

  it("are patched, and take the type of the delta", () => {
    expect(messagesOf([change], [held])).toEqual([{ ...held, activityType: "DONE", content: { n: 2 } }]);
  });

  it.each([
    ["does not apply", [{ op: "remove", path: "/none" }]],
    ["leaves no object", [{ op: "replace", path: "", value: [] }]],
  ] as const)("keep content and type where a patch %s, and merge metadata all the same", (_, patch) => {
    const event = { ...change, patch, ...k1 } as Event;
    expect(messagesOf([event], [held])).toEqual([{ ...held, ...k1 }]);
    expect(warningsOf([event], { messages: [held] })).toHaveLength(1);
  });

  it("that are not there, or are none, are skipped with a warning", () => {
    expect(messagesOf([change, { ...change, messageId: "u1", ...k1 }], [user])).toEqual([user]);
    expect(warningsOf([change, { ...change, messageId: "u1" }], { messages: [user] })).toHaveLength(2);
  });
});

describe("reasoning and encrypted values", () => {
  const seal = { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "t1", encryptedValue: "x" } as const;

  it("spans make nothing, reasoning messages are messages", () => {
    expect(
      messagesOf([
        { type: "REASONING_START", messageId: "t1" },
        { type: "REASONING_END", messageId: "t1" },
      ]),
    ).toEqual([]);
    const end: Event = { type: "REASONING_MESSAGE_END", messageId: "t1", ...k2 };
    expect(messagesOf([{ ...thoughtStart, ...s1, ...k1 }, thoughtMore, thoughtMore, end])).toEqual([
      { id: "t1", role: "reasoning", content: "hmhm", ...s1, metadata: merged },
    ]);
  });

  it("a value goes to its message or call, with its type; without one the old type goes", () => {
    const typed = { ...seal, encryptedValueType: "v.t", ...k1 };
    expect(messagesOf([thoughtStart, typed])).toEqual([
      { id: "t1", role: "reasoning", content: "", encryptedValue: "x", encryptedValueType: "v.t" },
    ]);
    expect(messagesOf([thoughtStart, typed, { ...seal, encryptedValue: "y" }])).toEqual([
      { id: "t1", role: "reasoning", content: "", encryptedValue: "y" },
    ]);
    expect(messagesOf([{ ...seal, subtype: "tool-call", entityId: "c1" }], [carrier])).toEqual([
      { ...carrier, toolCalls: [{ ...call(), encryptedValue: "x" }] },
    ]);
  });

  it.each([
    ["nobody", seal],
    ["an activity", { ...seal, entityId: "a1" }],
    ["a call, named as a message", { ...seal, entityId: "c1" }],
    ["a message, named as a call", { ...seal, subtype: "tool-call", entityId: "m1" }],
  ] as const)("a value for %s is skipped, with a warning", (_, event) => {
    expect(messagesOf([event], [held, carrier])).toEqual([held, carrier]);
    expect(warningsOf([event], { messages: [held, carrier] })).toHaveLength(1);
  });
});

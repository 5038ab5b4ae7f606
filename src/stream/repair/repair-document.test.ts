import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryJson, arbitraryPatch } from "../../../test/arbitrary-event.ts";
import type { Event, JsonPatch, Message } from "../../protocol/index.ts";
import { applyPatch } from "../apply-patch.ts";
import { repairPatch } from "./repair-patch.ts";
import { createRepairState, repair } from "./repair.ts";
import type { Repair, RepairOptions } from "./repair.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const RUNS = { numRuns: Math.ceil(5000 * SCALE) };

const started: Event = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const delta = (...operations: JsonPatch): Event => ({ type: "STATE_DELTA", delta: operations });
const activity = (...patch: JsonPatch): Event => ({
  type: "ACTIVITY_DELTA",
  messageId: "a",
  activityType: "PLAN",
  patch,
});
const shown = (content: Record<string, unknown>): Event => ({
  type: "ACTIVITY_SNAPSHOT",
  messageId: "a",
  activityType: "PLAN",
  content,
});

const restated = (...messages: readonly Message[]): Event => ({ type: "MESSAGES_SNAPSHOT", messages });

/** What comes out inside an open run, and the rules that were reported. */
function within(input: readonly Event[], options?: RepairOptions): [readonly Event[], readonly Repair["rule"][]] {
  const state = createRepairState(options);
  repair(state, started);
  const steps = input.map((event) => repair(state, event));
  return [steps.flatMap(({ events }) => events), steps.flatMap(({ repairs }) => repairs.map(({ rule }) => rule))];
}

interface Case {
  readonly name: string;
  readonly document: unknown;
  readonly patch: JsonPatch;
  readonly becomes: JsonPatch;
}

const CASES: readonly Case[] = [
  {
    name: "missing parents are made",
    document: {},
    patch: [{ op: "add", path: "/a/b/c", value: 1 }],
    becomes: [{ op: "add", path: "/a", value: { b: { c: 1 } } }],
  },
  {
    name: "a missing parent is a list where the token says so",
    document: {},
    patch: [
      { op: "add", path: "/items/-", value: 1 },
      { op: "replace", path: "/rows/0/name", value: "x" },
      { op: "add", path: "/users/42/name", value: "y" },
    ],
    becomes: [
      { op: "add", path: "/items", value: [1] },
      { op: "add", path: "/rows", value: [{ name: "x" }] },
      { op: "add", path: "/users", value: { 42: { name: "y" } } },
    ],
  },
  {
    name: "a parent that is null is made, also as the whole document",
    document: null,
    patch: [
      { op: "add", path: "/a", value: null },
      { op: "replace", path: "/a/b", value: 1 },
    ],
    becomes: [
      { op: "replace", path: "", value: { a: null } },
      { op: "replace", path: "/a", value: { b: 1 } },
    ],
  },
  {
    name: "a parent that holds a value is never overwritten",
    document: { a: "text" },
    patch: [{ op: "add", path: "/a/b", value: 1 }],
    becomes: [],
  },
  {
    name: "replace of a missing member adds it",
    document: { a: {} },
    patch: [{ op: "replace", path: "/a/b", value: 1 }],
    becomes: [{ op: "add", path: "/a/b", value: 1 }],
  },
  {
    name: "remove of a missing member is left out",
    document: { a: 1 },
    patch: [
      { op: "remove", path: "/b" },
      { op: "remove", path: "/a" },
    ],
    becomes: [{ op: "remove", path: "/a" }],
  },
  {
    name: "an index beyond the end appends",
    document: { list: [1] },
    patch: [
      { op: "add", path: "/list/5", value: 2 },
      { op: "replace", path: "/list/5", value: 3 },
      { op: "replace", path: "/list/-", value: 4 },
      { op: "add", path: "/list/9/name", value: "x" },
    ],
    becomes: [
      { op: "add", path: "/list/-", value: 2 },
      { op: "add", path: "/list/-", value: 3 },
      { op: "add", path: "/list/-", value: 4 },
      { op: "add", path: "/list/-", value: { name: "x" } },
    ],
  },
  {
    name: "what is no index of a list is left out",
    document: { list: [1] },
    patch: [{ op: "add", path: "/list/first", value: 2 }],
    becomes: [],
  },
  {
    name: "a key with a slash or a tilde is found though it was not escaped, or escaped twice",
    document: { "a/b": 1, "x~1y": { z: 1 }, "c/d": [] },
    patch: [
      { op: "replace", path: "/a/b", value: 2 },
      { op: "add", path: "/x~1y/z", value: 3 },
      { op: "add", path: "/c~01d/-", value: 4 },
      { op: "test", path: "/a/b", value: 2 },
      { op: "remove", path: "/a/b" },
    ],
    becomes: [
      { op: "replace", path: "/a~1b", value: 2 },
      { op: "add", path: "/x~01y/z", value: 3 },
      { op: "add", path: "/c~1d/-", value: 4 },
      { op: "test", path: "/a~1b", value: 2 },
      { op: "remove", path: "/a~1b" },
    ],
  },
  {
    name: "a pointer with two readings is left out",
    document: { "a/b": { c: 1 }, a: { "b/c": 1 } },
    patch: [{ op: "replace", path: "/a/b/c", value: 2 }],
    becomes: [],
  },
  {
    name: "a pointer that leads somewhere means what it says",
    document: { a: { b: 1 }, "a/b": 2 },
    patch: [
      { op: "test", path: "/a/b", value: 2 },
      { op: "add", path: "/c", value: 1 },
    ],
    becomes: [],
  },
  {
    name: "a test that fails takes the whole delta with it",
    document: { a: 1 },
    patch: [
      { op: "add", path: "/b", value: 1 },
      { op: "test", path: "/a", value: 2 },
    ],
    becomes: [],
  },
  {
    name: "move and copy make the parents that they need, and go where there is something to take",
    document: { a: 1, "x/y": 2 },
    patch: [
      { op: "copy", from: "/a", path: "/b/c" },
      { op: "move", from: "/a", path: "/d/e" },
      { op: "move", from: "/x/y", path: "/f" },
      { op: "move", from: "/none", path: "/g" },
      { op: "move", from: "/b", path: "/b/c/d" },
    ],
    becomes: [
      { op: "add", path: "/b", value: { c: 1 } },
      { op: "remove", path: "/a" },
      { op: "add", path: "/d", value: { e: 1 } },
      { op: "move", from: "/x~1y", path: "/f" },
    ],
  },
  {
    name: "what goes through __proto__ is left out",
    document: {},
    patch: [
      { op: "add", path: "/a/__proto__/b", value: 1 },
      { op: "add", path: "/c", value: 1 },
    ],
    becomes: [{ op: "add", path: "/c", value: 1 }],
  },
  {
    name: "members of an operation that RFC 6902 does not name are kept",
    document: {},
    patch: [{ op: "replace", path: "/a", value: 1, why: "x" } as JsonPatch[number]],
    becomes: [{ op: "add", path: "/a", value: 1, why: "x" } as JsonPatch[number]],
  },
];

test.each(CASES)("$name", ({ document, patch, becomes }) => {
  const fixed = repairPatch(document, patch);
  expect(fixed.patch).toStrictEqual(becomes);
  expect(fixed.faults.length).toBeGreaterThan(0);
  expect(applyPatch(document, becomes)).toStrictEqual({ ok: true, value: fixed.value });
});

test("a patch that applies is let alone", () => {
  const patch: JsonPatch = [
    { op: "add", path: "/a", value: 1 },
    { op: "add", path: "/a", value: 2 },
  ];
  const fixed = repairPatch({}, patch);
  expect(fixed).toStrictEqual({ patch, value: { a: 2 }, faults: [] });
  expect(fixed.patch).toBe(patch);
});

test("any patch is made to apply to any document, and says so where it was changed", () => {
  fc.assert(
    fc.property(arbitraryJson(), arbitraryPatch(), (document, patch) => {
      const fixed = repairPatch(document, patch);
      expect(applyPatch(document, fixed.patch)).toStrictEqual({ ok: true, value: fixed.value });
      expect(fixed.patch === patch).toBe(fixed.faults.length === 0);
      expect(repairPatch(document, fixed.patch).faults).toStrictEqual([]);
    }),
    RUNS,
  );
});

test("deltas of the state follow what the stream and its options say of it", () => {
  const first = delta({ op: "replace", path: "/a/b", value: 1 });
  expect(within([first], { state: { a: { b: 0 } } })).toStrictEqual([[first], []]);
  expect(within([{ type: "STATE_SNAPSHOT", snapshot: { a: {} } }, first])[0][1]).toStrictEqual(
    delta({ op: "add", path: "/a/b", value: 1 }),
  );
  expect(within([first, first])).toStrictEqual([
    [delta({ op: "add", path: "/a", value: { b: 1 } }), first],
    ["patch-unappliable"],
  ]);
});

test("a delta of which nothing is left is dropped; an empty one is fine", () => {
  expect(within([delta({ op: "remove", path: "/x" }), delta()])).toStrictEqual([[delta()], ["patch-unappliable"]]);
});

test("the state that the input echoes is the first one", () => {
  const state = createRepairState();
  repair(state, { ...started, input: { threadId: "t", runId: "r", messages: [], state: { a: 1 } } } as Event);
  const event = delta({ op: "remove", path: "/a" });
  expect(repair(state, event)).toMatchObject({ events: [event], repairs: [] });
});

test("deltas of an activity apply to its content", () => {
  const [events, rules] = within([shown({ steps: [] }), activity({ op: "replace", path: "/steps/0", value: "x" })]);
  expect(events[1]).toStrictEqual(activity({ op: "add", path: "/steps/-", value: "x" }));
  expect(rules).toStrictEqual(["patch-unappliable"]);
});

test("an activity that nobody has shown begins with a snapshot, where its delta makes one", () => {
  const first = activity({ op: "add", path: "/title", value: "Plan" });
  const second = activity({ op: "replace", path: "/title", value: "Done" });
  expect(within([first, second])).toStrictEqual([[shown({ title: "Plan" }), second], ["activity-missing"]]);
  expect(within([activity({ op: "remove", path: "/x" })])).toStrictEqual([
    [],
    ["patch-unappliable", "activity-missing"],
  ]);
});

test("an activity of history needs no snapshot", () => {
  const change = activity({ op: "replace", path: "/title", value: "Done" });
  const held = { id: "a", role: "activity", activityType: "PLAN", content: { title: "Plan" } } as const;
  expect(within([change], { messages: [held] })).toStrictEqual([[change], []]);
});

test("an activity that a snapshot of the messages leaves out is gone, where it has others", () => {
  const other = { id: "b", role: "activity", activityType: "PLAN", content: {} } as const;
  const change = activity({ op: "add", path: "/title", value: "Plan" });
  expect(within([shown({ a: 1 }), restated(), change])[0][2]).toStrictEqual(change);
  expect(within([shown({ a: 1 }), restated(other), change])[0][2]).toStrictEqual(shown({ title: "Plan" }));
});

test("the content of an activity stays an object", () => {
  const broken = activity({ op: "replace", path: "", value: [] });
  expect(within([shown({ a: 1 }), broken])).toStrictEqual([[shown({ a: 1 })], ["activity-content"]]);
});

test("replace: false leaves an activity as it is", () => {
  const kept = { ...shown({ b: 2 }), replace: false } as Event;
  const change = activity({ op: "replace", path: "/a", value: 2 });
  expect(within([shown({ a: 1 }), kept, change])).toStrictEqual([[shown({ a: 1 }), kept, change], []]);
});

test("a delta names the owner of its activity", () => {
  const first = { ...shown({ a: 1 }), subagentRunId: "s1" } as Event;
  const change = { ...activity({ op: "replace", path: "/a", value: 2 }), subagentRunId: "s2" } as Event;
  expect(within([first, change])).toStrictEqual([[first, { ...change, subagentRunId: "s1" }], ["owner-mismatch"]]);
});

/** What is different between two values, texts and lists of messages, and what a patch did: both sides can be read out of it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { changesBetween, countChanges, sameJson } from "../../inspector/changes/json-changes.ts";
import type { Change } from "../../inspector/changes/json-changes.ts";
import { messageChanges } from "../../inspector/changes/message-changes.ts";
import { textChanges } from "../../inspector/changes/text-changes.ts";
import { pairMessages } from "../../inspector/pages/branches/paired-messages.ts";
import { MAX_PLACES, placesOf, readablePath } from "../../inspector/pages/travel/event-changes.ts";
import type { Message } from "../../src/protocol/index.ts";
import { applyPatch, diff } from "../../src/stream/index.ts";
import { arbitraryJson } from "../arbitrary-event.ts";

/** One of the two values, out of the tree. */
function sideOf(change: Change, side: "before" | "after"): unknown {
  if (change.kind === "replaced") return change[side];
  if (change.kind !== "inside") return change.value;
  const there = change.children.filter(({ kind }) => kind !== (side === "before" ? "added" : "removed"));
  if (change.isList) return there.map((child) => sideOf(child, side));
  return Object.fromEntries(there.map((child) => [child.key, sideOf(child, side)]));
}

test("a tree of changes holds both values, and none where they are equal", () => {
  fc.assert(
    fc.property(arbitraryJson(), arbitraryJson(), (before, after) => {
      const change = changesBetween(before, after);
      expect(sideOf(change, "before")).toEqual(before);
      expect(sideOf(change, "after")).toEqual(after);
      expect(countChanges(change) === 0).toBe(sameJson(before, after));
      expect(countChanges(changesBetween(before, structuredClone(before)))).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test("an element put in front is one addition, and what changed inside stays in its place", () => {
  const before = {
    steps: [
      { title: "a", done: false },
      { title: "b", done: false },
    ],
    title: "Plan",
  };
  const after = { steps: [{ title: "new" }, { title: "a", done: false }, { title: "b", done: false }], title: "Plan" };
  expect(countChanges(changesBetween(before, after))).toBe(1);
  const done = {
    ...before,
    steps: [
      { title: "a", done: true },
      { title: "b", done: false },
    ],
  };
  expect(changesBetween(before, done)).toMatchObject({
    kind: "inside",
    children: [
      {
        key: "steps",
        kind: "inside",
        isList: true,
        children: [
          {
            key: "0",
            kind: "inside",
            children: [{ key: "title" }, { key: "done", kind: "replaced", before: false, after: true }],
          },
          { key: "1", kind: "same" },
        ],
      },
      { key: "title", kind: "same" },
    ],
  });
});

test("the parts of two texts are both texts, and what is common stays", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (before, after) => {
      const parts = textChanges(before, after);
      const without = (kind: string): string =>
        parts.flatMap((part) => (part.kind === kind ? [] : [part.text])).join("");
      expect(without("added")).toBe(before);
      expect(without("removed")).toBe(after);
    }),
  );
  expect(textChanges("the old cat sat", "the new cat sat")).toEqual([
    { kind: "same", text: "the " },
    { kind: "removed", text: "old" },
    { kind: "added", text: "new" },
    { kind: "same", text: " cat sat" },
  ]);
});

const said = (id: string, content: string): Message => ({ id, role: "assistant", content });

test("messages are matched by id; what is gone stays where it was", () => {
  const before = [said("a", "1"), said("b", "2"), said("c", "3")];
  const after = [said("a", "1"), said("c", "4"), said("d", "5")];
  expect(messageChanges(before, after).map(({ kind, message }) => `${kind} ${message.id}`)).toEqual([
    "same a",
    "removed b",
    "changed c",
    "added d",
  ]);
  const messages = fc.uniqueArray(fc.record({ id: fc.constantFrom(..."abcdef"), text: fc.constantFrom("x", "y") }), {
    selector: ({ id }) => id,
  });
  fc.assert(
    fc.property(messages, messages, (old, fresh) => {
      const [from, to] = [old, fresh].map((list) => list.map(({ id, text }) => said(id, text)));
      const changes = messageChanges(from ?? [], to ?? []);
      expect(changes.flatMap(({ kind, message }) => (kind === "removed" ? [] : [message]))).toEqual(to);
      expect(changes.filter(({ kind }) => kind !== "added").length).toBe(from?.length);
    }),
  );
});

const many = (side: string): readonly Message[] =>
  Array.from({ length: 50_000 }, (_, place) => ({ id: `${side}${place}`, role: "user", content: "Again" }));

test("branches of very many messages are put beside each other by place", () => {
  const pairs = pairMessages(many("a"), many("b"));
  expect(pairs).toHaveLength(50_000);
  expect(pairs.at(-1)).toMatchObject({ a: { message: { id: "a49999" } }, b: { message: { id: "b49999" } } });
});

test("the places of a patch say what was there and what is there", () => {
  const state = { title: "Plan", steps: [{ done: false }, { done: false }] };
  const patch = [
    { op: "replace", path: "/steps/1/done", value: true },
    { op: "add", path: "/steps/0", value: { done: "new" } },
    { op: "remove", path: "/title" },
    { op: "add", path: "/steps/-", value: 7 },
  ] as const;
  expect(placesOf(state, patch)).toEqual([
    { op: "replace", path: "/steps/1/done", before: false, after: true },
    { op: "add", path: "/steps/0", before: undefined, after: { done: "new" } },
    { op: "remove", path: "/title", before: "Plan", after: undefined },
    { op: "add", path: "/steps/-", before: undefined, after: 7 },
  ]);
  expect(placesOf(state, [{ op: "remove", path: "/nothing" }])).toEqual([]);
  // A patch applies as a whole or not at all, and what is only looked at is not changed.
  expect(placesOf(state, [patch[0], { op: "remove", path: "/nothing" }])).toEqual([]);
  expect(placesOf(state, [{ op: "test", path: "/title", value: "Plan" }])).toEqual([]);
  expect(["", "/steps/1/done", "/a~1b/-", "/", "/a/"].map(readablePath)).toEqual([
    "everything",
    "steps[1].done",
    "a/b[-]",
    '""',
    'a.""',
  ]);
  fc.assert(
    fc.property(arbitraryJson(), arbitraryJson(), (before, after) => {
      const made = diff(before, after);
      const places = placesOf(before, made);
      expect(places.length).toBe(Math.min(made.length, MAX_PLACES));
      expect(applyPatch(before, made).ok).toBe(true);
    }),
  );
});

/**
 * A branch at any event, as the page folds it, is what the server says: over threads that are made at random, with forks,
 * failures, questions, patches that do not apply, and notes, at every event of every branch.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BranchFold } from "../../inspector/pages/travel/branch-fold.ts";
import { columnsOf, boundariesOf } from "../../inspector/pages/travel/strip.ts";
import { nextStop, playedTo } from "../../inspector/pages/travel/steps.ts";
import { seqOf } from "../../inspector/log/thread-log.ts";
import type { LogEntry } from "../../inspector/log/thread-log.ts";
import { lineageOf } from "../../inspector/runs/lineage.ts";
import { defineAgent } from "../../src/agent/index.ts";
import { connect } from "../../src/client/index.ts";
import type { HeddleClient } from "../../src/client/index.ts";
import type { Event } from "../../src/protocol/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { serving } from "./inspected.ts";

let script: readonly Event[] = [];
let ending: "fine" | "fails" | "asks" = "fine";
const scripted = defineAgent({
  name: "scripted",
  async run({ emit, input }) {
    for (const event of script) await emit.forward(event);
    if (ending === "fails") throw new Error("as asked");
    if (ending === "asks" && input.resume === undefined) await emit.interrupt({ id: "q", reason: "input_required" });
  },
});
let server: Served;
let client: HeddleClient;
beforeAll(async () => {
  server = await serving({ agents: [scripted] });
  client = connect(server.url);
});
afterAll(async () => {
  client.close();
  await server.close();
});

const id = (kind: string, number: number): string => `${kind}${number}`;
const small = fc.nat({ max: 3 });
const words = fc.string({ maxLength: 6 });
const value = fc.oneof(fc.integer(), words, fc.constant(null), fc.array(fc.integer(), { maxLength: 3 }));
/** Rows of events that belong together; ids are few, so that messages are met again. */
const piece: fc.Arbitrary<readonly object[]> = fc.oneof(
  fc
    .tuple(
      small,
      fc.array(
        words.filter((text) => text !== ""),
        { maxLength: 3 },
      ),
      fc.boolean(),
    )
    .map(([n, deltas, isMarked]) => [
      {
        type: "TEXT_MESSAGE_START",
        messageId: id("m", n),
        role: "assistant",
        ...(isMarked && { metadata: { mark: n } }),
      },
      ...deltas.map((delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: id("m", n), delta })),
      { type: "TEXT_MESSAGE_END", messageId: id("m", n) },
    ]),
  fc
    .tuple(
      small,
      words.filter((text) => text !== ""),
    )
    .map(([n, delta]) => [
      { type: "REASONING_START", messageId: id("r", n) },
      { type: "REASONING_MESSAGE_START", messageId: id("r", n), role: "reasoning" },
      { type: "REASONING_MESSAGE_CONTENT", messageId: id("r", n), delta },
      { type: "REASONING_MESSAGE_END", messageId: id("r", n) },
      { type: "REASONING_END", messageId: id("r", n) },
    ]),
  fc
    .tuple(fc.nat({ max: 1000 }), fc.boolean(), small)
    .map(([n, isAnswered, parent]) => [
      { type: "TOOL_CALL_START", toolCallId: id("c", n), toolCallName: "look", parentMessageId: id("m", parent) },
      { type: "TOOL_CALL_ARGS", toolCallId: id("c", n), delta: "{}" },
      { type: "TOOL_CALL_END", toolCallId: id("c", n) },
      ...(isAnswered
        ? [{ type: "TOOL_CALL_RESULT", messageId: id("a", n), toolCallId: id("c", n), role: "tool", content: "fine" }]
        : []),
    ]),
  fc.dictionary(fc.constantFrom("a", "b", "c"), value).map((snapshot) => [{ type: "STATE_SNAPSHOT", snapshot }]),
  fc
    .tuple(fc.constantFrom("add", "replace", "remove"), fc.constantFrom("/a", "/b", "/d/e"), value)
    .map(([op, path, to]) => [{ type: "STATE_DELTA", delta: [{ op, path, ...(op !== "remove" && { value: to }) }] }]),
  fc.tuple(small, value).map(([n, to]) => [
    { type: "ACTIVITY_SNAPSHOT", messageId: id("p", n), activityType: "PLAN", content: { part: 0 } },
    {
      type: "ACTIVITY_DELTA",
      messageId: id("p", n),
      activityType: "PLAN",
      patch: [{ op: "add", path: "/part", value: to }],
    },
  ]),
  fc.constant([
    { type: "STEP_STARTED", stepName: "s" },
    { type: "STEP_FINISHED", stepName: "s" },
  ]),
);

const runs = fc.array(
  fc.record({
    /** Which of the runs so far it hangs on: -1 is the root. */
    on: fc.integer({ min: -1, max: 4 }),
    pieces: fc.array(piece, { maxLength: 5 }),
    ending: fc.constantFrom("fine", "fine", "fails", "asks"),
    isNoted: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

async function logOf(threadId: string): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for await (const { id: cursor, event } of client.thread(threadId).history({ all: true, meta: true })) {
    const { runId }: { runId: string } = Object(event.metadata?.["heddle"]);
    entries.push({ seq: seqOf(cursor), id: cursor, runId, event, atMs: event.timestamp });
  }
  return entries;
}

let count = 0;

test("at every event of every branch it is what the server says", async () => {
  await fc.assert(
    fc.asyncProperty(runs, async (made) => {
      const threadId = `t${++count}`;
      const thread = client.thread(threadId);
      const asking = new Set<string>();
      for (const [index, { on, pieces, ending: end, isNoted }] of made.entries()) {
        const parent = on < 0 || index === 0 ? "root" : `run${Math.min(on, index - 1)}`;
        script = pieces.flat() as Event[];
        ending = end;
        const runId = `run${index}`;
        const message = { id: `u${index}`, role: "user", content: `Say ${index}` } as const;
        const request = asking.has(parent)
          ? { resume: [{ interruptId: "q", status: "resolved", payload: index } as const] }
          : { messages: [message], ...(end === "fails" && { state: { a: index } }) };
        await thread.run("scripted", request, { parent, runId, onBusy: "fork" }).finished;
        const { runs: done } = await thread.details();
        if (done.some((run) => run.runId === runId && run.status === "interrupted")) asking.add(runId);
        if (isNoted) await thread.annotate("thumbs-up", { index }, runId);
      }
      const entries = await logOf(threadId);
      const { runs: known } = await thread.details();
      for (const { runId } of known) {
        const line = lineageOf(known, runId);
        const fold = new BranchFold(new Set(line.map((run) => run.runId)));
        // In two parts, as a log comes.
        fold.extend(entries, Math.floor(entries.length / 2));
        fold.extend(entries, entries.length);
        for (const [place, entry] of fold.entries.entries()) {
          if (entry.runId !== runId) continue;
          const { view, interrupts, pendingToolCallIds } = fold.at(place).after;
          const theirs = await thread.snapshotAt(entry.id);
          expect({ messages: view.messages, state: view.state, interrupts, pendingToolCallIds }).toEqual({
            messages: theirs.messages,
            state: theirs.state,
            interrupts: theirs.interrupts,
            pendingToolCallIds: theirs.pendingToolCallIds,
          });
          expect(fold.placeOf(entry.seq)).toBe(place);
        }
      }
    }),
    { numRuns: 25 },
  );
});

const eventAt = (place: number): Event => {
  if (place === 0) return { type: "RUN_STARTED", threadId: "t", runId: "r" };
  if (place % 97 === 1)
    return { type: "TEXT_MESSAGE_START", messageId: `m${Math.floor(place / 97)}`, role: "assistant" };
  if (place % 50 === 0) return { type: "STATE_DELTA", delta: [{ op: "add", path: "/n", value: place }] };
  if (place % 331 === 7) return { type: "TOOL_CALL_START", toolCallId: `c${place}`, toolCallName: "look" };
  const messageId = `m${Math.floor((place - 1) / 97)}`;
  return { type: "TEXT_MESSAGE_CONTENT", messageId, delta: `${place} ` };
};

/** A log of one run that says many words, with a call and a state in between. */
function longLog(length: number): LogEntry[] {
  return Array.from({ length }, (_, place) => {
    const seq = place + 1;
    return { seq, id: `log_${String(seq).padStart(16, "0")}`, runId: "r", event: eventAt(place), atMs: place * 10 };
  });
}

test("a jump gives what going there event by event does, across checkpoints", () => {
  const entries = longLog(2000);
  const whole = new BranchFold(new Set(["r"]));
  whole.extend(entries, entries.length);
  fc.assert(
    fc.property(fc.nat({ max: entries.length - 1 }), (place) => {
      const cut = new BranchFold(new Set(["r"]));
      cut.extend(entries, place + 1);
      const { before, after } = whole.at(place);
      const { state, messages, run, pendingToolCallIds } = cut.at(place).after.view;
      expect(after.view).toMatchObject({ state, messages, run, pendingToolCallIds });
      expect(before).toEqual(place === 0 ? whole.at(-1).after : whole.at(place - 1).after);
    }),
    { numRuns: 40 },
  );
});

test("nothing was said before the first event, and nothing is beyond the last", () => {
  const fold = new BranchFold(new Set(["r"]));
  expect(fold.at(-1).after.view).toMatchObject({ messages: [], state: {}, run: { status: "none" } });
  const entries = longLog(10);
  fold.extend(entries, 10);
  expect(fold.placeOf(0)).toBe(-1);
  expect(fold.placeOf(99)).toBe(9);
  expect(fold.at(99)).toEqual(fold.at(9));
});

test("the strip holds every event once, in at most so many columns", () => {
  const entries = longLog(1000);
  fc.assert(
    fc.property(fc.nat({ max: 1000 }), fc.integer({ min: 1, max: 300 }), (length, most) => {
      const columns = columnsOf(entries, length, most);
      expect(columns.length).toBe(Math.min(length, most));
      expect(columns.reduce((sum, { total }) => sum + total, 0)).toBe(length);
      for (const { counts, total } of columns) {
        expect(counts.reduce((sum, { count: each }) => sum + each, 0)).toBe(total);
      }
    }),
  );
  expect(boundariesOf(entries, 1000)).toEqual([{ place: 0, runId: "r" }]);
});

test("it stops at messages and changes of the state, and plays as long as it takes", () => {
  const entries = longLog(400);
  expect(nextStop(entries, 2, "state", 1)).toBe(50);
  expect(nextStop(entries, 50, "state", -1)).toBeUndefined();
  expect(nextStop(entries, 99, "message", -1)).toBe(98);
  expect(nextStop(entries, 399, "event", 1)).toBeUndefined();
  expect(playedTo(entries, 0, 1000, "1").place).toBe(10);
  expect(playedTo(entries, 0, 1000, "16").place).toBe(160);
  expect(playedTo(entries, 0, 105, "real")).toEqual({ place: 10, restMs: 5 });
  expect(playedTo(entries, 390, 60_000, "16").place).toBe(399);
});

/**
 * Reconciling any post with any branch: nothing lost, nothing invented, and the same again on its own output.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, RunAgentInput } from "../../protocol/index.ts";
import { reconcile } from "./reconcile.ts";
import type { KnownBranch, KnownMessage, Reconciled, ReconcileOptions } from "./reconcile.ts";
import { sameMessage } from "./same-message.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const CALLS = ["c0", "c1", "c2"];
const STATES = [undefined, {}, { n: 1 }, { n: 2 }, { n: 3 }];

const call = fc.constantFrom(...CALLS);
const content = fc.constantFrom("", "one", "two");

const messageOf = (id: string): fc.Arbitrary<Message> =>
  fc.oneof(
    { weight: 3, arbitrary: content.map((content): Message => ({ id, role: "user", content })) },
    fc.tuple(content, fc.uniqueArray(call, { maxLength: 2 })).map(([content, calls]): Message => ({
      id,
      role: "assistant",
      content,
      toolCalls: calls.map((callId) => ({ id: callId, type: "function", function: { name: "f", arguments: "" } })),
    })),
    fc.tuple(content, call).map(([content, toolCallId]): Message => ({ id, role: "tool", content, toolCallId })),
    content.map((content): Message => ({ id, role: "reasoning", content })),
    content.map((text): Message => ({ id, role: "activity", activityType: "A", content: { text } })),
    fc
      .tuple(fc.constantFrom("system", "developer"), content)
      .map(([role, content]): Message => ({ id, role, content })),
  );

const branches: fc.Arbitrary<KnownBranch> = fc
  .tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 7 }), fc.boolean(), fc.boolean())
  .chain(([runCount, size, ended, ordered]) => {
    const runs = Array.from({ length: runCount }, (_, index) => `r${index}`);
    const messages = Array.from({ length: runCount === 0 ? 0 : size }, (_, index) => messageOf(`m${index}`));
    return fc.record({
      runs: fc.tuple(
        ...runs.map((runId, index) =>
          fc
            .record({ state: fc.constantFrom(...STATES), startState: fc.constantFrom(undefined, undefined, { n: 4 }) })
            .map((around) => ({ runId, ended: ended || index < runCount - 1, ...around })),
        ),
      ),
      messages: fc
        .tuple(fc.tuple(...messages), fc.array(fc.nat(runCount), { minLength: size, maxLength: size }))
        .map(([list, places]) => {
          const order = ordered ? places.toSorted((a, b) => a - b) : places;
          return list.map((message, index) => ({ message, runId: runs[order[index] ?? 0] ?? runs.at(-1) ?? "" }));
        }),
      state: fc.constantFrom(...STATES),
      pendingToolCallIds: fc.subarray(CALLS),
      interrupts: fc.subarray(["i0", "i1"]).map((ids) => ids.map((id) => ({ id, reason: "r" }))),
    });
  });

/** A post that is made from the branch: a part of it, with copies, alterations, strangers and repeats. */
function postTo(branch: KnownBranch | undefined): fc.Arbitrary<RunAgentInput> {
  const known = branch?.messages.map(({ message }) => message) ?? [];
  const repeated = fc.nat(known.length).map((end) => known.slice(0, end));
  const stranger = fc
    .oneof(
      fc.constantFrom("n0", "n1", "n2"),
      fc.nat(7).map((index) => `m${index}`),
    )
    .chain(messageOf);
  const altered = fc.oneof({ weight: 2, arbitrary: fc.subarray([...known]) }, { weight: 5, arbitrary: repeated });
  return fc
    .record({
      base: altered,
      strangers: fc.array(stranger, { maxLength: 3 }),
      at: fc.option(fc.nat(8), { nil: 99 }),
      state: fc.constantFrom(...STATES, { n: 9 }),
      resume: fc.subarray(["i0", "i1"]),
      forwardedProps: fc.constantFrom(undefined, {}, { go: 1 }),
      withResume: fc.boolean(),
    })
    .map(({ base, strangers, at, state, resume, forwardedProps, withResume }) => ({
      threadId: "t",
      runId: "new",
      messages: base.map((message) => ({ ...message })).toSpliced(at, 0, ...strangers),
      ...(state === undefined ? {} : { state }),
      ...(forwardedProps === undefined ? {} : { forwardedProps }),
      ...(withResume ? { resume: resume.map((interruptId) => ({ interruptId, status: "resolved" as const })) } : {}),
    }));
}

const options: fc.Arbitrary<ReconcileOptions> = fc.record({
  onStale: fc.constantFrom("fork", "append"),
  acceptInstructions: fc.boolean(),
});

const cases = fc
  .tuple(fc.option(branches, { nil: undefined, freq: 10 }), options)
  .chain(([branch, settings]) => fc.tuple(postTo(branch), fc.constant(branch), fc.constant(settings)));

/** Whether the table lets a client add this message. */
function mayAdd(message: Message, branch: KnownBranch | undefined, { acceptInstructions }: ReconcileOptions): boolean {
  if (message.role === "activity") return false;
  if (branch === undefined || message.role === "user") return true;
  if (message.role === "tool") return branch.pendingToolCallIds?.includes(message.toolCallId) === true;
  return acceptInstructions === true && (message.role === "system" || message.role === "developer");
}

/** The runs of the branch that the verdict keeps. */
function keptRuns(result: Reconciled, branch: KnownBranch | undefined): KnownBranch["runs"] {
  const runs = branch?.runs ?? [];
  if (result.verdict !== "edit" && result.verdict !== "regenerate") return runs;
  return runs.slice(0, runs.findIndex(({ runId }) => runId === result.forkAt) + 1);
}

/** The branch after a run that came of the verdict and ended. */
function branchAfter(result: Reconciled, branch: KnownBranch | undefined): KnownBranch {
  const owners = new Map(branch?.messages.map(({ message, runId }) => [message, runId]));
  const added = new Set(result.added);
  const runs = keptRuns(result, branch).map((run) => ({ ...run, ended: true }));
  const owner = (message: Message): string => (added.has(message) ? "new" : (owners.get(message) ?? "lost"));
  return {
    runs: [...runs, { runId: "new", ended: true, state: result.state.state }],
    messages: result.messages.map((message): KnownMessage => ({ message, runId: owner(message) })),
    state: result.state.state,
  };
}

describe("reconcile never loses or invents a message", () => {
  const seen = new Map<string, number>();

  it("for any post and any branch", () => {
    fc.assert(
      fc.property(cases, ([input, branch, settings]) => {
        const result = reconcile(input, branch, settings);
        seen.set(result.verdict, (seen.get(result.verdict) ?? 0) + 1);
        const own = new Set(branch?.messages.map(({ message }) => message));
        const posted = new Set(input.messages);
        const dropped = new Set(result.dropped.map(({ path }) => path));

        for (const message of result.messages) {
          expect(own.has(message) || (posted.has(message) && mayAdd(message, branch, settings))).toBe(true);
        }
        input.messages.forEach((message, index) => {
          const isDropped = dropped.has(`/messages/${index}`);
          const isTaken = result.messages.includes(message);
          const isKnown = result.messages.some((held) => held.id === message.id && sameMessage(message, held));
          expect(isDropped ? !isTaken : isTaken || isKnown).toBe(true);
        });
        expect(new Set(result.messages.map(({ id }) => id)).size).toBe(result.messages.length);

        const kept = new Set(keptRuns(result, branch).map(({ runId }) => runId));
        const base = branch?.messages.filter(({ runId }) => kept.has(runId)).map(({ message }) => message) ?? [];
        expect(result.messages).toEqual([...base, ...result.added]);
      }),
      { numRuns: 8_000 * SCALE },
    );
  });

  it("and the cases cover every verdict", () => {
    for (const verdict of ["restore", "run", "continue", "regenerate", "edit", "new-thread"]) {
      expect(seen.get(verdict)).toBeGreaterThan(100);
    }
  });

  it("says `differs` exactly where the client holds other messages, activities, left out reasoning and instructions apart", () => {
    fc.assert(
      fc.property(cases, ([input, branch, settings]) => {
        const { messages, differs } = reconcile(input, branch, settings);
        const held = input.messages.filter(({ role }) => role !== "activity");
        const ids = new Set(held.map(({ id }) => id));
        const mayLack: readonly string[] = ["reasoning", "system", "developer"];
        const due = messages.filter(({ id, role }) => role !== "activity" && (!mayLack.includes(role) || ids.has(id)));
        const same =
          due.length === held.length &&
          due.every((message, at) => {
            const copy = held[at];
            return copy !== undefined && copy.id === message.id && sameMessage(copy, message);
          });
        expect(differs).toBe(!same);
      }),
      { numRuns: 5_000 * SCALE },
    );
  });

  it("is idempotent: its output, posted to the branch that came of it, changes nothing", () => {
    fc.assert(
      fc.property(cases, ([input, branch, settings]) => {
        const result = reconcile(input, branch, settings);
        const after = branchAfter(result, branch);
        const { state } = result.state;
        const again = reconcile({ threadId: "t", runId: "x", messages: result.messages, state }, after, settings);
        expect(again).toMatchObject({
          verdict: result.messages.every(({ role }) => role === "activity") ? "restore" : "run",
          added: [],
          messages: result.messages,
          dropped: [],
          differs: false,
        });
      }),
      { numRuns: 5_000 * SCALE },
    );
  });

  it("is idempotent: its output, posted to the same branch, means the same", () => {
    fc.assert(
      fc.property(cases, ([input, branch, settings]) => {
        const result = reconcile(input, branch, settings);
        if (result.verdict === "restore") return;
        const again = reconcile({ ...input, messages: result.messages }, branch, settings);
        expect(again.verdict).toBe(result.verdict);
        expect(again.messages).toEqual(result.messages);
        expect(again.added).toEqual(result.added);
        expect(again.state).toEqual(result.state);
        expect(again.dropped).toEqual([]);
      }),
      { numRuns: 5_000 * SCALE },
    );
  });
});

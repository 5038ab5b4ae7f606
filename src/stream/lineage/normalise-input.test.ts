import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryMessage, arbitraryRunInput } from "../../../test/arbitrary-event.ts";
import type { Message, RunAgentInput } from "../../protocol/index.ts";
import { diffMessages, normaliseInput, rebuildInput } from "./normalise-input.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

const user = (id: string, content = id): Message => ({ id, role: "user", content });
const input = (...messages: readonly Message[]): RunAgentInput => ({ threadId: "t1", runId: "run2", messages });
const [m1, m2, m3] = [user("msg1", "Hello"), user("msg2", "How are you?"), user("msg3")];

/** Messages of any kind with ids that differ. */
const messagesOf = (prefix: string): fc.Arbitrary<readonly Message[]> =>
  fc
    .array(arbitraryMessage(), { maxLength: 5 })
    .map((list) => list.map((message, index) => ({ ...message, id: `${prefix}${index}` })));

describe("input normalisation", () => {
  it("seed 002: run 2 stores only msg2, since msg1 is in run 1's history, and restoring gives both", () => {
    const stored = normaliseInput(input(m1, m2), [m1]);
    expect(stored).toEqual(input(m2));
    expect(rebuildInput(stored, [m1])).toEqual(input(m1, m2));
    expect(normaliseInput(input(m1), [])).toEqual(input(m1));
  });

  it("completes a client's list that left out what the branch holds", () => {
    expect(normaliseInput(input(m2, m3), [m1, m2])).toEqual(input(m3));
    expect(rebuildInput(input(m3), [m1, m2])).toEqual(input(m1, m2, m3));
  });

  it("keeps an altered message, which takes its place again", () => {
    const altered = user("msg1", "Hi");
    const stored = normaliseInput(input(altered, m2, m3), [m1, m2]);
    expect(stored).toEqual(input(altered, m3));
    expect(rebuildInput(stored, [m1, m2])).toEqual(input(altered, m2, m3));
  });

  it.each([
    ["another order", [m2, m1]],
    ["a new message in between", [m1, m3, m2]],
    ["a message twice", [m1, m1]],
    ["two altered messages of one id", [user("msg1", "x"), user("msg1", "y")]],
  ])("keeps a list whole that has %s", (_, messages) => {
    const stored = normaliseInput(input(...messages), [m1, m2]);
    expect(stored).toEqual(input(...messages));
    expect(rebuildInput(stored, [m1, m2])).toEqual(input(...messages));
  });

  it("leaves everything else of the input alone, and copies nothing where nothing changes", () => {
    const full = { ...input(m1, m2), state: { a: 1 }, resume: [] };
    expect(normaliseInput(full, [m1])).toEqual({ ...full, messages: [m2] });
    expect(normaliseInput(full, [m3])).toBe(full);
    expect(rebuildInput(full, [])).toBe(full);
  });

  it("rebuild(normalise(x)) = x for every input whose history is the branch's", () => {
    fc.assert(
      fc.property(arbitraryRunInput(), messagesOf("k"), messagesOf("n"), (base, known, fresh) => {
        const full = { ...base, messages: [...known, ...fresh] };
        const stored = normaliseInput(full, known);
        expect(stored.messages).toEqual(fresh);
        expect(rebuildInput(stored, known)).toEqual(full);
        expect(normaliseInput(stored, known)).toEqual(stored);
      }),
      { numRuns: 1_000 * SCALE },
    );
  });

  it("loses nothing of any list: altered, reordered, repeated", () => {
    const ids = fc.constantFrom("k0", "k1", "k2", "n0", "n1");
    const list = fc.array(fc.tuple(ids, fc.constantFrom("", "other")), { maxLength: 7 });
    const known = ["k0", "k1", "k2"].map((id) => user(id, ""));
    fc.assert(
      fc.property(list, (items) => {
        const full = input(...items.map(([id, content]) => user(id, content)));
        const rebuilt = rebuildInput(normaliseInput(full, known), known);
        for (const message of full.messages) expect(rebuilt.messages).toContainEqual(message);
        const held = new Set(full.messages.map(({ id }) => id));
        const isWhole = known.every(({ id }) => held.has(id));
        expect(isWhole ? rebuilt : full).toEqual(full);
      }),
      { numRuns: 2_000 * SCALE },
    );
  });
});

describe("the messages of two branches", () => {
  it("are shared where id and content agree, and on both sides where only the id does", () => {
    const edited = user("msg2", "How old are you?");
    expect(diffMessages([m1, m2], [m1, edited, m3])).toEqual({ shared: [m1], onlyA: [m2], onlyB: [edited, m3] });
    expect(diffMessages([], [])).toEqual({ shared: [], onlyA: [], onlyB: [] });
  });
});

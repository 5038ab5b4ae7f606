import { describe, expect, it } from "vitest";
import type { Message } from "../../protocol/index.ts";
import { matchByPosition } from "./match-by-position.ts";
import { reconcile } from "./reconcile.ts";
import type { KnownBranch } from "./reconcile.ts";
import type { LooseMessage } from "./same-message.ts";

const says = (role: "user" | "assistant" | "system" | "reasoning", content: string): LooseMessage => ({
  role,
  content,
});
const known: readonly Message[] = [
  { id: "s", role: "system", content: "Be kind." },
  { id: "u1", role: "user", content: "Hello" },
  { id: "r1", role: "reasoning", content: "hm" },
  { id: "p1", role: "activity", activityType: "PLAN", content: {} },
  { id: "a1", role: "assistant", content: "Hi!" },
];
const ids = (posted: readonly LooseMessage[]): readonly string[] =>
  matchByPosition(posted, known, (index) => `new${index}`).map(({ id }) => id);

describe("DESIGN 9, row 9: no ids at all: matched by position, role and content", () => {
  it("the common prefix gets the branch's ids, only the tail beyond it is new", () => {
    const posted = [says("system", "Be kind."), says("user", "Hello"), says("assistant", "Hi!"), says("user", "Hello")];
    expect(ids(posted)).toEqual(["s", "u1", "a1", "new3"]);
    const branch: KnownBranch = {
      runs: [{ runId: "r", ended: true }],
      messages: known.map((message) => ({ message, runId: "r" })),
    };
    const messages = matchByPosition(posted, known, (index) => `new${index}`);
    const result = reconcile({ threadId: "t", runId: "n", messages }, branch);
    expect(result).toMatchObject({ verdict: "continue", dropped: [], differs: false });
    expect(result.added).toEqual([{ id: "new3", role: "user", content: "Hello" }]);
  });

  it("reasoning and activities may be missing or there", () => {
    const posted = [
      says("system", "Be kind."),
      says("user", "Hello"),
      says("reasoning", "hm"),
      says("assistant", "Hi!"),
    ];
    expect(ids(posted)).toEqual(["s", "u1", "r1", "a1"]);
  });

  it("after the first difference in role or content all are new", () => {
    expect(ids([says("system", "Be kind."), says("user", "Hallo"), says("assistant", "Hi!")])).toEqual([
      "s",
      "new1",
      "new2",
    ]);
    expect(ids([says("system", "Be kind."), says("assistant", "Hello")])).toEqual(["s", "new1"]);
    expect(ids([says("system", "Be kind."), says("user", "Hallo"), says("user", "Hello")])).toEqual([
      "s",
      "new1",
      "new2",
    ]);
    expect(ids([says("user", "Next")])).toEqual(["new0"]);
    expect(ids([])).toEqual([]);
  });

  it("instructions that the branch never took do not end the match", () => {
    const posted = [says("system", "Be kind."), says("system", "Be brief."), says("user", "Hello")];
    expect(ids(posted)).toEqual(["s", "new1", "u1"]);
  });

  it("an answer is the branch's whatever a client makes of it, and counts as seen", () => {
    const call = { id: "c1", type: "function", function: { name: "look", arguments: '{ "at": 1 }' } } as const;
    const branch: readonly Message[] = [
      { id: "u1", role: "user", content: "Weather?" },
      { id: "a1", role: "assistant", content: "Looking.", toolCalls: [call] },
      { id: "t1", role: "tool", toolCallId: "c1", content: "sunny", error: "late" },
      { id: "a2", role: "assistant", content: "It is sunny." },
      { id: "u2", role: "user", content: "Thanks" },
      { id: "a3", role: "assistant", content: "Welcome." },
    ];
    const idsIn = (...posted: readonly LooseMessage[]): readonly string[] =>
      matchByPosition(posted, branch, (index) => `new${index}`).map(({ id }) => id);
    const [asks, thanks, more] = [says("user", "Weather?"), says("user", "Thanks"), says("user", "More")];
    // Arguments written otherwise, a failure without its reason.
    const written = { ...call, function: { name: "look", arguments: '{"at":1}' } };
    expect(
      idsIn(
        asks,
        { role: "assistant", content: "Looking.", toolCalls: [written] },
        { role: "tool", toolCallId: "c1", content: "sunny" },
        says("assistant", "It is sunny."),
        thanks,
      ),
    ).toEqual(["u1", "a1", "t1", "a2", "u2"]);
    // Only texts; all texts of an answer as one; no answers at all.
    expect(idsIn(asks, says("assistant", "It is sunny."), thanks, says("assistant", "Welcome."), more)).toEqual([
      "u1",
      "a2",
      "u2",
      "a3",
      "new4",
    ]);
    expect(idsIn(asks, says("assistant", "Looking.It is sunny."), thanks)).toEqual(["u1", "a2", "u2"]);
    expect(idsIn(asks, thanks, more)).toEqual(["u1", "u2", "new2"]);
    // An answer to another question is none of ours.
    expect(idsIn(says("user", "Time?"), says("assistant", "Looking."))).toEqual(["new0", "new1"]);
  });

  it("ids that are given stay", () => {
    expect(ids([{ id: "mine", role: "user", content: "Hello" }])).toEqual(["mine"]);
  });
});

import { describe, expect, it } from "vitest";
import type { RunSummary } from "../index.ts";
import { branchPoints, newestBelow } from "./branch-tree.ts";

const run = (runId: string, parentRunId?: string, kind = "continue"): RunSummary => ({
  runId,
  agent: "test",
  status: "finished",
  kind,
  firstEventId: "",
  lastEventId: "",
  tokens: {},
  ...(parentRunId !== undefined && { parentRunId }),
});

/**
 * a ─ b ─ c
 *   └ d ─ e
 *       └ f, and s, which f spawned
 * g, another root
 */
const runs = [
  run("a"),
  run("b", "a"),
  run("c", "b"),
  run("d", "a", "branch"),
  run("e", "d"),
  run("f", "d", "branch"),
  run("s", "f", "spawn"),
  run("g", undefined, "branch"),
];
const messageRuns = { u1: "a", m1: "a", u2: "d", u3: "f", m3: "f" };

describe("branchPoints", () => {
  it("names every fork of the branch that is shown, from its beginning on, with the message that it begins with", () => {
    expect(branchPoints({ runs, messageRuns }, "f")).toEqual([
      { runId: "a", siblings: ["a", "g"], index: 0, messageId: "u1" },
      { runId: "d", siblings: ["b", "d"], index: 1, messageId: "u2" },
      { runId: "f", siblings: ["e", "f"], index: 1, messageId: "u3" },
    ]);
  });

  it("knows no message of a run that has said nothing", () => {
    expect(branchPoints({ runs, messageRuns: {} }, "g")).toEqual([{ runId: "g", siblings: ["a", "g"], index: 1 }]);
  });

  it("counts no spawned run as a branch, and finds nothing where nothing is known", () => {
    expect(branchPoints({ runs: [run("a"), run("b", "a"), run("s", "a", "spawn")], messageRuns }, "b")).toEqual([]);
    expect(branchPoints({ runs, messageRuns }, undefined)).toEqual([]);
    expect(branchPoints({ runs: [], messageRuns }, "a")).toEqual([]);
  });
});

describe("newestBelow", () => {
  it.each([
    ["b", "c"],
    ["d", "f"],
    ["e", "e"],
    ["a", "f"],
    ["g", "g"],
    ["unknown", "unknown"],
  ])("%s leads to %s", (from, to) => {
    expect(newestBelow(runs, from)).toBe(to);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event, RunStartedEvent } from "../../protocol/index.ts";
import { branchOf, commonAncestor, diffBranches, entriesOf, historyOf, lineage } from "./lineage.ts";
import type { Lineage, LineageRun, LogEntry } from "./lineage.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

type Place = Pick<RunStartedEvent, "parentRunId" | "metadata">;

const started = (runId: string, place: Place = {}): Event => ({ type: "RUN_STARTED", threadId: "t1", runId, ...place });
const finished = (runId: string): Event => ({ type: "RUN_FINISHED", threadId: "t1", runId });
const step = (stepName: string): Event => ({ type: "STEP_STARTED", stepName });
const run = (runId: string, place?: Place): readonly Event[] => [started(runId, place), step(runId), finished(runId)];
const childOf = (parentRunId: string): Place => ({ parentRunId });
const logged = (parent: unknown, kind: unknown): Place => ({ metadata: { heddle: { lineage: { parent, kind } } } });
const entry = (runId: string, event: Event): LogEntry => ({ runId, event });
const entriesOfRun = (runId: string, place?: Place): readonly LogEntry[] =>
  run(runId, place).map((event) => entry(runId, event));
const kinds = (tree: Lineage): unknown => Object.fromEntries([...tree.runs.values()].map((r) => [r.runId, r.kind]));
const parents = (tree: Lineage): unknown =>
  Object.fromEntries([...tree.runs.values()].map((r) => [r.runId, r.parentRunId]));
const node = (runId: string, parentRunId: string): [string, LineageRun] => [
  runId,
  { runId, parentRunId, kind: "continue", ended: true, children: [] },
];
const codes = (tree: Lineage): readonly string[] => tree.problems.map(({ code, runId }) => `${code} ${runId}`);

describe("seed 002: Git for conversations", () => {
  const events = [
    ...run("run1"),
    ...run("run2", childOf("run1")),
    ...run("run3", childOf("run1")),
    ...run("run4", childOf("run2")),
    ...run("run5", childOf("run3")),
  ];
  const entries = entriesOf(events);
  const tree = lineage(entries);

  it("Paris, London and Tokyo: run2 and run3 hang on run1, run4 on run2, run5 on run3", () => {
    expect([...tree.runs.keys()]).toEqual(["run1", "run2", "run3", "run4", "run5"]);
    expect(parents(tree)).toEqual({ run1: undefined, run2: "run1", run3: "run1", run4: "run2", run5: "run3" });
    expect([...tree.runs.values()].map(({ children }) => children)).toEqual([
      ["run2", "run3"],
      ["run4"],
      ["run5"],
      [],
      [],
    ]);
    expect(tree.roots).toEqual(["run1"]);
    expect(tree.heads).toEqual(["run4", "run5"]);
    expect(tree.problems).toEqual([]);
    expect([...tree.runs.values()].every(({ ended }) => ended)).toBe(true);
  });

  it("branches from branches: run4 is Paris and London, run5 is Paris and Tokyo", () => {
    expect(branchOf(tree, "run4")).toEqual(["run1", "run2", "run4"]);
    expect(branchOf(tree, "run5")).toEqual(["run1", "run3", "run5"]);
    expect(commonAncestor(tree, "run4", "run5")).toBe("run1");
    expect(commonAncestor(tree, "run2", "run4")).toBe("run2");
    expect(diffBranches(tree, "run4", "run5")).toEqual({
      shared: ["run1"],
      onlyA: ["run2", "run4"],
      onlyB: ["run3", "run5"],
    });
  });

  it("restoring a branch at run3 gives everything from the start to run3, without run2", () => {
    expect(historyOf(entries, "run3")).toEqual([...run("run1"), ...run("run3", childOf("run1"))]);
  });

  it("continue conversation: a run with parentRunId of the newest run goes on, so does one without", () => {
    expect(kinds(tree)).toEqual({
      run1: undefined,
      run2: "continue",
      run3: "branch",
      run4: "continue",
      run5: "continue",
    });
    const plain = lineage(entriesOf([...run("run1"), ...run("run2")]));
    expect([...plain.runs.values()][1]).toMatchObject({ parentRunId: "run1", kind: "continue" });
  });
});

describe("entries of a plain list", () => {
  it("belong to the run that started last, an end to the run that it names", () => {
    const events = [step("before"), started("a"), started("b"), step("x"), finished("a"), step("y"), finished("?")];
    expect(entriesOf(events).map(({ runId }) => runId)).toEqual([undefined, "a", "b", "b", "a", "b", "b"]);
    expect(entriesOf(events).map(({ event }) => event)).toEqual(events);
    expect(entriesOf([])).toEqual([]);
  });
});

describe("the place of a run", () => {
  it("is what the log says, whatever the agent's own parentRunId", () => {
    const tree = lineage([
      ...entriesOfRun("a"),
      ...entriesOfRun("b", { ...logged("a", "branch"), parentRunId: "elsewhere" }),
      ...entriesOfRun("c", { ...logged(null, "branch"), parentRunId: "b" }),
      ...entriesOfRun("d", logged("a", "nonsense")),
    ]);
    expect(parents(tree)).toEqual({ a: undefined, b: "a", c: undefined, d: "a" });
    expect(kinds(tree)).toEqual({ a: undefined, b: "branch", c: "branch", d: "branch" });
    expect(tree.roots).toEqual(["a", "c"]);
    expect(tree.problems).toEqual([]);
  });

  it("is behind the run that ended last, not the one that started last", () => {
    const tree = lineage([
      entry("a", started("a")),
      entry("b", started("b")),
      entry("b", finished("b")),
      entry("a", finished("a")),
      ...entriesOfRun("c"),
    ]);
    expect(parents(tree)).toEqual({ a: undefined, b: undefined, c: "a" });
  });

  it("is behind a run that was cut off without a terminal event", () => {
    const tree = lineage(entriesOf([started("a"), step("x"), ...run("b")]));
    expect(tree.runs.get("a")?.ended).toBe(false);
    expect(tree.runs.get("b")).toMatchObject({ parentRunId: "a", kind: "continue" });
  });

  it("is a spawn where its parent was still running; a spawn is no head and nothing continues it by default", () => {
    const entries = [
      entry("a", started("a")),
      ...entriesOfRun("sub", childOf("a")),
      entry("a", finished("a")),
      ...entriesOfRun("told", logged("a", "spawn")),
      ...entriesOfRun("b"),
    ];
    const tree = lineage(entries);
    expect(kinds(tree)).toEqual({ a: undefined, sub: "spawn", told: "spawn", b: "continue" });
    expect(tree.runs.get("a")?.children).toEqual(["sub", "told", "b"]);
    expect(tree.heads).toEqual(["b"]);
    expect(tree.roots).toEqual(["a"]);
    expect(branchOf(tree, "sub")).toEqual(["sub"]);
    expect(branchOf(tree, "b")).toEqual(["a", "b"]);
    expect(commonAncestor(tree, "sub", "b")).toBeUndefined();
    expect(historyOf(entries, "sub")).toEqual(run("sub", childOf("a")));
  });

  it("stays when metadata says something else than a place", () => {
    for (const heddle of [null, 1, "x", [], { lineage: 7 }, { lineage: null }]) {
      const tree = lineage([...entriesOfRun("a"), ...entriesOfRun("b", { metadata: { heddle } })]);
      expect(parents(tree)).toEqual({ a: undefined, b: "a" });
    }
  });
});

describe("a history", () => {
  it("keeps interleaved branches apart, and a late error with its run", () => {
    const error: Event = { type: "RUN_ERROR", message: "late" };
    const entries = [
      ...entriesOfRun("a"),
      entry("b", started("b", logged("a", "continue"))),
      entry("c", started("c", logged("a", "branch"))),
      entry("b", step("of b")),
      entry("a", error),
      entry("c", step("of c")),
      entry("c", finished("c")),
      entry("b", finished("b")),
    ];
    expect(historyOf(entries, "c")).toEqual([
      ...run("a"),
      error,
      started("c", logged("a", "branch")),
      step("of c"),
      finished("c"),
    ]);
    expect(historyOf(entries, "b")).toEqual([
      ...run("a"),
      error,
      started("b", logged("a", "continue")),
      step("of b"),
      finished("b"),
    ]);
    expect(historyOf(entries, "nobody")).toEqual([]);
  });
});

describe("hostile logs", () => {
  it("an unknown parent is reported; the run goes on where it stands, or is a root if the log itself said so", () => {
    const tree = lineage([
      ...entriesOfRun("a"),
      ...entriesOfRun("b", childOf("ghost")),
      ...entriesOfRun("c", logged("ghost", "branch")),
    ]);
    expect(parents(tree)).toEqual({ a: undefined, b: "a", c: undefined });
    expect(codes(tree)).toEqual(["unknown-parent b", "unknown-parent c"]);
  });

  it("a cycle is reported and cut at the run that started first", () => {
    const tree = lineage([
      ...entriesOfRun("a", childOf("b")),
      ...entriesOfRun("b", childOf("a")),
      ...entriesOfRun("c", logged("c", "continue")),
    ]);
    expect(parents(tree)).toEqual({ a: undefined, b: "a", c: undefined });
    expect(codes(tree)).toEqual(["late-parent a", "late-parent c"]);
    expect(branchOf(tree, "b")).toEqual(["a", "b"]);
  });

  it("a cycle in a tree of somebody else's making ends the walk", () => {
    const tree = { runs: new Map([node("a", "b"), node("b", "a")]) };
    expect(branchOf(tree, "a")).toEqual(["b", "a"]);
    expect(historyOf([...entriesOfRun("a"), ...entriesOfRun("b")], "a", tree)).toEqual([...run("b"), ...run("a")]);
  });

  it("a run id that starts twice is one run, its first start counts, and nothing of it is lost", () => {
    const entries = [...entriesOfRun("a"), ...entriesOfRun("b"), ...entriesOfRun("a", childOf("b"))];
    const tree = lineage(entries);
    expect(parents(tree)).toEqual({ a: undefined, b: "a" });
    expect(codes(tree)).toEqual(["duplicate-run a"]);
    expect(historyOf(entries, "a")).toEqual([...run("a"), ...run("a", childOf("b"))]);
  });

  it("a run without a start is reported and keeps its events; what belongs to no run is in no branch", () => {
    const entries: readonly LogEntry[] = [
      { runId: undefined, event: step("nobody's") },
      entry("a", step("x")),
      ...entriesOfRun("b"),
    ];
    const tree = lineage(entries);
    expect(codes(tree)).toEqual(["missing-start a"]);
    expect(historyOf(entries, "b")).toEqual([step("x"), ...run("b")]);
    expect(lineage([])).toEqual({ runs: new Map(), roots: [], heads: [], problems: [] });
  });

  it("names like those of Object.prototype are names", () => {
    const tree = lineage([...entriesOfRun("__proto__"), ...entriesOfRun("constructor", childOf("__proto__"))]);
    expect(branchOf(tree, "constructor")).toEqual(["__proto__", "constructor"]);
  });

  it.each([
    ["a chain", (index: number): Place => (index === 0 ? {} : childOf(`r${index - 1}`))],
    ["siblings", (index: number): Place => (index === 0 ? {} : childOf("r0"))],
  ])("10,000 runs, %s: every entry is read a fixed number of times", (_, place) => {
    const count = 10_000;
    let reads = 0;
    const entries = Array.from({ length: count }, (_value, index) => entriesOfRun(`r${index}`, place(index)))
      .flat()
      .map(({ runId, event }) => ({
        event,
        get runId() {
          reads++;
          return runId;
        },
      }));
    const tree = lineage(entries);
    expect(reads).toBeLessThanOrEqual(4 * entries.length);
    expect(tree.runs.size).toBe(count);
    const branch = branchOf(tree, `r${count - 1}`);
    expect(branch).toHaveLength(tree.runs.get("r0")?.children.length === 1 ? count : 2);
    expect(historyOf(entries, `r${count - 1}`, tree)).toHaveLength(3 * branch.length);
    expect(tree.heads).toHaveLength(branch.length === 2 ? count - 1 : 1);
  });

  it("any log gives a tree: parents start before their children, children name their parents, no event is lost", () => {
    const id = fc.constantFrom("a", "b", "c", "d", "e");
    const event = fc.oneof(
      fc
        .tuple(id, fc.option(id, { nil: undefined }))
        .map(([runId, parent]) => started(runId, parent ? childOf(parent) : {})),
      fc
        .tuple(id, fc.option(id), fc.constantFrom("continue", "branch", "spawn", 3))
        .map(([runId, parent, kind]) => started(runId, logged(parent, kind))),
      id.map(finished),
      id.map(step),
      fc.constant<Event>({ type: "RUN_ERROR", message: "" }),
    );
    const log = fc.oneof(
      fc.array(event, { maxLength: 24 }).map(entriesOf),
      fc.array(fc.record({ runId: fc.option(id, { nil: undefined }), event }), { maxLength: 24 }),
    );
    fc.assert(
      fc.property(log, (entries) => {
        const tree = lineage(entries);
        const order = [...tree.runs.keys()];
        const places = [...tree.runs.values()];
        expect(places.flatMap(({ children }) => children)).toHaveLength(order.length - tree.roots.length);
        expect(new Set(order)).toEqual(new Set(entries.flatMap(({ runId }) => runId ?? [])));
        for (const { runId, parentRunId, kind, children } of tree.runs.values()) {
          expect(tree.roots.includes(runId)).toBe(parentRunId === undefined);
          const parent = order.indexOf(parentRunId ?? "");
          expect(parent).toBeLessThan(order.indexOf(runId));
          expect(parent === -1).toBe(parentRunId === undefined);
          for (const child of children) expect(tree.runs.get(child)?.parentRunId).toBe(runId);
          const next = children.filter((child) => tree.runs.get(child)?.kind !== "spawn");
          expect(tree.heads.includes(runId)).toBe(kind !== "spawn" && next.length === 0);
          const branch = branchOf(tree, runId);
          expect(branch.at(-1)).toBe(runId);
          const own = entries.filter((item) => item.runId !== undefined && branch.includes(item.runId));
          expect(historyOf(entries, runId)).toHaveLength(own.length);
        }
      }),
      { numRuns: 2_000 * SCALE },
    );
  });
});

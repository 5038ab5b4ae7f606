/** The drawing of runs: each once, parents above, lanes that nothing else stands in. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { layoutRuns } from "../../inspector/pages/branches/graph-layout.ts";
import { lineageOf, newestBelow, sharedCount } from "../../inspector/runs/lineage.ts";
import type { Hanging } from "../../inspector/runs/lineage.ts";

const threads = fc
  .array(fc.record({ on: fc.integer({ min: -1, max: 60 }), kind: fc.constantFrom("continue", "branch", "spawn") }), {
    minLength: 1,
    maxLength: 60,
  })
  .map((made) =>
    made.map(({ on, kind }, index): Hanging => {
      const runId = `r${index}`;
      return on < 0 || index === 0 ? { runId } : { runId, parentRunId: `r${on % index}`, kind };
    }),
  );

test("every run has a row, below the run that it hangs on", () => {
  fc.assert(
    fc.property(threads, fc.nat(), (runs, choice) => {
      const head = runs[choice % runs.length]?.runId;
      const { rows, lanes } = layoutRuns(runs, head);
      expect(rows.map(({ run }) => run.runId).toSorted()).toEqual(runs.map(({ runId }) => runId).toSorted());
      for (const { run, row, lane, parentRow, link } of rows) {
        expect(rows[row]?.run).toBe(run);
        expect(lane).toBeLessThan(lanes);
        expect(rows[parentRow ?? -1]?.run.runId).toBe(run.parentRunId);
        expect(parentRow ?? -1).toBeLessThan(row);
        expect(link === "spawn").toBe(run.kind === "spawn");
      }
    }),
  );
});

test("a line runs down the lane of the run that it comes from, and nothing stands in its way", () => {
  fc.assert(
    fc.property(threads, fc.nat(), (runs, choice) => {
      const { rows } = layoutRuns(runs, runs[choice % runs.length]?.runId);
      for (const { row, lane, parentRow, link } of rows) {
        if (parentRow === undefined) continue;
        const parent = rows[parentRow];
        expect(lane - (parent?.lane ?? 0)).toBe(link === "continue" ? 0 : 1);
        // In between there is nothing but what forks off the same run, further out.
        for (let between = parentRow + 1; between < row; between++) {
          expect(rows[between]?.lane).toBeGreaterThan(parent?.lane ?? 0);
        }
      }
    }),
  );
});

test("the thread's own branch keeps the first lane and ends at the bottom of its tree", () => {
  fc.assert(
    fc.property(threads, (all) => {
      const runs = all.map(({ kind, ...run }) =>
        run.parentRunId === undefined ? run : { ...run, kind: kind === "spawn" ? "branch" : "continue" },
      );
      const head = newestBelow(runs, runs[0]?.runId ?? "");
      const { rows } = layoutRuns(runs, head);
      const own = new Set(lineageOf(runs, head).map(({ runId }) => runId));
      const lanes = rows.flatMap(({ run, lane }) => (own.has(run.runId) ? [lane] : []));
      expect(lanes).toEqual(Array.from(own, () => 0));
    }),
  );
});

test("a thousand forks of one run take two lanes; a thousand runs in a row one", () => {
  const forks = Array.from({ length: 1000 }, (_, index) => ({
    runId: `r${index}`,
    ...(index > 0 && { parentRunId: "r0" }),
  }));
  expect(layoutRuns(forks, "r999")).toMatchObject({ lanes: 2 });
  const row = forks.map((run, index) => (index > 0 ? { ...run, parentRunId: `r${index - 1}` } : run));
  expect(layoutRuns(row, "r999")).toMatchObject({ lanes: 1 });
});

test("what two branches have in common, and where a spawned run begins", () => {
  const runs: Hanging[] = [
    { runId: "a" },
    { runId: "b", parentRunId: "a" },
    { runId: "c", parentRunId: "a", kind: "branch" },
    { runId: "d", parentRunId: "c", kind: "spawn" },
    { runId: "e", parentRunId: "d" },
  ];
  const line = (runId: string): readonly string[] => lineageOf(runs, runId).map((run) => run.runId);
  expect(line("c")).toEqual(["a", "c"]);
  expect(line("e")).toEqual(["d", "e"]);
  expect(line("nobody")).toEqual([]);
  expect(sharedCount(lineageOf(runs, "b"), lineageOf(runs, "c"))).toBe(1);
  expect(newestBelow(runs, "a")).toBe("c");
});

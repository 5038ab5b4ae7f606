/** STORE-LIN: the runs of a branch. */
import { contractCase } from "./contract-case.ts";
import { checkSame } from "./contract-violation.ts";
import { THREAD, begin, runKey, runWhole } from "./scenario.ts";
import type { Store } from "../../store/index.ts";

const branchIds = async (store: Store, runId: string): Promise<readonly string[]> =>
  (await store.branch(runKey(THREAD, runId))).map((run) => run.runId);

/** Cases of `branch` and `runs`. */
export const lineageCases = [
  contractCase("STORE-LIN-1: a branch of 100 runs is walked from its root to any of its runs", async ({ store }) => {
    const ids = Array.from({ length: 100 }, (_, index) => `run ${index}`);
    for (const [index, runId] of ids.entries()) {
      await runWhole(store, THREAD, runId, index === 0 ? {} : { parentRunId: `run ${index - 1}`, kind: "continue" });
    }
    for (const length of [1, 2, 50, 100]) {
      checkSame(await branchIds(store, `run ${length - 1}`), ids.slice(0, length), `the branch of run ${length - 1}`);
    }
    const runs = await store.runs(THREAD);
    checkSame(
      runs.map(({ runId }) => runId),
      ids,
      "the runs of the thread",
    );
    checkSame(await store.branch(runKey(THREAD, "run 99")), runs, "the runs of the branch, in full");
  }),

  contractCase("STORE-LIN-1: of 100 forks, each branch holds its own runs and what they hang on", async ({ store }) => {
    await runWhole(store, THREAD, "root");
    await runWhole(store, THREAD, "trunk", { parentRunId: "root", kind: "continue" });
    for (let index = 0; index < 50; index++) {
      await runWhole(store, THREAD, `a${index}`, { parentRunId: "trunk", kind: "branch" });
      await runWhole(store, THREAD, `b${index}`, { parentRunId: `a${index}`, kind: "continue" });
    }
    await runWhole(store, THREAD, "second root");
    for (const index of [0, 7, 49]) {
      checkSame(await branchIds(store, `b${index}`), ["root", "trunk", `a${index}`, `b${index}`], `fork ${index}`);
      checkSame(await branchIds(store, `a${index}`), ["root", "trunk", `a${index}`], `fork ${index} before its head`);
    }
    checkSame(await branchIds(store, "trunk"), ["root", "trunk"], "the trunk");
    checkSame(await branchIds(store, "second root"), ["second root"], "another root");
    const seqs = (await store.runs(THREAD)).map(({ firstSeq }) => firstSeq);
    checkSame(
      seqs,
      seqs.toSorted((a, b) => a - b),
      "runs come in order of their first event",
    );
    checkSame(seqs.length, 103, "how many runs there are");
  }),

  contractCase("STORE-LIN-1: a branch begins at a spawned run, whatever it hangs on", async ({ store }) => {
    await begin(store, THREAD, "parent");
    await runWhole(store, THREAD, "spawned", { parentRunId: "parent", kind: "spawn" });
    await runWhole(store, THREAD, "follows", { parentRunId: "spawned", kind: "continue" });
    await begin(store, THREAD, "nested", { parentRunId: "follows", kind: "spawn" });
    checkSame(await branchIds(store, "spawned"), ["spawned"], "the branch of a spawned run");
    checkSame(await branchIds(store, "follows"), ["spawned", "follows"], "the branch of what follows it");
    checkSame(await branchIds(store, "nested"), ["nested"], "the branch of a run spawned by that");
    checkSame(await branchIds(store, "parent"), ["parent"], "the branch of the parent");
    const spawned = await store.run(runKey(THREAD, "spawned"));
    checkSame([spawned?.parentRunId, spawned?.kind], ["parent", "spawn"], "where the spawned run hangs");
  }),

  contractCase("STORE-LIN-1: a run that is not there has no branch", async ({ store }) => {
    checkSame(await branchIds(store, "r1"), [], "a branch in no thread");
    await begin(store, THREAD, "r1");
    checkSame(await branchIds(store, "r2"), [], "a branch of no run");
    checkSame(await store.run(runKey(THREAD, "r2")), undefined, "a run that is not there");
  }),
];

/** STORE-OPN: opening a store, alone, together with others, and on data of a newer version. */
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import { THREAD, begin, runOf, threadOf } from "./scenario.ts";

/** Cases of `open`. */
export const openCases = [
  contractCase(
    "STORE-OPN-1: data of a newer version is refused, by whichever method meets it, and left as it is",
    async ({ newer }) => {
      const { store, untouched } = await newer();
      await checkRejected(store.open(), "schema-too-new", "opening data of a newer version");
      await checkRejected(store.thread(THREAD), "schema-too-new", "reading data of a newer version");
      await checkRejected(begin(store, THREAD, "r1"), "schema-too-new", "writing to data of a newer version");
      await store.close();
      check(await untouched(), "the data was changed");
    },
    "durable",
  ),

  contractCase(
    "STORE-OPN-2: a store opens once, however often and however hastily it is asked to",
    async ({ store }) => {
      const opened = Array.from({ length: 5 }, () => store.open());
      await begin(store, THREAD, "r1");
      await Promise.all(opened);
      await store.open();
      checkSame((await threadOf(store, THREAD)).tail, 1, "the tail");
    },
  ),

  contractCase(
    "STORE-OPN-2: of starters at the same time, each finds the schema complete",
    async ({ store, second }) => {
      const starters = [store, await second(), await second(), await second()];
      await Promise.all(starters.map((starter) => starter.open()));
      await Promise.all(starters.map((starter, index) => begin(starter, THREAD, `r${index}`)));
      for (const starter of starters) {
        checkSame((await starter.runs(THREAD)).length, starters.length, "the runs that a starter sees");
      }
      checkSame((await runOf(store, THREAD, "r0")).status, "running", "the first run");
    },
    "writer",
  ),
];

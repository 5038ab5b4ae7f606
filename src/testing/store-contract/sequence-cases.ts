/** STORE-SEQ: positions in a log. */
import { formatCursor, readCursor } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { checkSame } from "./contract-violation.ts";
import { THREAD, begin, commit, readAll, runOf, textsOf, threadOf } from "./scenario.ts";

/** Cases of seqs. */
export const sequenceCases = [
  contractCase(
    "STORE-SEQ-1: seqs are 1, 2, 3 … whoever writes, one run after the other or in turns",
    async ({ store }) => {
      const a = await begin(store, THREAD, "a", { events: textsOf("a", 2) });
      const b = await begin(store, THREAD, "b", { events: textsOf("b", 3) });
      const answers = [
        await commit(store, a, 1, textsOf("a again", 1)),
        await commit(store, b, 1, textsOf("b again", 4)),
        await commit(store, a, 2, textsOf("a at last", 2)),
      ];
      checkSame(
        answers.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq]),
        [
          [6, 6],
          [7, 10],
          [11, 12],
        ],
        "where the batches are",
      );
      const events = await readAll(store, THREAD);
      checkSame(
        events.map(({ seq, runId }) => `${seq}${runId}`).join(" "),
        "1a 2a 3b 4b 5b 6a 7b 8b 9b 10b 11a 12a",
        "the log",
      );
      const [runA, runB] = [await runOf(store, THREAD, "a"), await runOf(store, THREAD, "b")];
      checkSame([runA.firstSeq, runA.lastSeq, runB.firstSeq, runB.lastSeq], [1, 12, 3, 10], "where the runs are");
      checkSame((await threadOf(store, THREAD)).tail, 12, "the tail");
    },
  ),

  contractCase("STORE-SEQ-1: a refused batch uses no seq", async ({ store }) => {
    const lease = await begin(store, THREAD, "r1");
    const [, gap, repeated] = await store.append([
      { lease, number: 1, events: textsOf("one", 1) },
      { lease, number: 3, events: textsOf("three", 5) },
      { lease, number: 1, events: textsOf("one", 1) },
    ]);
    checkSame([gap?.type, repeated?.type], ["gap", "repeated"], "the answers");
    checkSame((await commit(store, lease, 2, textsOf("two", 1))).firstSeq, 3, "the next seq");
  }),

  contractCase(
    "STORE-SEQ-1: every log has seqs and an id of its own, and its cursors are read back",
    async ({ store }) => {
      const other = { ...THREAD, threadId: "other" };
      await begin(store, THREAD, "r1", { events: textsOf("here", 3) });
      await begin(store, other, "r1", { events: textsOf("there", 2) });
      const [here, there] = [await threadOf(store, THREAD), await threadOf(store, other)];
      checkSame([here.tail, there.tail], [3, 2], "the tails");
      checkSame(new Set([here.logId, there.logId]).size, 2, "ids of two logs");
      for (const thread of [here, there]) {
        checkSame(readCursor(formatCursor(thread.logId, thread.tail), thread), thread.tail, "the cursor of the tail");
      }
    },
  ),
];

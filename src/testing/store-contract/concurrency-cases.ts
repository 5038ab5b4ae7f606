/** The clauses that hold however many ask at once, on one handle and on two. */
import type { Appended, ClaimResult, Store } from "../../store/index.ts";
import { contractCase, turn } from "./contract-case.ts";
import type { CaseContext } from "./contract-case.ts";
import { ContractViolation, check, checkPresent, checkSame, outcomeOf } from "./contract-violation.ts";
import { enqueueOf, idsIn } from "./queue-cases.ts";
import {
  LONG_LEASE_MS,
  THREAD,
  appendOne,
  begin,
  claimOf,
  commit,
  dumpOf,
  readAll,
  runKey,
  runWhole,
  textsOf,
  threadOf,
} from "./scenario.ts";

/** A case for a store that is asked through several handles; all of them may be the same one. */
type ProveTogether = (context: CaseContext, handles: readonly [Store, Store]) => Promise<void>;

/** The same case on one handle, and on two where there can be two. */
const together = (title: string, prove: ProveTogether) => [
  contractCase(`${title}, on one handle`, (context) => prove(context, [context.store, context.store])),
  contractCase(
    `${title}, on two handles`,
    async (context) => prove(context, [context.store, await context.second()]),
    "writer",
  ),
];

/** Asks n times at once, in turns on both handles. */
const atOnce = <T>(
  n: number,
  [a, b]: readonly [Store, Store],
  ask: (store: Store, index: number) => Promise<T>,
): Promise<T[]> => Promise.all(Array.from({ length: n }, (_, index) => ask(index % 2 === 0 ? a : b, index)));

/** How often each type is among the answers. */
const tally = (answers: readonly (ClaimResult | Appended)[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { type } of answers) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};

const checkGapFree = async (store: Store, count: number): Promise<void> => {
  const seqs = (await readAll(store, THREAD)).map(({ seq }) => seq);
  checkSame(
    seqs,
    Array.from({ length: count }, (_, index) => index + 1),
    "the seqs",
  );
};

/** Cases of doing things at once. */
export const concurrencyCases = [
  ...together("STORE-CLM-2: of 12 claims of one run at once, one succeeds", async (_, handles) => {
    const answers = await atOnce(12, handles, (store, index) =>
      store.claim(claimOf(THREAD, "r1", { events: textsOf(`claim ${index}`, 2) })),
    );
    checkSame(tally(answers), { claimed: 1, exists: 11 }, "the answers");
    await checkGapFree(handles[0], 2);
  }),

  ...together("STORE-CLM-4: of 12 claims on one head at once, one succeeds", async (_, handles) => {
    await runWhole(handles[0], THREAD, "root");
    const answers = await atOnce(12, handles, (store, index) =>
      store.claim(claimOf(THREAD, `r${index}`, { ifHead: "root", parentRunId: "root", kind: "continue" })),
    );
    const { claimed, moved = 0, busy = 0, ...rest } = tally(answers);
    checkSame([claimed, moved + busy, rest], [1, 11, {}], "the answers");
    checkSame((await handles[0].runs(THREAD)).length, 2, "the runs");
    await checkGapFree(handles[1], 4);
  }),

  ...together("STORE-CLM-4: of 12 claims on a thread that is not there, one makes it", async (_, handles) => {
    const answers = await atOnce(12, handles, (store, index) =>
      store.claim(claimOf(THREAD, `r${index}`, { ifHead: null })),
    );
    checkSame(tally(answers), { claimed: 1, moved: 11 }, "the answers");
    await checkGapFree(handles[1], 1);
  }),

  ...together("STORE-CLM-1: 12 runs that begin one thread at once are all in one log", async (_, handles) => {
    const answers = await atOnce(12, handles, (store, index) =>
      store.claim(claimOf(THREAD, `r${index}`, { events: textsOf(`r${index}`, 3) })),
    );
    checkSame(tally(answers), { claimed: 12 }, "the answers");
    const logIds = answers.flatMap((answer) => (answer.type === "claimed" ? [answer.thread.logId] : []));
    checkSame(new Set(logIds).size, 1, "how many logs there are");
    await checkGapFree(handles[0], 36);
  }),

  ...together(
    "STORE-SEQ-1: 8 runs that append at once leave no gap, and each batch is in one piece",
    async (_, handles) => {
      await atOnce(8, handles, async (store, index) => {
        const lease = await begin(store, THREAD, `r${index}`);
        for (let number = 1; number <= 10; number++) {
          const { firstSeq, lastSeq } = await commit(store, lease, number, textsOf(`r${index} ${number}`, 5));
          checkSame(lastSeq - firstSeq, 4, "how long a batch is in the log");
          const read = await readAll(store, THREAD, { afterSeq: firstSeq - 1, throughSeq: lastSeq });
          checkSame(
            read.map(({ json }) => json),
            textsOf(`r${index} ${number}`, 5),
            "the batch, read back",
          );
        }
      });
      await checkGapFree(handles[1], 8 * 51);
      for (let index = 0; index < 8; index++) {
        const read = await readAll(handles[0], THREAD, { runIds: [`r${index}`] });
        const expected = Array.from({ length: 10 }, (_, batch) => textsOf(`r${index} ${batch + 1}`, 5)).flat();
        checkSame(
          read.slice(1).map(({ json }) => json),
          expected,
          `the events of run ${index}`,
        );
      }
    },
  ),

  ...together(
    "STORE-APP-1: who reads while others write sees whole batches only, and a log that only grows",
    async (_, handles) => {
      const [writer, reader] = handles;
      const lease = await begin(writer, THREAD, "r1");
      const written = Promise.withResolvers<"written">();
      const write = async (): Promise<void> => {
        try {
          for (let number = 1; number <= 20; number++) await commit(writer, lease, number, textsOf(`${number}`, 7));
        } finally {
          written.resolve("written");
        }
      };
      const read = async (): Promise<void> => {
        let known: readonly unknown[] = [];
        do {
          const { events, tail, through } = await reader.read(THREAD, { limit: 1000 });
          checkSame((tail - 1) % 7, 0, "events of a batch that is not whole");
          checkSame([events.length, through], [tail, tail], "what a page of everything holds");
          checkSame(events.slice(0, known.length), known, "what was read before");
          known = events;
        } while ((await Promise.race([written.promise, turn()])) !== "written");
      };
      await Promise.all([write(), read()]);
      await checkGapFree(reader, 141);
    },
  ),

  ...together("STORE-APP-2: a batch that is sent 8 times at once is committed once", async (_, handles) => {
    const lease = await begin(handles[0], THREAD, "r1");
    for (let number = 1; number <= 3; number++) {
      const answers = await atOnce(8, handles, (store) => appendOne(store, lease, number, textsOf(`${number}`, 3)));
      checkSame(tally(answers), { committed: 1, repeated: 7 }, "the answers");
    }
    await checkGapFree(handles[1], 10);
  }),

  ...together(
    "STORE-APP-5: many batches of many threads in calls at once do not get into each other's way",
    async (_, handles) => {
      const keys = Array.from({ length: 6 }, (_, index) => ({ ...THREAD, threadId: `t${index}` }));
      const leases = await Promise.all(keys.map((key) => begin(handles[0], key, "r1")));
      for (let number = 1; number <= 5; number++) {
        const answers = await atOnce(4, handles, (store, index) => {
          const mixed = index % 2 === 0 ? leases : leases.toReversed();
          return store.append(mixed.map((lease) => ({ lease, number, events: textsOf(`${number}`, 2) })));
        });
        checkSame(tally(answers.flat()), { committed: 6, repeated: 18 }, "the answers");
      }
      for (const key of keys) checkSame((await threadOf(handles[1], key)).tail, 11, "the tail");
    },
  ),

  ...together("STORE-LSE-3: of 8 takers of expired leases at once, one gets each", async ({ pass }, handles) => {
    for (const runId of ["a", "b", "c"]) await begin(handles[0], THREAD, runId, { leaseMs: 1 });
    await pass(2);
    const taken = (await atOnce(8, handles, (store) => store.takeOver({ leaseMs: LONG_LEASE_MS }))).flat();
    checkSame(taken.map(({ runId }) => runId).toSorted(), ["a", "b", "c"], "what was taken");
    for (const lease of taken) await commit(handles[1], lease, 1, textsOf("mine", 1));
  }),

  ...together("STORE-LSE-3: of 8 takers of a named run at once, one holds it in the end", async (_, handles) => {
    await begin(handles[0], THREAD, "r1");
    const run = runKey(THREAD, "r1");
    const taken = (await atOnce(8, handles, (store) => store.takeOver({ run, leaseMs: LONG_LEASE_MS }))).flat();
    check(taken.length > 0, "nobody got it");
    checkSame(new Set(taken.map(({ fence }) => fence)).size, taken.length, "how many fences there are");
    const beats = await handles[1].heartbeat(taken);
    checkSame(beats.filter(({ held }) => held).length, 1, "how many hold it");
    const answers = await atOnce(taken.length, handles, (store, index) =>
      appendOne(store, checkPresent(taken[index], "the lease"), 1, textsOf(`taker ${index}`, 2)),
    );
    checkSame(tally(answers).committed, 1, "how many could write");
    await checkGapFree(handles[0], 3);
  }),

  ...together(
    "STORE-LSE-3: a holder that writes while it is taken over writes before that, or nothing",
    async (_, handles) => {
      const [holder, taker] = handles;
      const old = await begin(holder, THREAD, "r1");
      const write = async (): Promise<number> => {
        for (let number = 1; number <= 200; number++) {
          if ((await appendOne(holder, old, number, textsOf(`${number}`, 1))).type === "fenced") return number;
        }
        return 201;
      };
      const take = async () => {
        await taker.thread(THREAD);
        return checkPresent((await taker.takeOver({ run: old, leaseMs: LONG_LEASE_MS }))[0], "the lease");
      };
      const [next, lease] = await Promise.all([write(), take()]);
      checkSame(lease.nextBatch, next, "the batch that comes next for who took over");
      await commit(taker, lease, next, textsOf("closing", 1));
      await checkGapFree(holder, next + 1);
    },
  ),

  ...together("STORE-QUE-2: of 12 claims of one run that waits, at once, one succeeds", async (_, handles) => {
    await runWhole(handles[0], THREAD, "root");
    for (const id of ["r1", "r2"]) await handles[0].enqueue(enqueueOf(THREAD, id));
    const place = { parentRunId: "root", kind: "continue", ifQueued: true } as const;
    const answers = await atOnce(12, handles, (store) => store.claim(claimOf(THREAD, "r1", place)));
    checkSame(tally(answers), { claimed: 1, exists: 11 }, "the answers");
    checkSame(await idsIn(handles[1]), ["r2"], "what waits");
    await checkGapFree(handles[0], 4);
  }),

  ...together("STORE-QUE-2: a run that waits is taken out or claimed, when both come at once", async (_, handles) => {
    const [taker, claimer] = handles;
    await runWhole(taker, THREAD, "root");
    for (let number = 1; number <= 10; number++) {
      const key = runKey(THREAD, `r${number}`);
      await taker.enqueue(enqueueOf(THREAD, key.runId));
      const claim = claimer.claim(claimOf(THREAD, key.runId, { ifQueued: true }));
      const [taken, outcome] = await Promise.all([taker.unqueue(key), outcomeOf(claim)]);
      const claimed = outcome.type === "answer" ? outcome.answer.type : outcome.code;
      checkSame(claimed, taken ? "run-unknown" : "claimed", "the claim");
      checkSame((await claimer.run(key)) === undefined, taken, "whether the run is not in the log");
    }
    checkSame(await idsIn(claimer), [], "what waits");
  }),

  ...together("STORE-QUE-2: who looks while a run is claimed finds it waiting or in the log", async (_, handles) => {
    const [claimer, reader] = handles;
    await runWhole(claimer, THREAD, "root");
    const key = runKey(THREAD, "r1");
    await claimer.enqueue(enqueueOf(THREAD, "r1"));
    const claim = claimer.claim(claimOf(THREAD, "r1", { ifQueued: true }));
    const claimed = claim.then(() => "done" as const);
    do {
      const waits = (await idsIn(reader)).includes("r1");
      check(waits || (await reader.run(key)) !== undefined, "the run neither waits nor is it in the log");
    } while ((await Promise.race([claimed, turn()])) !== "done");
    checkSame([(await claim).type, await idsIn(reader)], ["claimed", []], "the claim, and what waits");
  }),

  ...together(
    "STORE-QUE-3: of 12 that come at once where 5 may wait, 5 wait, each in a place of its own",
    async (_, handles) => {
      await begin(handles[0], THREAD, "root");
      const answers = await atOnce(12, handles, (store, index) =>
        store.enqueue(enqueueOf(THREAD, `r${index}`, { limit: 5 })),
      );
      const places = answers.flatMap((answer, index) =>
        answer.type === "queued" ? [{ position: answer.position, runId: `r${index}` }] : [],
      );
      const inOrder = places.toSorted((a, b) => a.position - b.position);
      checkSame(
        inOrder.map(({ position }) => position),
        [1, 2, 3, 4, 5],
        "the places",
      );
      checkSame(
        await idsIn(handles[1]),
        inOrder.map(({ runId }) => runId),
        "what waits",
      );
      checkSame(answers.filter(({ type }) => type === "full").length, 7, "how many did not fit");
    },
  ),

  ...together("STORE-TCL-1: of 12 that ask for a call at once, one gets it", async (_, handles) => {
    await begin(handles[0], THREAD, "r1");
    for (const toolCallId of ["c1", "c2", "c3", "c4", "c5"]) {
      const answers = await atOnce(12, handles, (store, index) =>
        store.claimToolCall({ ...THREAD, toolCallId, holder: `tab ${index}`, leaseMs: LONG_LEASE_MS }),
      );
      checkSame(answers.filter(({ type }) => type === "held").length, 1, "how many hold it");
      checkSame(new Set(answers.map(({ untilMs }) => untilMs)).size, 1, "until when, as they are told");
    }
  }),

  ...together("STORE-ACC-1: of 12 claims that make a thread at once, one names its owner", async (_, handles) => {
    const answers = await atOnce(12, handles, (store, index) =>
      store.claim(claimOf(THREAD, `r${index}`, { owner: `user ${index}` })),
    );
    const owners = new Set(answers.map((answer) => (answer.type === "claimed" ? answer.thread.owner : answer.type)));
    const { owner } = await threadOf(handles[1], THREAD);
    checkSame([...owners], [owner], "the owners that they are told");
    check(owner !== undefined, "the thread has no owner");
  }),

  ...together("STORE-ACC-2: of 12 changes of one member at once each counts by itself", async (_, handles) => {
    await begin(handles[0], THREAD, "r1", { owner: "ada" });
    const set = await atOnce(12, handles, (store) => store.setMember(THREAD, "bob", "observer"));
    checkSame(set.filter(Boolean).length, 1, "how many of the same role changed something");
    checkSame(await handles[1].members(THREAD), [{ user: "bob", role: "observer" }], "the members");
    await atOnce(12, handles, (store, index) => store.setMember(THREAD, `user ${index}`, "collaborator"));
    checkSame((await handles[1].members(THREAD)).length, 13, "how many members there are");
    const taken = await atOnce(12, handles, (store) => store.setMember(THREAD, "bob", null));
    checkSame(taken.filter(Boolean).length, 1, "how many took it away");
  }),

  ...together("STORE-TIC-1: of 12 that take a ticket at once, one gets it", async (_, handles) => {
    for (const hash of ["a", "b", "c", "d", "e"]) {
      await handles[0].saveTicket({ hash, body: hash, forMs: LONG_LEASE_MS });
      const bodies = await atOnce(12, handles, async (store, index) => {
        if (index < 9) return store.takeTicket(hash);
        // Others save theirs, and clean up, meanwhile.
        await store.saveTicket({ hash: `${hash}${index}`, body: "", forMs: index - 9 });
        return undefined;
      });
      checkSame(
        bodies.filter((body) => body !== undefined),
        [hash],
        "what they got",
      );
    }
  }),

  ...together("STORE-ANN-2: runs that are annotated while they are written to lose no batch", async (_, handles) => {
    const leases = [await begin(handles[0], THREAD, "a"), await begin(handles[1], THREAD, "b")];
    await runWhole(handles[0], THREAD, "ended");
    await atOnce(6, handles, async (store, index) => {
      const lease = leases[index];
      for (let number = 1; number <= 10; number++) {
        if (lease !== undefined) await commit(store, lease, number, textsOf(`${index} ${number}`, 3));
        else {
          const runId = ["a", "b", "ended", "a"][index - 2] ?? "a";
          const { firstSeq } = await store.annotate({ ...runKey(THREAD, runId), events: textsOf(`${index}`, 2) });
          const read = await readAll(store, THREAD, { afterSeq: firstSeq - 1, throughSeq: firstSeq + 1 });
          checkSame(
            read.map((event) => [event.runId, event.json]),
            textsOf(`${index}`, 2).map((json) => [runId, json]),
            "annotations, read back",
          );
        }
      }
    });
    await checkGapFree(handles[1], 5 + 2 * 30 + 4 * 20);
  }),

  ...together("STORE-EXP-1: of 4 imports of one thread at once, one succeeds", async (_, handles) => {
    await runWhole(handles[0], THREAD, "r1");
    const dump = await dumpOf(handles[0], THREAD);
    await handles[0].deleteThread(THREAD);
    const outcomes = await atOnce(4, handles, (store) => outcomeOf(store.importThread(THREAD, dump)));
    const results = outcomes.map((outcome) => (outcome.type === "answer" ? "done" : outcome.code)).toSorted();
    checkSame(results, ["done", "thread-exists", "thread-exists", "thread-exists"], "the answers");
    await checkGapFree(handles[1], 3);
  }),

  ...together(
    "STORE-THR-2: a thread that is deleted while it is written to is gone, or new and whole",
    async (_, handles) => {
      const [writer, other] = handles;
      const lease = await begin(writer, THREAD, "r1");
      const write = async (): Promise<number> => {
        for (let number = 1; number < 10_000; number++) {
          if ((await appendOne(writer, lease, number, textsOf(`${number}`, 2))).type === "fenced") return number;
        }
        throw new ContractViolation("a deleted run can be written to");
      };
      const remove = async (): Promise<boolean> => {
        await other.thread(THREAD);
        return other.deleteThread(THREAD);
      };
      const [, removed] = await Promise.all([write(), remove()]);
      checkSame([removed, await writer.thread(THREAD)], [true, undefined], "the thread");
      await begin(other, THREAD, "r1");
      await checkGapFree(writer, 1);
    },
  ),
];

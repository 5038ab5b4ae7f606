/** STORE-ACC: what is asked for one user: the threads that are theirs or shared with them, and how many of their runs run. */
import type { Store, ThreadKey } from "../../store/index.ts";
import { rolesIn } from "./access-cases.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import { HARD_IDS } from "./hard-texts.ts";
import { enqueueOf } from "./queue-cases.ts";
import { FINISHED, TENANT, THREAD, begin, commit, dumpOf, runKey, runWhole, textsOf } from "./scenario.ts";
import { idsOf, listAll } from "./thread-cases.ts";

const threadKey = (threadId: string): ThreadKey => ({ tenant: TENANT, threadId });

/** Ids of the threads that are listed for a user, in no order. */
const idsFor = async (store: Store, user: string, limit = 2): Promise<readonly string[]> =>
  idsOf(await listAll(store, { user, limit })).toSorted();

const COPY: ThreadKey = { ...THREAD, threadId: "copy" };
const listCases = [
  contractCase(
    "STORE-ACC-5: a list for a user holds the threads that they own or are a member of, and no other",
    async ({ store }) => {
      for (const [threadId, owner] of [
        ["a", "ada"],
        ["b", "ada"],
        ["c", "bob"],
        ["d", "bob"],
        ["e", undefined],
      ] as const) {
        await begin(store, threadKey(threadId), "r1", { owner, principal: "eve" });
      }
      await store.setMember(threadKey("c"), "ada", "observer");
      await store.setMember(threadKey("e"), "ada", "collaborator");
      for (const limit of [1, 2, 50]) {
        checkSame(await idsFor(store, "ada", limit), ["a", "b", "c", "e"], `the first one's, in pages of ${limit}`);
        checkSame(await idsFor(store, "bob", limit), ["c", "d"], `the second one's, in pages of ${limit}`);
        checkSame(await idsFor(store, "eve", limit), [], `somebody else's, in pages of ${limit}`);
      }
      checkSame((await listAll(store)).length, 5, "how many threads there are");
      await store.setMember(threadKey("c"), "ada", null);
      await store.setMember(threadKey("d"), "ada", "observer");
      checkSame(await idsFor(store, "ada"), ["a", "b", "d", "e"], "the first one's, after a change");
    },
  ),

  contractCase(
    "STORE-ACC-5: its pages hold every thread once and in order, whether owned or shared, by every other wish",
    async ({ store }) => {
      await runWhole(store, threadKey("model"), "r1");
      const dump = await dumpOf(store, threadKey("model"));
      await store.deleteThread(threadKey("model"));
      for (const [index, threadId] of HARD_IDS.entries()) {
        const updatedAtMs = dump.thread.createdAtMs + Math.floor(index / 13);
        const thread = {
          ...dump.thread,
          threadId,
          updatedAtMs,
          archived: index % 2 === 0,
          title: `Title ${index % 5}`,
        };
        const owner = ["ada", "bob", undefined][index % 3];
        await store.importThread(threadKey(threadId), { ...dump, thread }, { owner });
        if (index % 3 === 1)
          await store.setMember(threadKey(threadId), "ada", index % 2 === 0 ? "observer" : "collaborator");
      }
      const wishes = [
        {},
        { archived: true },
        { archived: false },
        { query: "TITLE 3" },
        { archived: true, query: "a" },
      ];
      for (const wish of wishes) {
        // The list of everybody is held to STORE-THR-1: a user's has the same order, and leaves out what is not theirs.
        const all = await listAll(store, wish);
        const theirs = all.filter(({ threadId }) => HARD_IDS.findIndex((id) => id === threadId) % 3 < 2);
        for (const limit of [1, 2, 7, 13, 1000]) {
          checkSame(
            await listAll(store, { ...wish, user: "ada", limit }),
            theirs,
            `pages of ${limit}, ${JSON.stringify(wish)}`,
          );
        }
      }
    },
  ),

  contractCase(
    "STORE-ACC-5: threads that do not change are in the pages once, though others do",
    async ({ store, pass }) => {
      for (let index = 0; index < 9; index++) {
        const key = threadKey(`t${index}`);
        await begin(store, key, "r1", { owner: index % 2 === 0 ? "ada" : "bob" });
        if (index % 2 === 1) await store.setMember(key, "ada", "observer");
      }
      await pass(2);
      const seen: string[] = [];
      let after: string | undefined;
      for (let turn = 0; turn === 0 || after !== undefined; turn++) {
        check(turn < 30, "the pages do not end");
        const page = await store.listThreads({ tenant: TENANT, user: "ada", limit: 2, after });
        seen.push(...idsOf(page.threads));
        after = page.next;
        for (const id of ["t2", "t5"]) await store.updateThread(threadKey(id), { title: `turn ${turn}` });
        await begin(store, threadKey(`new ${turn}`), "r1", { owner: turn % 2 === 0 ? "ada" : "bob" });
        await store.setMember(threadKey("t8"), `user ${turn}`, "observer");
      }
      const counts = ["t0", "t1", "t3", "t4", "t6", "t7", "t8"].map((id) => seen.filter((each) => each === id).length);
      checkSame(counts, [1, 1, 1, 1, 1, 1, 1], "how often they are in the pages");
    },
  ),
];

const countCases = [
  contractCase(
    "STORE-ACC-6: the runs of a principal that are running are counted, and no others",
    async ({ store }) => {
      const ours = await begin(store, THREAD, "r1", { principal: "ada" });
      checkSame([await store.runningBy(TENANT, "ada"), await store.runningBy(TENANT, "bob")], [1, 0], "one run");
      await begin(store, COPY, "r1", { principal: "ada" });
      await begin(store, COPY, "spawned", { principal: "ada", parentRunId: "r1", kind: "spawn" });
      await begin(store, COPY, "bob's", { principal: "bob", owner: "ada" });
      await begin(store, COPY, "nobody's");
      await runWhole(store, COPY, "ended", { principal: "ada" });
      await store.enqueue(enqueueOf(THREAD, "waits", { principal: "ada" }));
      await begin(store, { ...THREAD, tenant: "rival" }, "r1", { principal: "ada" });
      checkSame(
        await Promise.all(["ada", "bob", "Ada", "", "undefined"].map((who) => store.runningBy(TENANT, who))),
        [3, 1, 0, 0, 0],
        "how many are running",
      );
      checkSame([await store.runningBy("rival", "ada"), await store.runningBy("stranger", "ada")], [1, 0], "elsewhere");
      const [lease] = await store.takeOver({ run: ours, leaseMs: 1000 });
      checkSame(await store.runningBy(TENANT, "ada"), 3, "how many after one was taken over");
      check(lease !== undefined, "the run was not taken over");
      await commit(store, lease, 1, textsOf("end", 1), FINISHED);
      checkSame(await store.runningBy(TENANT, "ada"), 2, "how many after one has ended");
      await begin(store, THREAD, "waits", { principal: "ada", ifQueued: true });
      checkSame(await store.runningBy(TENANT, "ada"), 3, "how many when one waits no more");
      await store.deleteThread(COPY);
      checkSame(await store.runningBy(TENANT, "ada"), 1, "how many after a thread was deleted");
    },
  ),

  contractCase("STORE-TEN-1: owners, members and roles are of one tenant", async ({ store }) => {
    const theirs = { ...THREAD, tenant: "rival" };
    await begin(store, THREAD, "r1", { owner: "ada" });
    await begin(store, theirs, "r1", { owner: "eve" });
    await store.setMember(THREAD, "bob", "collaborator");
    await store.setMember(theirs, "ada", "observer");
    checkSame(await rolesIn(store, THREAD, ["ada", "bob", "eve"]), ["ada owner", "bob collaborator"], "roles in ours");
    checkSame(await rolesIn(store, theirs, ["eve", "ada", "bob"]), ["eve owner", "ada observer"], "roles in theirs");
    const listed = async (tenant: string, user: string): Promise<readonly string[]> =>
      (await store.listThreads({ tenant, user })).threads.map((thread) => `${thread.tenant} ${thread.owner}`);
    checkSame(await listed(TENANT, "ada"), ["acme ada"], "our list");
    checkSame([await listed("rival", "ada"), await listed("rival", "bob")], [["rival eve"], []], "their lists");
    checkSame(
      [await listed("stranger", "ada"), await store.members({ ...THREAD, tenant: "stranger" })],
      [[], []],
      "no one's",
    );
    await checkRejected(
      store.setMember({ ...THREAD, tenant: "stranger" }, "ada", null),
      "thread-unknown",
      "a foreign thread",
    );
    await store.deleteThread(THREAD);
    checkSame(
      await rolesIn(store, theirs, ["eve", "ada"]),
      ["eve owner", "ada observer"],
      "roles in theirs, after ours is gone",
    );
    checkSame(await store.run(runKey(THREAD, "r1")), undefined, "our run");
  }),
];

/** Cases of lists for a user, and of `runningBy`. */
export const userCases = [...listCases, ...countCases];

/** STORE-ACC: whose a thread is, who else may do something with it, and what each of them is told. */
import type { Member, Store, ThreadKey } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import { HARD_IDS } from "./hard-texts.ts";
import { called, enqueueOf } from "./queue-cases.ts";
import {
  FINISHED,
  TENANT,
  THREAD,
  begin,
  claimOf,
  commit,
  dumpOf,
  runKey,
  runWhole,
  seenByWatcher,
  settleRun,
  textsOf,
  threadOf,
  viewOf,
} from "./scenario.ts";
import { idsOf, listAll } from "./thread-cases.ts";

const NONE: ThreadKey = { ...THREAD, threadId: "none" };
const COPY: ThreadKey = { ...THREAD, threadId: "copy" };

const threadKey = (threadId: string): ThreadKey => ({ tenant: TENANT, threadId });

/** Who of these users may do something with a thread, and what. */
async function rolesIn(store: Store, key: ThreadKey, users: readonly string[]): Promise<readonly string[]> {
  const roles: string[] = [];
  for (const user of users) {
    const role = await store.roleIn(key, user);
    if (role !== undefined) roles.push(`${user} ${role}`);
  }
  return roles;
}

const asText = (members: readonly Member[]): string => members.map(({ user, role }) => `${user}:${role}`).join();

/** Ids of the threads that are listed for a user, in no order. */
const idsFor = async (store: Store, user: string, limit = 2): Promise<readonly string[]> =>
  idsOf(await listAll(store, { user, limit })).toSorted();

const ownerCases = [
  contractCase(
    "STORE-ACC-1: whoever the claim names owns the thread that it makes, and keeps it",
    async ({ store }) => {
      const made = await store.claim(claimOf(THREAD, "r1", { owner: "ada", principal: "bob" }));
      check(made.type === "claimed", `the claim is answered ${made.type}`);
      checkSame(made.thread.owner, "ada", "the owner, as the claim tells it");
      await commit(store, made.lease, 1, textsOf("on", 1), FINISHED);
      const next = await store.claim(claimOf(THREAD, "r2", { owner: "eve", parentRunId: "r1", kind: "continue" }));
      check(next.type === "claimed", `the next claim is answered ${next.type}`);
      checkSame(next.thread.owner, "ada", "the owner, as the next claim tells it");
      checkSame((await store.updateThread(THREAD, { title: "T" })).owner, "ada", "the owner after a change");
      await settleRun(store, THREAD, "r1");
      checkSame((await threadOf(store, THREAD)).owner, "ada", "the owner");
      checkSame((await listAll(store))[0]?.owner, "ada", "the owner in a list");
      checkSame(await rolesIn(store, THREAD, ["ada", "eve", "bob", "Ada", "ada ", ""]), ["ada owner"], "roles");
      checkSame(await store.members(THREAD), [], "members");
    },
  ),

  contractCase(
    "STORE-ACC-1: a thread that is made without an owner has none, and nobody becomes it",
    async ({ store }) => {
      await begin(store, THREAD, "r1", { principal: "bob" });
      await begin(store, THREAD, "r2", { owner: "eve" });
      checkSame((await threadOf(store, THREAD)).owner, undefined, "the owner");
      checkSame(await rolesIn(store, THREAD, ["eve", "bob", "undefined", "null", ""]), [], "roles");
      await store.setMember(THREAD, "eve", "observer");
      checkSame(await store.roleIn(THREAD, "eve"), "observer", "the role of a member");
    },
  ),

  contractCase(
    "STORE-ACC-1: who imports a thread owns it; a dump tells neither owner nor members",
    async ({ store }) => {
      await runWhole(store, THREAD, "r1", { owner: "ada" });
      await store.setMember(THREAD, "bob", "collaborator");
      const dump = await dumpOf(store, THREAD);
      await store.importThread(COPY, dump, { owner: "eve" });
      checkSame((await threadOf(store, COPY)).owner, "eve", "the owner of the copy");
      checkSame(await rolesIn(store, COPY, ["eve", "ada", "bob"]), ["eve owner"], "roles in the copy");
      checkSame(await store.members(COPY), [], "members of the copy");
      await store.importThread(NONE, dump);
      checkSame((await threadOf(store, NONE)).owner, undefined, "the owner of a copy that nobody owns");
      checkSame(
        await rolesIn(store, THREAD, ["ada", "bob", "eve"]),
        ["ada owner", "bob collaborator"],
        "roles where it was",
      );
    },
  ),

  contractCase("STORE-ACC-1: a new thread of a deleted one's name is whose the new claim says", async ({ store }) => {
    await begin(store, THREAD, "r1", { owner: "ada" });
    await store.deleteThread(THREAD);
    await begin(store, THREAD, "r1", { owner: "eve" });
    checkSame(await rolesIn(store, THREAD, ["eve", "ada"]), ["eve owner"], "roles");
    checkSame([await idsFor(store, "ada"), await idsFor(store, "eve")], [[], [THREAD.threadId]], "lists of both");
  }),
];

const memberCases = [
  contractCase("STORE-ACC-2: a member has the role that was set last, until it is taken away", async ({ store }) => {
    await begin(store, THREAD, "r1", { owner: "ada" });
    const set = (user: string, role: "collaborator" | "observer" | null) => store.setMember(THREAD, user, role);
    checkSame(await set("bob", "observer"), true, "the first role");
    checkSame(await set("bob", "observer"), false, "the same again");
    checkSame(await store.roleIn(THREAD, "bob"), "observer", "the role");
    checkSame(await set("bob", "collaborator"), true, "another role");
    checkSame(await store.roleIn(THREAD, "bob"), "collaborator", "the other role");
    checkSame(await set("al", "observer"), true, "another member");
    checkSame(await set("Bob", null), false, "taking away what one who is called almost so never had");
    const both = [
      { user: "al", role: "observer" },
      { user: "bob", role: "collaborator" },
    ];
    checkSame(await store.members(THREAD), both, "the members");
    checkSame(await set("bob", null), true, "taking it away");
    checkSame(await set("bob", null), false, "taking it away again");
    checkSame(await rolesIn(store, THREAD, ["ada", "al", "bob"]), ["ada owner", "al observer"], "roles");
    checkSame(await store.members(THREAD), both.slice(0, 1), "the members that are left");
    checkSame(await set("bob", "observer"), true, "a role for somebody who had one");
  }),

  contractCase("STORE-ACC-2: the owner stays the owner, whatever is set, and is no member", async ({ store }) => {
    await begin(store, THREAD, "r1", { owner: "ada" });
    for (const role of ["observer", "collaborator", null] as const) {
      checkSame(await store.setMember(THREAD, "ada", role), false, `setting ${role}`);
      checkSame(await store.roleIn(THREAD, "ada"), "owner", `the role after ${role}`);
      checkSame(await store.members(THREAD), [], `members after ${role}`);
    }
    checkSame(await listAll(store, { user: "ada", limit: 1 }), [await threadOf(store, THREAD)], "the owner's list");
  }),

  contractCase(
    "STORE-ACC-2: users of any name are kept apart, and told in the order of their names",
    async ({ store }) => {
      await begin(store, THREAD, "r1", { owner: "the owner" });
      for (const user of HARD_IDS.toReversed()) {
        checkSame(await store.setMember(THREAD, user, "observer"), true, `setting ${JSON.stringify(user)}`);
      }
      const told = (await store.members(THREAD)).map(({ user }) => user);
      checkSame(told, HARD_IDS.toSorted(), "the members");
      await store.setMember(THREAD, "a", null);
      for (const user of HARD_IDS) {
        checkSame(await store.roleIn(THREAD, user), user === "a" ? undefined : "observer", JSON.stringify(user));
      }
    },
  ),

  contractCase("STORE-ACC-2: where there is no thread there is no role, and none can be set", async ({ store }) => {
    await begin(store, THREAD, "r1", { owner: "ada" });
    checkSame(await store.roleIn(NONE, "ada"), undefined, "a role");
    checkSame(await store.members(NONE), [], "members");
    for (const role of ["observer", null] as const) {
      await checkRejected(store.setMember(NONE, "bob", role), "thread-unknown", `setting ${role}`);
    }
    checkSame(await store.thread(NONE), undefined, "the thread that was not there");
  }),

  contractCase(
    "STORE-ACC-2: another handle sees what was set last",
    async ({ store, second }) => {
      await begin(store, THREAD, "r1", { owner: "ada" });
      const other = await second();
      for (const role of ["observer", "collaborator", null, "observer"] as const) {
        await store.setMember(THREAD, "bob", role);
        checkSame(await other.roleIn(THREAD, "bob"), role ?? undefined, `the role after ${role}`);
      }
      checkSame(await other.members(THREAD), [{ user: "bob", role: "observer" }], "the members");
      checkSame(await idsFor(other, "bob"), [THREAD.threadId], "the member's list");
    },
    "reader",
  ),
];

const sideCases = [
  contractCase("STORE-ACC-3: a change of members changes nothing else", async ({ store, pass }) => {
    const lease = await begin(store, THREAD, "r1", { owner: "ada" });
    await pass(2);
    await begin(store, COPY, "r1", { owner: "ada" });
    await pass(2);
    const told = async (): Promise<unknown> => ({ ...(await viewOf(store, THREAD)), members: [] });
    const before = await told();
    for (const role of ["observer", "collaborator", null] as const) {
      await store.setMember(THREAD, "bob", role);
      checkSame(await told(), before, `the thread after ${role}`);
      checkSame(idsOf(await listAll(store)), ["copy", "thread"], `the order after ${role}`);
      checkSame(idsOf(await listAll(store, { user: "ada" })), ["copy", "thread"], `the owner's order after ${role}`);
    }
    checkSame((await commit(store, lease, 1, textsOf("on", 1))).firstSeq, 2, "where the next batch is");
  }),

  contractCase("STORE-ACC-3: members go with their thread", async ({ store }) => {
    for (const key of [THREAD, COPY]) {
      await begin(store, key, "r1", { owner: "ada" });
      await store.setMember(key, "bob", "collaborator");
    }
    await store.deleteThread(THREAD);
    checkSame([await store.members(THREAD), await store.roleIn(THREAD, "bob")], [[], undefined], "what is left");
    checkSame([await idsFor(store, "bob"), await idsFor(store, "ada")], [["copy"], ["copy"]], "lists of both");
    await begin(store, THREAD, "r1", { owner: "ada" });
    checkSame([await store.members(THREAD), await store.roleIn(THREAD, "bob")], [[], undefined], "the new thread's");
    checkSame(await idsFor(store, "bob"), ["copy"], "the member's list, then");
  }),

  contractCase(
    "STORE-ACC-3: owner and members are there when the store is opened again",
    async ({ store, reopen }) => {
      await runWhole(store, THREAD, "r1", { owner: "ada" });
      for (const [user, role] of [
        ["bob", "collaborator"],
        ["al", "observer"],
        ["eve", "observer"],
        ["eve", null],
      ] as const) {
        await store.setMember(THREAD, user, role);
      }
      const before = await viewOf(store, THREAD);
      const again = await reopen();
      checkSame(await viewOf(again, THREAD), before, "the thread");
      checkSame(asText(await again.members(THREAD)), "al:observer,bob:collaborator", "the members");
      checkSame(await rolesIn(again, THREAD, ["ada", "bob", "eve"]), ["ada owner", "bob collaborator"], "roles");
    },
    "durable",
  ),

  contractCase("STORE-ACC-4: watchers are called when members change", async ({ store, soon }) => {
    await begin(store, THREAD, "r1");
    const context = { watching: store, soon };
    for (const role of ["observer", "collaborator", null] as const) {
      await called(context, () => store.setMember(THREAD, "bob", role), `the call after ${role} was set`);
    }
  }),

  contractCase(
    "STORE-ACC-4: watchers on another handle are called soon, also where only the role is another",
    async ({ store, second, soon }) => {
      await begin(store, THREAD, "r1");
      const other = await second();
      await other.open();
      for (const [role, told] of [
        ["observer", "bob:observer"],
        ["collaborator", "bob:collaborator"],
        [null, ""],
      ] as const) {
        const seen = seenByWatcher(other, THREAD, async () => asText(await other.members(THREAD)) === told);
        await store.setMember(THREAD, "bob", role);
        await soon(seen, `the call after ${role} was set`);
      }
    },
    "reader",
  ),
];

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

/** Cases of owners and members, of lists for a user, and of `runningBy`. */
export const accessCases = [...ownerCases, ...memberCases, ...sideCases, ...listCases, ...countCases];

/** STORE-ACC: whose a thread is, who else may do something with it, and what each of them is told. */
import type { Member, Store, ThreadKey } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import { HARD_IDS } from "./hard-texts.ts";
import { called } from "./queue-cases.ts";
import {
  FINISHED,
  THREAD,
  begin,
  claimOf,
  commit,
  dumpOf,
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

/** Who of these users may do something with a thread, and what. */
export async function rolesIn(store: Store, key: ThreadKey, users: readonly string[]): Promise<readonly string[]> {
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

/** Cases of owners and members. */
export const accessCases = [...ownerCases, ...memberCases, ...sideCases];

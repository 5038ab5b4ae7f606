/** STORE-TCL: a frontend call is executed by one tab or device at a time. */
import type { Store, ThreadKey, ToolCallClaim } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import { LONG_LEASE_MS, THREAD, begin, viewOf } from "./scenario.ts";

const ask = (
  store: Store,
  holder: string,
  {
    leaseMs = LONG_LEASE_MS,
    toolCallId = "call",
    key = THREAD,
  }: { leaseMs?: number; toolCallId?: string; key?: ThreadKey } = {},
): Promise<ToolCallClaim> => store.claimToolCall({ ...key, toolCallId, holder, leaseMs });

/** Cases of `claimToolCall`. */
export const toolCallCases = [
  contractCase("STORE-TCL-1: a call has one holder, who can renew and let go of it", async ({ store }) => {
    await begin(store, THREAD, "r1");
    const before = await store.nowMs();
    const held = await ask(store, "tab 1");
    check(held.type === "held", `the first is answered ${held.type}`);
    check(
      held.untilMs >= before + LONG_LEASE_MS && held.untilMs <= (await store.nowMs()) + LONG_LEASE_MS,
      `the claim holds until ${held.untilMs}`,
    );
    checkSame(await ask(store, "tab 2"), { type: "taken", untilMs: held.untilMs }, "another");
    checkSame((await ask(store, "Tab 1")).type, "taken", "one that is called almost so");
    const renewed = await ask(store, "tab 1", { leaseMs: 2 * LONG_LEASE_MS });
    check(renewed.type === "held" && renewed.untilMs > held.untilMs, "the first, again, is not given more time");
    checkSame(await ask(store, "tab 2"), { type: "taken", untilMs: renewed.untilMs }, "another, after that");
    checkSame((await ask(store, "tab 2", { toolCallId: "Call" })).type, "held", "another call");
    checkSame((await ask(store, "tab 1", { leaseMs: 0 })).type, "held", "letting go");
    checkSame((await ask(store, "tab 2")).type, "held", "another, then");
    checkSame((await ask(store, "tab 1")).type, "taken", "the first, then");
  }),

  contractCase("STORE-TCL-2: a claim ends when its time is over by the store's clock", async ({ store, pass }) => {
    await begin(store, THREAD, "r1");
    await ask(store, "tab 1", { leaseMs: 40 });
    await pass(41);
    const taken = await ask(store, "tab 2");
    checkSame(taken.type, "held", "another, when the time is over");
    checkSame(await ask(store, "tab 1"), { type: "taken", untilMs: taken.untilMs }, "the first, then");
  }),

  contractCase(
    "STORE-TCL-2: a claim outlives the store",
    async ({ store, reopen }) => {
      await begin(store, THREAD, "r1");
      const { untilMs } = await ask(store, "tab 1");
      const again = await reopen();
      checkSame(await ask(again, "tab 2"), { type: "taken", untilMs }, "another, after the store was opened again");
      checkSame((await ask(again, "tab 1")).type, "held", "the first");
    },
    "durable",
  ),

  contractCase(
    "STORE-TCL-2: claims belong to their thread, change nothing else of it, and go with it",
    async ({ store }) => {
      await begin(store, THREAD, "r1");
      const before = await viewOf(store, THREAD);
      await ask(store, "tab 1");
      checkSame(await viewOf(store, THREAD), before, "the thread");
      for (const key of [
        { ...THREAD, threadId: "other" },
        { ...THREAD, tenant: "rival" },
      ]) {
        await checkRejected(ask(store, "tab 2", { key }), "thread-unknown", "a call of no thread");
        await begin(store, key, "r1");
        checkSame((await ask(store, "tab 2", { key })).type, "held", "the same call of another thread");
      }
      checkSame((await ask(store, "tab 2")).type, "taken", "the call after all that");
      await store.deleteThread(THREAD);
      await checkRejected(ask(store, "tab 1"), "thread-unknown", "a call of a deleted thread");
      await begin(store, THREAD, "r1");
      checkSame((await ask(store, "tab 2")).type, "held", "the same call of a new thread of that name");
    },
  ),
];

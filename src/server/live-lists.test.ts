/** Lists that stay up to date, over a store that other processes change too. */
import { onTestFinished, describe, expect, test } from "vitest";
import { beginRun, said, startOf, wholeRun } from "../../test/stored-thread.ts";
import { HeddleError } from "../protocol/index.ts";
import { memoryStore } from "../store/index.ts";
import type { Store } from "../store/index.ts";
import { MAX_WATCHED } from "./list-stretch.ts";
import type { ThreadListChange } from "./list-stretch.ts";
import { LiveLists } from "./live-lists.ts";

const TENANT = "default";

/** A store whose clock ticks with every look at it, unless it is held. */
function clocked(): { readonly store: Store; hold: boolean } {
  let now = 1;
  const state = { hold: false };
  const nowMs = (): number => (state.hold ? now : (now += 1));
  return Object.assign(state, { store: memoryStore({ nowMs }) });
}

const thread = (store: Store, threadId: string, title = threadId): Promise<unknown> =>
  wholeRun(store, { tenant: TENANT, threadId }, "r1", {}, said("m", "Hi")).then(() =>
    store.updateThread({ tenant: TENANT, threadId }, { title }),
  );

function live(store: Store, onTrouble: (error: unknown) => void = () => undefined): LiveLists {
  const lists = new LiveLists(store, { pollMs: 5, onTrouble });
  onTestFinished(() => lists.end());
  return lists;
}

type Watched = AsyncGenerator<ThreadListChange, void, undefined>;

const nextOf = async (watched: Watched): Promise<ThreadListChange> => {
  const { value } = await watched.next();
  if (value === undefined) throw new Error("It ended.");
  return value;
};

/** The next change in short. */
async function told(watched: Watched): Promise<string> {
  const change = await nextOf(watched);
  if (change.type === "page") return `page ${change.threads.map(({ threadId }) => threadId).join(" ")}`;
  return change.type === "gone"
    ? `gone ${change.threadId}`
    : `changed ${change.thread.threadId} ${change.thread.title} ${change.thread.status}`;
}

describe("LiveLists", () => {
  test("a page, then what is new, changes, begins, ends, and goes, each once", async () => {
    const { store } = clocked();
    await thread(store, "a");
    await thread(store, "b");
    const watched = live(store).watch({ tenant: TENANT });
    expect(await told(watched)).toBe("page b a");
    await thread(store, "c");
    expect(await told(watched)).toBe("changed c c finished");
    await store.updateThread({ tenant: TENANT, threadId: "a" }, { title: "A" });
    expect(await told(watched)).toBe("changed a A finished");
    const place = { parentRunId: "r1", kind: "continue" } as const;
    const key = { tenant: TENANT, threadId: "b" };
    await beginRun(store, key, "r2", place, [JSON.stringify(startOf(key, "r2"))]);
    expect(await told(watched)).toBe("changed b b running");
    await store.deleteThread({ tenant: TENANT, threadId: "c" });
    expect(await told(watched)).toBe("gone c");
    await watched.return();
  });

  test("a thread that was deleted and made anew within one look is told as changed", async () => {
    const { store } = clocked();
    await thread(store, "a");
    const watched = live(store).watch({ tenant: TENANT });
    await told(watched);
    await store.deleteThread({ tenant: TENANT, threadId: "a" });
    await thread(store, "a");
    expect(await told(watched)).toBe("changed a a finished");
    await watched.return();
  });

  test("a head that ends within the moment in which it began is not told as running for ever", async () => {
    const clock = clocked();
    const { store } = clock;
    clock.hold = true;
    const key = { tenant: TENANT, threadId: "a" };
    const lease = await beginRun(store, key, "r1", {}, [JSON.stringify(startOf(key, "r1"))]);
    const watched = live(store).watch({ tenant: TENANT });
    expect(await nextOf(watched)).toMatchObject({ threads: [{ status: "running" }] });
    // Now the list itself has seen it running, and at no other time than when it ends.
    await thread(store, "b");
    expect(await told(watched)).toBe("changed b b finished");
    const next = told(watched);
    const ending = JSON.stringify({ type: "RUN_FINISHED", threadId: "a", runId: "r1" });
    const end = { status: "finished", interrupts: [], pendingToolCallIds: [] } as const;
    await store.append([{ lease, number: 1, events: [ending], end }]);
    expect(await next).toBe("changed a undefined finished");
    await watched.return();
  });

  test("what grows without changing is not told", async () => {
    const { store } = clocked();
    const key = { tenant: TENANT, threadId: "a" };
    const lease = await beginRun(store, key, "r1", {}, [JSON.stringify(startOf(key, "r1"))]);
    const watched = live(store).watch({ tenant: TENANT });
    await told(watched);
    const custom = JSON.stringify({ type: "CUSTOM", name: "x", value: 1 });
    await store.append([{ lease, number: 1, events: [custom] }]);
    await thread(store, "b");
    expect(await told(watched)).toBe("changed b b finished");
    await watched.return();
  });

  test("only what is asked for: a thread that no longer fits is gone, one that begins to is told", async () => {
    const { store } = clocked();
    for (const name of ["loom", "heddle"]) await thread(store, name);
    const watched = live(store).watch({ tenant: TENANT, query: "LOOM", archived: false });
    expect(await told(watched)).toBe("page loom");
    await store.updateThread({ tenant: TENANT, threadId: "heddle" }, { title: "Of looms" });
    expect(await told(watched)).toBe("changed heddle Of looms finished");
    await store.updateThread({ tenant: TENANT, threadId: "loom" }, { archived: true });
    expect(await told(watched)).toBe("gone loom");
    await store.updateThread({ tenant: TENANT, threadId: "heddle" }, { title: null });
    expect(await told(watched)).toBe("gone heddle");
    await watched.return();
  });

  test("below the end of the page nothing is told until it moves to the top", async () => {
    const { store } = clocked();
    for (const name of ["a", "b", "c"]) await thread(store, name);
    const watched = live(store).watch({ tenant: TENANT, limit: 2 });
    expect(await nextOf(watched)).toMatchObject({
      threads: [{ threadId: "c" }, { threadId: "b" }],
      next: expect.any(String),
    });
    await store.deleteThread({ tenant: TENANT, threadId: "a" });
    await thread(store, "d");
    expect(await told(watched)).toBe("changed d d finished");
    await store.deleteThread({ tenant: TENANT, threadId: "b" });
    expect(await told(watched)).toBe("gone b");
    await watched.return();
  });

  test("those who ask for the same share the reading, and each is told what it has not", async () => {
    const { store } = clocked();
    let listings = 0;
    const counting: Store = {
      ...store,
      listThreads(request) {
        listings += 1;
        return store.listThreads(request);
      },
    };
    await thread(store, "a");
    const lists = live(counting);
    const first = lists.watch({ tenant: TENANT });
    expect(await told(first)).toBe("page a");
    await thread(store, "b");
    expect(await told(first)).toBe("changed b b finished");
    const second = lists.watch({ tenant: TENANT });
    expect(await told(second)).toBe("page b a");
    expect(lists.size).toBe(1);
    listings = 0;
    const both = [told(first), told(second)];
    await thread(store, "c");
    expect(await Promise.all(both)).toEqual(["changed c c finished", "changed c c finished"]);
    expect(listings).toBeLessThan(20);
    await first.return();
    expect(lists.size).toBe(1);
    await second.return();
    expect(lists.size).toBe(0);
  });

  test("who comes later is not told what was read before it had its page", async () => {
    const { store } = clocked();
    const lists = new LiveLists(store, { pollMs: 600_000, onTrouble: () => undefined });
    onTestFinished(() => lists.end());
    const first = lists.watch({ tenant: TENANT });
    await told(first);
    await thread(store, "a");
    lists.look();
    expect(await told(first)).toBe("changed a a finished");
    await thread(store, "b");
    const second = lists.watch({ tenant: TENANT });
    expect(await told(second)).toBe("page b a");
    const next = told(second);
    await thread(store, "c");
    lists.look();
    expect(await next).toBe("changed c c finished");
  });

  test("who watches a very long list is told no nonsense about what rests below", async () => {
    const { store } = clocked();
    const many = Array.from({ length: MAX_WATCHED + 50 }, (_, index) => `t${index}`);
    for (const name of many) await thread(store, name);
    const watched = live(store).watch({ tenant: TENANT, limit: many.length });
    expect(await nextOf(watched)).toMatchObject({ next: undefined });
    await store.deleteThread({ tenant: TENANT, threadId: "t0" });
    await store.deleteThread({ tenant: TENANT, threadId: many.at(-1) ?? "" });
    expect(await told(watched)).toBe(`gone ${many.at(-1)}`);
    await store.updateThread({ tenant: TENANT, threadId: "t1" }, { title: "back" });
    expect(await told(watched)).toBe("changed t1 back finished");
    await watched.return();
  });

  test("what happened here is looked for at once, and whoever leaves or is sent away gets to the end", async () => {
    const { store } = clocked();
    const lists = new LiveLists(store, { pollMs: 600_000, onTrouble: () => undefined });
    const leaving = new AbortController();
    const [one, other] = [lists.watch({ tenant: TENANT }, leaving.signal), lists.watch({ tenant: TENANT })];
    expect([await told(one), await told(other)]).toEqual(["page ", "page "]);
    const both = [told(one), told(other)];
    await thread(store, "a");
    lists.look();
    expect(await Promise.all(both)).toEqual(["changed a a finished", "changed a a finished"]);
    const left = one.next();
    leaving.abort();
    expect(await left).toEqual({ done: true, value: undefined });
    const sentAway = other.next();
    lists.end();
    expect(await sentAway).toEqual({ done: true, value: undefined });
    expect(lists.size).toBe(0);
  });

  test("trouble that may pass is reported and waited out; anything else ends the list, and the next one begins anew", async () => {
    const { store } = clocked();
    let failure: HeddleError | undefined;
    const failing: Store = {
      ...store,
      listThreads: async (request) => {
        if (failure !== undefined) throw failure;
        return store.listThreads(request);
      },
    };
    const trouble = Promise.withResolvers<unknown>();
    const lists = live(failing, trouble.resolve);
    const watched = lists.watch({ tenant: TENANT });
    await told(watched);
    failure = new HeddleError("store-unavailable", "Away.", {});
    const next = told(watched);
    expect(await trouble.promise).toBe(failure);
    failure = undefined;
    await thread(store, "a");
    expect(await next).toBe("changed a a finished");
    failure = new HeddleError("store-corrupt", "Broken.", {});
    await expect(watched.next()).rejects.toThrow("Broken.");
    failure = undefined;
    const again = lists.watch({ tenant: TENANT });
    expect(await told(again)).toBe("page a");
    await again.return();
  });
});

/** STORE-USE: what a store says that it holds is what it holds. The stores here are small, so every number is exact. */
import type { Store, StoreUsage } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkSame } from "./contract-violation.ts";
import { THREAD, appendOne, begin, commit, dumpOf, runKey, runWhole, settleRun, textOf, textsOf } from "./scenario.ts";

const OTHER = { tenant: "globex", threadId: THREAD.threadId };

/** What is counted, in one line. */
async function countsOf(store: Store): Promise<Pick<StoreUsage, "threads" | "runs" | "queued" | "events">> {
  const { threads, runs, queued, events } = await store.usage();
  return { threads, runs, queued, events };
}

/** What is weighed. Fails where the whole is less than its parts. */
async function bytesOf(store: Store): Promise<Pick<StoreUsage, "rawBytes" | "compactedBytes" | "snapshotBytes">> {
  const { rawBytes, compactedBytes, snapshotBytes, totalBytes } = await store.usage();
  const parts = rawBytes + compactedBytes + snapshotBytes;
  check(totalBytes >= parts, `the whole store takes ${totalBytes} bytes, less than its parts, which take ${parts}`);
  return { rawBytes, compactedBytes, snapshotBytes };
}

const NOTHING = { threads: 0, runs: 0, queued: 0, events: 0 };

/** A text of so many characters that hardly repeat themselves. */
const longText = (chars: number): string =>
  textOf(Array.from({ length: chars / 8 }, (_, index) => ((index * 2_654_435_761) >>> 0).toString(16)).join(""));

/** Cases of `usage`. */
export const usageCases = [
  contractCase("STORE-USE-1: what comes and goes is counted, of all tenants together", async ({ store }) => {
    checkSame(await countsOf(store), NOTHING, "an empty store");
    await runWhole(store, THREAD, "r1");
    const lease = await begin(store, OTHER, "r1");
    checkSame(await countsOf(store), { threads: 2, runs: 2, queued: 0, events: 4 }, "an ended and a running run");
    await commit(store, lease, 1, textsOf("more", 300));
    await appendOne(store, lease, 1, textsOf("more", 300));
    await store.annotate({ ...runKey(THREAD, "r1"), events: [textOf("a note")] });
    await store.enqueue({ ...runKey(OTHER, "r2"), agent: "agent", body: "{}", limit: 2 });
    checkSame(await countsOf(store), { threads: 2, runs: 2, queued: 1, events: 305 }, "with what waits and was noted");
    await begin(store, OTHER, "r2", { ifQueued: true });
    checkSame(await countsOf(store), { threads: 2, runs: 3, queued: 0, events: 306 }, "when that has begun");
    const dump = await dumpOf(store, THREAD);
    await store.importThread({ ...THREAD, threadId: "copy" }, dump);
    checkSame(await countsOf(store), { threads: 3, runs: 4, queued: 0, events: 310 }, "with a copy");
    await store.deleteThread(OTHER);
    checkSame(await countsOf(store), { threads: 2, runs: 2, queued: 0, events: 8 }, "without the long thread");
    await settleRun(store, THREAD, "r1");
    await store.trim((await store.nowMs()) + 1000);
    checkSame(await countsOf(store), { threads: 2, runs: 2, queued: 0, events: 5 }, "without events that were dropped");
  }),

  contractCase("STORE-USE-2: raw events, compacted forms and snapshots are weighed apart", async ({ store }) => {
    const none = { rawBytes: 0, compactedBytes: 0, snapshotBytes: 0 };
    checkSame(await bytesOf(store), none, "an empty store");
    await runWhole(store, THREAD, "r1");
    const raw = await bytesOf(store);
    check(raw.rawBytes > 0, "raw events take nothing");
    checkSame(raw, { ...none, rawBytes: raw.rawBytes }, "a run that is not settled");
    await settleRun(store, THREAD, "r1");
    const settled = await bytesOf(store);
    check(settled.compactedBytes > 0, "the compacted form of a run takes nothing");
    check(settled.snapshotBytes > 0, "the snapshot of a run takes nothing");
    check(settled.rawBytes > 0, "settling takes the raw events away");
    await runWhole(store, OTHER, "r1", { events: [longText(80_000)] });
    const long = await bytesOf(store);
    const more = long.rawBytes - settled.rawBytes;
    check(more > 20_000 && more < 200_000, `80,000 characters that hardly repeat themselves take ${more} bytes`);
    checkSame({ ...long, rawBytes: 0 }, { ...settled, rawBytes: 0 }, "what raw events do not touch");
    await store.trim((await store.nowMs()) + 1000);
    const trimmed = await bytesOf(store);
    const left = trimmed.rawBytes;
    check(left > 20_000 && left < long.rawBytes, `${left} bytes are left when a run has lost its raw events`);
    checkSame({ ...trimmed, rawBytes: 0 }, { ...settled, rawBytes: 0 }, "what retention does not touch");
    await store.deleteThread(THREAD);
    await store.deleteThread(OTHER);
    checkSame(await bytesOf(store), none, "a store whose threads are deleted");
  }),
];

import { describe, expect, test } from "vitest";
import { MERGE_AT_LAST, MergeQueue } from "./merge-queue.ts";
import { MERGE_EVERY } from "./sql-settle.ts";
import type { RunRef } from "./sql-rows.ts";

const refOf = (run: number): RunRef => ({ tenant: 1, thread: 1, run });

/** A merge that says when it begins, and ends when it is told to. */
function slowMerge(): {
  readonly merge: (ref: RunRef) => Promise<void>;
  readonly begun: number[];
  readonly next: () => Promise<number>;
  readonly end: () => void;
} {
  const begun: number[] = [];
  let told = Promise.withResolvers<number>();
  let ending = Promise.withResolvers<void>();
  return {
    begun,
    merge: ({ run }) => {
      begun.push(run);
      told.resolve(run);
      told = Promise.withResolvers();
      return ending.promise;
    },
    next: () => told.promise,
    end: () => {
      ending.resolve();
      ending = Promise.withResolvers();
    },
  };
}

/** Resolves when a queue that was told of a run later has merged it: so long is a pause. */
async function pauseOfAnother(): Promise<void> {
  const { merge, next, end } = slowMerge();
  const queue = new MergeQueue(merge);
  const merged = next();
  queue.tell(refOf(1), MERGE_EVERY);
  await merged;
  end();
  await queue.close();
}

describe("merging beside appends", () => {
  test("waits until no append is under way, and merges one run at a time, each once", async () => {
    const { merge, begun, next, end } = slowMerge();
    const queue = new MergeQueue(merge);
    const append = Promise.withResolvers<void>();
    const appending = queue.during(() => append.promise);
    queue.tell(refOf(1), MERGE_EVERY);
    queue.tell(refOf(2), MERGE_EVERY);
    queue.tell(refOf(1), MERGE_EVERY + 1);
    queue.tell(refOf(3), MERGE_EVERY - 1);
    const first = next();
    await pauseOfAnother();
    expect(begun).toEqual([]);
    append.resolve();
    await appending;
    expect(await first).toBe(1);
    const second = next();
    await pauseOfAnother();
    expect(begun).toEqual([1]);
    end();
    expect(await second).toBe(2);
    end();
    await queue.close();
    expect(begun).toEqual([1, 2]);
  });

  test("does not wait for a pause where too much has gathered", async () => {
    const { merge, begun, end } = slowMerge();
    const queue = new MergeQueue(merge);
    await queue.during(() => {
      queue.tell(refOf(1), MERGE_AT_LAST);
      return Promise.resolve();
    });
    expect(begun).toEqual([1]);
    end();
    await queue.close();
  });

  test("goes on after a merge that failed, and ends when what is under way is done", async () => {
    const { merge, begun, next, end } = slowMerge();
    const queue = new MergeQueue(async (ref) => {
      await merge(ref);
      if (ref.run === 1) throw new Error("The connection broke.");
    });
    const first = next();
    queue.tell(refOf(1), MERGE_EVERY);
    queue.tell(refOf(2), MERGE_EVERY);
    await first;
    const second = next();
    end();
    await second;
    let closed = false;
    const closing = queue.close().then(() => (closed = true));
    await Promise.resolve();
    expect(closed).toBe(false);
    end();
    await closing;
    queue.tell(refOf(3), MERGE_AT_LAST);
    expect(begun).toEqual([1, 2]);
  });
});

/** One worker of a test: claims a run, writes its script through the committer, settles it, and tells what was acknowledged. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { HeddleError } from "../../src/protocol/index.ts";
import type { LineageKind } from "../../src/stream/lineage/index.ts";
import { createPreludeState, prelude, stepPrelude } from "../../src/stream/index.ts";
import { foldBranch, settleRun } from "../../src/store/index.ts";
import type { ClaimResult, Committer, RunKey, RunListener, Store } from "../../src/store/index.ts";
import type { Random } from "../../src/testing/store-contract/random.ts";
import { scriptOf } from "./run-script.ts";

/** Events that a store said are committed. */
export interface Ack {
  readonly threadId: string;
  readonly runId: string;
  readonly firstSeq: number;
  readonly events: readonly string[];
}

/** What to write, and how. */
export interface Writing {
  readonly store: Store;
  readonly committer: Committer;
  readonly key: RunKey;
  readonly parentRunId?: string | undefined;
  readonly kind?: LineageKind | undefined;
  readonly leaseMs: number;
  readonly random: Random;
  /** Told after the store has acknowledged. */
  readonly acked: (ack: Ack) => void;
  /** Awaited before each event. Default: nothing. */
  readonly pace?: () => Promise<void>;
}

/** How it went: written to the end, not claimed, or lost on the way. */
export type Written =
  | { readonly type: "written" }
  | { readonly type: Exclude<ClaimResult["type"], "claimed"> }
  | { readonly type: "lost"; readonly error: unknown };

/** Writes one run. What the store fails with on the way is thrown. */
export async function writeRun(writing: Writing): Promise<Written> {
  const { store, committer, key, parentRunId, kind, leaseMs, random, acked, pace = nextTurn } = writing;
  const { threadId, runId } = key;
  const [started, ...rest] = scriptOf(key);
  const hangs = parentRunId !== undefined && kind !== "spawn";
  const state = hangs ? (await foldBranch(store, { ...key, runId: parentRunId })).state : createPreludeState();
  const stateBefore: unknown = state.reduce.document;
  stepPrelude(state, started);
  const first = JSON.stringify(started);
  const claimed = await store.claim({ ...key, agent: "weaver", parentRunId, kind, leaseMs, events: [first] });
  if (claimed.type !== "claimed") return { type: claimed.type };
  acked({ threadId, runId, firstSeq: claimed.thread.tail, events: [first] });

  let lastSeq = claimed.thread.tail;
  const listener: RunListener = {
    committed: (firstSeq, events) => {
      lastSeq = firstSeq + events.length - 1;
      acked({ threadId, runId, firstSeq, events });
    },
  };
  const begun = { events: [started], jsons: [first], lastSeq, stateBefore };
  const writer = committer.writer(claimed.lease, state, listener, begun);
  try {
    for (const event of rest) {
      await pace();
      await writer.write(event);
      if (random.chance(30)) await writer.flush();
      if (random.chance(3) && !writer.over) {
        await writer.flush();
        await unlessAway(store.saveSnapshot(key, { runId, seq: lastSeq, events: prelude(state) }));
      }
    }
    await writer.flush();
  } catch (error) {
    if (!writer.over) throw error;
    return { type: "lost", error };
  }
  await unlessAway(settleRun(store, key, writer.written()));
  return { type: "written" };
}

/** What nothing hangs on: where the store is away, it is left as a crash would leave it. */
async function unlessAway(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "store-unavailable") throw error;
  }
}

/** What the benchmarks of the log write: words like those of a language, the deltas that carry them, and runs to put them in. */
import type { Event } from "heddle/protocol";
import type { Lease, RunKey, Store } from "heddle/store";

export const TENANT = "bench";
const LEASE_MS = 3_600_000;

/** Numbers that look random and are the same on every run. */
function* numbers(seed = 1): Generator<number, never, undefined> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

const random = numbers();
const SYLLABLES = ["ta", "lo", "mi", "ren", "sha", "ku", "ver", "on", "ist", "el", "dra", "po"];
const VOCABULARY = Array.from({ length: 2000 }, () =>
  Array.from(
    { length: 1 + Math.floor(random.next().value * 3) },
    () => SYLLABLES[Math.floor(random.next().value * 12)],
  ).join(""),
);

/** Words as uneven as those of a language: a few come often, most seldom. */
const TEXT = Array.from({ length: 20_000 }, () => ` ${VOCABULARY[Math.floor(2000 * random.next().value ** 3)]}`);
const words = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => TEXT[(from + index) % TEXT.length]).join("");

/** A piece of a message. */
export const delta = (messageId: string, index: number, wordsEach = 1): Event => ({
  type: "TEXT_MESSAGE_CONTENT",
  messageId,
  delta: words(index * wordsEach, wordsEach),
  timestamp: 1_790_000_000_000 + index * 20 + ((index * 7) % 5),
});

/** How a run begins. */
export const started = (key: RunKey): Event => ({
  type: "RUN_STARTED",
  threadId: key.threadId,
  runId: key.runId,
  timestamp: 1,
});

/** Claims a run. */
export async function claim(store: Store, key: RunKey, parentRunId?: string): Promise<Lease> {
  const claimed = await store.claim({
    ...key,
    agent: "bench",
    leaseMs: LEASE_MS,
    events: [JSON.stringify(started(key))],
    ...(parentRunId !== undefined && { parentRunId, kind: "continue" }),
  });
  if (claimed.type !== "claimed") throw new Error(`The run was not claimed: ${claimed.type}.`);
  return claimed.lease;
}

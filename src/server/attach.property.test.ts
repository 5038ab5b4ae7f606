/** Joining a thread with nothing at every seq of generated conversations: what follows a prelude folds as the whole. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryStream } from "../../test/arbitrary-stream.ts";
import { StreamWriter, commitsOf } from "../../test/stream-writer.ts";
import type { Event } from "../protocol/index.ts";
import { memoryStore } from "../store/index.ts";
import { reduceAll } from "../stream/index.ts";
import { attach } from "./attach.ts";
import type { AttachOptions, LoggedEvent } from "./attach.ts";
import { Hubs } from "./hubs.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const KEY = { tenant: "acme", threadId: "thread" };

/** What a stream comes to, without what a prelude leaves open: whether a call that is opened again counts as answered. */
const fold = (events: readonly Event[]): unknown => ({ ...reduceAll(events), pendingToolCallIds: [] });

async function read(events: AsyncIterator<LoggedEvent>, wanted: number): Promise<readonly Event[]> {
  const seen: Event[] = [];
  for (;;) {
    const { done, value } = await events.next();
    if (done === true) return seen;
    seen.push(value.event);
    if (value.cursor !== undefined && value.seq >= wanted) return seen;
  }
}

/** What parts those who joined from those who were there; nothing where nothing does. */
async function differences(events: readonly Event[], follows: "run" | "branch"): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const store = memoryStore();
  const hubs = new Hubs(store, { pollMs: 5, onTrouble: (error) => found.push(error) });
  const writer = new StreamWriter(store, KEY);
  const joins: { readonly runId: string; readonly events: AsyncIterator<LoggedEvent> }[] = [];
  for (const commit of commitsOf(events)) {
    await writer.write(commit);
    const { runId = "" } = writer;
    const options: AttachOptions = { prelude: true, raw: true, meta: true, ...(follows === "run" && { runId }) };
    joins.push({ runId, events: (await attach(store, hubs, KEY, options)).events[Symbol.asyncIterator]() });
  }
  const { events: logged, tail } = await store.read(KEY, { limit: Infinity, maxChars: Infinity });
  for (const { runId, events: joined } of joins) {
    const last = follows === "branch" ? tail : logged.findLast((event) => event.runId === runId)?.seq;
    const whole = logged.filter(({ seq }) => seq <= (last ?? 0)).map(({ json }): Event => JSON.parse(json));
    const [actual, wanted] = [fold(await read(joined, last ?? 0)), fold(whole)];
    if (!isDeepStrictEqual(actual, wanted)) found.push({ actual, wanted });
    await joined.return?.();
  }
  if (hubs.size > 0) found.push("a hub is left");
  return found;
}

test.each(["run", "branch"] as const)("joining at every seq of a %s folds as the whole", async (follows) => {
  const streams = arbitraryStream({ runs: 2, moves: 12 }).filter(([first]) => first?.type === "RUN_STARTED");
  const property = fc.asyncProperty(streams, async (events) => {
    expect(await differences(events, follows)).toEqual([]);
  });
  await fc.assert(property, { numRuns: Math.ceil(200 * SCALE) });
});

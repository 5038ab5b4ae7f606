/** Joining a thread with nothing at every seq of generated conversations: what follows a prelude folds as the whole. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryStream } from "../../test/arbitrary-stream.ts";
import type { Event } from "../protocol/index.ts";
import { endOf, memoryStore } from "../store/index.ts";
import type { Batch, Lease, Store } from "../store/index.ts";
import { reduceAll } from "../stream/index.ts";
import { attach } from "./attach.ts";
import type { AttachOptions, LoggedEvent } from "./attach.ts";
import { Hubs } from "./hubs.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const KEY = { tenant: "acme", threadId: "thread" };

/** Appends a run's next events, and begins the run where they do. A late failure goes along with what it belies. */
class Writer {
  readonly #store: Store;
  #lease: Lease | undefined;
  #number = 1;
  runId: string | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  async write(events: readonly [Event, ...Event[]]): Promise<void> {
    const [first] = events;
    if (first.type === "RUN_STARTED") return this.#begin(first.runId, first);
    if (this.#lease === undefined) throw new Error("no run");
    const [json, ...rest] = events.map((event) => JSON.stringify(event));
    const batch: Batch = {
      lease: this.#lease,
      number: this.#number++,
      events: [json ?? "", ...rest],
      end: endOf(events),
    };
    const [appended] = await this.#store.append([batch]);
    if (appended?.type !== "committed") throw new Error(appended?.type);
  }

  async #begin(runId: string, started: Event): Promise<void> {
    const parentRunId = this.runId;
    const metadata = {
      ...started.metadata,
      heddle: { lineage: parentRunId === undefined ? {} : { parent: parentRunId } },
    };
    const events = [JSON.stringify({ ...started, metadata })] as const;
    const kind = parentRunId === undefined ? undefined : "continue";
    const claim = await this.#store.claim({ ...KEY, runId, parentRunId, kind, agent: "a", leaseMs: 60_000, events });
    if (claim.type !== "claimed") throw new Error(claim.type);
    this.#lease = claim.lease;
    this.#number = 1;
    this.runId = runId;
  }
}

/** The events, those of one commit together. */
function commitsOf(events: readonly Event[]): readonly (readonly [Event, ...Event[]])[] {
  const commits: [Event, ...Event[]][] = [];
  for (const [index, event] of events.entries()) {
    const before = events[index - 1]?.type;
    const late = event.type === "RUN_ERROR" && (before === "RUN_FINISHED" || before === "RUN_ERROR");
    if (late) commits.at(-1)?.push(event);
    else commits.push([event]);
  }
  return commits;
}

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
  const writer = new Writer(store);
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

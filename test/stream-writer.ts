/** Writes generated events into a store, run by run, as its only worker: for tests of what reads them. */
import type { Event } from "../src/protocol/index.ts";
import { endOf } from "../src/store/index.ts";
import type { Batch, Lease, Store, ThreadKey } from "../src/store/index.ts";

/** Appends a run's next events, and begins the run where they do. A late failure goes along with what it belies. */
export class StreamWriter {
  readonly #store: Store;
  readonly #key: ThreadKey;
  #lease: Lease | undefined;
  #number = 1;
  /** The run that was begun last. */
  runId: string | undefined;

  constructor(store: Store, key: ThreadKey) {
    this.#store = store;
    this.#key = key;
  }

  /** Writes events in one commit. */
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
    const kind = parentRunId === undefined ? undefined : ("continue" as const);
    const asked = { ...this.#key, runId, parentRunId, kind, agent: "a", leaseMs: 60_000, events };
    const claim = await this.#store.claim(asked);
    if (claim.type !== "claimed") throw new Error(claim.type);
    this.#lease = claim.lease;
    this.#number = 1;
    this.runId = runId;
  }
}

/** The events, those of one commit together. */
export function commitsOf(events: readonly Event[]): readonly (readonly [Event, ...Event[]])[] {
  const commits: [Event, ...Event[]][] = [];
  for (const [index, event] of events.entries()) {
    const before = events[index - 1]?.type;
    const late = event.type === "RUN_ERROR" && (before === "RUN_FINISHED" || before === "RUN_ERROR");
    if (late) commits.at(-1)?.push(event);
    else commits.push([event]);
  }
  return commits;
}

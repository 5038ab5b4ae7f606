/**
 * Want 12. The long thread is written to a file by one server and opened on another, which has never seen it. Its memory
 * is what the process holds at its peak beyond what it held before anybody asked. (Compaction of generated streams, by
 * the thousand, is proven beside its source; here it is what a server has stored and sends.)
 */
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { verifyEvents } from "@ag-ui/client";
import type { BaseEvent } from "@ag-ui/core";
import fc from "fast-check";
import type { Event } from "heddle/protocol";
import { compact, reduceAll } from "heddle/stream";
import { from, lastValueFrom, toArray } from "rxjs";
import { expect, test } from "vitest";
import { arbitrarySoup } from "../arbitrary-stream.ts";
import { startGates } from "../gate.ts";
import { startServer } from "../server-process.ts";
import type { ServerProcess } from "../server-process.ts";
import { framesOf, postRun } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { connectTo, eventsIn, eventsOf, verifyAll } from "./thread-log.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const TIMEOUT_MS = 120_000 * Math.max(1, SCALE);
const FILES = ["test/acceptance/long-agent.ts", "test/acceptance/scripted-agents.ts"];
const RUNS = 8;
const EVENTS_PER_RUN = 5000;
const VIEWERS = 20;

/** What the sentence allows. Opening takes 20 ms on two idle cores, and 20 openings at once 50 MB, so noise has room. */
const OPEN_MS = 1000;
const OPEN_BYTES = 100_000_000;

/** What a process holds in memory, now or at its peak. */
async function residentBytes({ child }: ServerProcess, which: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, "utf8");
  return Number(new RegExp(`${which}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
}

/** What a thread's log holds on its branch, with what is usually hidden. */
async function branchOf(url: string, threadId: string): Promise<readonly Event[]> {
  const headers = { accept: "application/json" };
  const answer = await fetch(`${url}/threads/${threadId}/events?raw=true&meta=true`, { headers });
  const { events }: { readonly events: readonly { readonly event: Frame["event"] }[] } = Object(await answer.json());
  return eventsIn(events.map(({ event }) => ({ id: undefined, event })));
}

/** How long it takes until somebody who opens the long thread has its messages: the best of three, for the noise. */
async function openingMs(url: string): Promise<number> {
  const times: number[] = [];
  for (let time = 0; time < 3; time++) {
    const begin = performance.now();
    for await (const { event } of framesOf(await connectTo(url, "long", "t"))) {
      if (event.type === "MESSAGES_SNAPSHOT") break;
    }
    times.push(performance.now() - begin);
  }
  return Math.min(...times);
}

/** Throws where two streams do not fold to the same messages and state; without printing a thread of that length. */
function checkSame(events: readonly Event[], log: readonly Event[]): void {
  const [folded, wanted] = [reduceAll(events), reduceAll(log)];
  expect(folded.messages.map(({ id }) => id)).toEqual(wanted.messages.map(({ id }) => id));
  expect(isDeepStrictEqual(folded.messages, wanted.messages)).toBe(true);
  expect(folded.state).toEqual(wanted.state);
}

/** Compacts a log and has the result judged by us and by the stock client's verifier. */
async function checkCompaction(log: readonly Event[]): Promise<void> {
  for (const mode of ["events", "snapshot"] as const) {
    const compacted = compact(log, { mode });
    verifyAll(compacted);
    checkSame(compacted, log);
    const stock = from(compacted as BaseEvent[]).pipe(verifyEvents(false), toArray());
    expect(await lastValueFrom(stock)).toHaveLength(compacted.length);
  }
}

test(
  "Compaction. A 40,000-event thread opens in under a second under 100 MB of memory, and for any log the compacted stream passes the verifier and folds to the same messages and state as the raw log.",
  async () => {
    const gates = await startGates();
    const store = await sqliteFile();
    const writer = await startServer({ files: FILES, store });
    const post = (url: string, runId: string, props: object): Promise<Response> =>
      postRun(url, "long", { threadId: "t", runId, forwardedProps: { events: EVENTS_PER_RUN, ...props } });
    for (let run = 1; run <= RUNS; run++) {
      expect(await (await post(writer.url, `r${run}`, {})).text()).toContain('"RUN_FINISHED"');
    }
    await writer.stop();

    const server = await startServer({ files: FILES, store });
    const { url } = server;
    const before = await residentBytes(server, "VmRSS");
    expect(await openingMs(url)).toBeLessThan(OPEN_MS);
    const viewers = Array.from({ length: VIEWERS }, async () => eventsOf(await connectTo(url, "long", "t")));
    const views = await Promise.all(viewers);
    expect((await residentBytes(server, "VmHWM")) - before).toBeLessThan(OPEN_BYTES);

    const log = await branchOf(url, "t");
    expect(log.length).toBeGreaterThan(RUNS * EVENTS_PER_RUN);
    for (const events of views) checkSame(events, log);
    await checkCompaction(log);

    // The same in the middle of a run, of whose end there is no snapshot yet.
    const running = await post(url, "live", { gate: `${gates.url}/end` });
    await gates.reached("end");
    expect(await openingMs(url)).toBeLessThan(OPEN_MS);
    const joined = await connectTo(url, "long", "t");
    gates.open("end");
    const [events] = await Promise.all([eventsOf(joined), running.text()]);
    checkSame(events, await branchOf(url, "t"));

    let threads = 0;
    const soups = fc.array(arbitrarySoup(), { minLength: 1, maxLength: 3 });
    const check = async (scripts: readonly (readonly Event[])[]): Promise<void> => {
      const threadId = `soup-${threads++}`;
      for (const [run, script] of scripts.entries()) {
        await (await postRun(url, "scripted", { threadId, runId: `r${run}`, forwardedProps: { script } })).text();
      }
      await checkCompaction(await branchOf(url, threadId));
    };
    await fc.assert(fc.asyncProperty(soups, check), { numRuns: Math.ceil(20 * SCALE) });
  },
  TIMEOUT_MS,
);

/**
 * Somebody who behaves, on a server that others try to break: has run after run of the agent `load`, and every one has
 * to be complete and exact, in the stream as in the log, with no connection cut.
 */
import { framesOf, postRun } from "./sse-client.ts";
import type { Frame } from "./sse-client.ts";

/** A witness at work. */
export interface Witness {
  /** Resolves when the first runs are done. */
  readonly warmedUp: Promise<void>;
  /** Stops after the run that is under way, and gives the number of runs. Rejects where anything was disturbed. */
  finish(): Promise<number>;
}

const WORDS = 40;
const EXPECTED = Array.from({ length: WORDS }, (_, index) => `t${index + 1}`).join(" ");
const WARM_UP_RUNS = 3;

/** Sets a witness to work. */
export function witness(url: string): Witness {
  const warm = Promise.withResolvers<void>();
  const over = new AbortController();
  const work = async (): Promise<number> => {
    let runs = 0;
    for (; !over.signal.aborted; runs++) {
      await runOnce(url, `witness ${runs}`);
      if (runs === WARM_UP_RUNS) warm.resolve();
    }
    return runs;
  };
  const done = work();
  done.catch(warm.reject);
  return {
    warmedUp: warm.promise,
    finish() {
      over.abort();
      return done;
    },
  };
}

async function runOnce(url: string, threadId: string): Promise<void> {
  const response = await postRun(url, "load", { threadId, runId: "r", forwardedProps: { tokens: WORDS } });
  const seen: Frame[] = [];
  for await (const frame of framesOf(response)) seen.push(frame);
  const log = await fetch(`${url}/threads/${encodeURIComponent(threadId)}/events?run=r`, {
    headers: { accept: "application/json" },
  });
  const { events }: { events: object[] } = Object(await log.json());
  const said = seen.map(({ event }) => event["delta"] ?? "").join("");
  const seqs = seen.map(({ id }) => Number(id?.split("_")[1]));
  const logged = events.map((each) =>
    JSON.stringify({ id: Reflect.get(each, "id"), event: Reflect.get(each, "event") }),
  );
  check(threadId, "the text", said, EXPECTED);
  check(threadId, "the end", seen.at(-1)?.event.type, "RUN_FINISHED");
  check(threadId, "the cursors", seqs.join(), seen.map((_, index) => index + 1).join());
  check(threadId, "the log", logged.join("\n"), seen.map((frame) => JSON.stringify(frame)).join("\n"));
}

function check(threadId: string, what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${threadId}: ${what} is ${String(found)}, not ${String(expected)}`);
}

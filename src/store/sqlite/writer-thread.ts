/** The thread in which the writer of a SQLite file works: one request after the other, tidying up in between. */
import { parentPort, workerData } from "node:worker_threads";
import { HeddleError } from "../../protocol/index.ts";
import { PAUSE_MS } from "../sql/merge-queue.ts";
import { openSqliteWriter } from "./sqlite-writer.ts";
import type { SqliteWriter } from "./sqlite-writer.ts";
import type { FromThread, ToThread } from "./writer-messages.ts";

const port = parentPort;
if (port === null) throw new Error("This module is the inside of a worker thread.");
const inbox: ToThread[] = [];
let working = false;
let writer: SqliteWriter | undefined;

/** Tidying waits for a pause, so that it holds up nobody, unless too much has gathered. */
let pause: NodeJS.Timeout | undefined;

port.on("message", (message: ToThread) => {
  inbox.push(message);
  void work();
});

async function work(): Promise<void> {
  if (working) return;
  working = true;
  clearTimeout(pause);
  for (let next = inbox.shift(); next !== undefined; next = inbox.shift()) {
    await answer(next);
    if (writer?.isOverdue === true) await tidied();
  }
  working = false;
  pause = setTimeout(() => void tidyUp(), PAUSE_MS).unref();
}

/** Tidies up piece by piece; requests that come meanwhile go first. */
async function tidyUp(): Promise<void> {
  if (working) return;
  working = true;
  const more = await tidied();
  working = false;
  if (inbox.length > 0) void work();
  else if (more) setImmediate(() => void tidyUp());
}

const say = (message: FromThread): void => port?.postMessage(message);

async function answer({ id, method, args }: ToThread): Promise<void> {
  try {
    say({ id, value: await run(method, args) });
  } catch (error) {
    say({ id, failure: failureOf(error) });
  }
}

async function run(method: ToThread["method"], args: readonly unknown[]): Promise<unknown> {
  if (method === "open") {
    writer = await openSqliteWriter(workerData);
    return undefined;
  }
  if (method === "close") {
    writer?.close();
    writer = undefined;
    return undefined;
  }
  if (writer === undefined) throw new HeddleError("store-closed", "The store was closed: open a new one.", {});
  return Reflect.apply(writer[method], writer, args);
}

/** What is left untidied only takes more room; the next merge takes it along. */
async function tidied(): Promise<boolean> {
  try {
    return (await writer?.tidy()) ?? false;
  } catch {
    return false;
  }
}

function failureOf(error: unknown): NonNullable<FromThread["failure"]> {
  if (error instanceof HeddleError) return { code: error.code, message: error.message, details: error.details };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: "internal-error", message, details: {} };
}

/**
 * `heddle threads`: what is in a store. Reading works beside a running server. Writing to a SQLite file does not, because
 * a file has one writer: then the way is through that server.
 */
import { parseArgs } from "node:util";
import type { ParseArgsOptionsConfig } from "node:util";
import { HeddleError } from "../protocol/index.ts";
import { DEFAULT_TENANT } from "../server/index.ts";
import { exportThread, importThread, splitLines } from "../store/index.ts";
import type { Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import { confirm } from "./confirm.ts";
import { storeOf } from "./open-store.ts";
import { Progress } from "./progress.ts";
import { DEFAULT_STORE, readStore, wrongValue } from "./settings.ts";
import type { Environment } from "./settings.ts";
import { readBytes, writeToFile, writeToOutput } from "./thread-files.ts";
import { openEnds, printable, threadDetails, threadTable } from "./thread-text.ts";
import type { ListedThread } from "./thread-text.ts";

const HELP = `Usage: heddle threads <what> [options]

  ls                   List threads, the most recently changed first
  show <thread>        One thread: its runs as a tree, open questions, pending tool calls
  export <thread>      Write a thread as lines of JSON
  import <file>        Make a thread of such lines; "-" is the standard input
  rm <thread>          Delete a thread with all that it holds

Options:
  --store S      Where the log is kept: sqlite:<file> or postgres://…
                 Default ${DEFAULT_STORE}. Also HEDDLE_STORE
  --server URL   Go through a running server. Not available yet in this version
  --tenant T     Whose threads. Default ${DEFAULT_TENANT}
  --json         ls, show, import and rm: print JSON; ls prints one thread a line
  --query Q      ls: only threads whose id or title contains this
  --archived     ls: those that are put away, instead of those that are not
  --limit N      ls: at most so many. Default 50; with --json all
  -o, --output FILE
                 export: write to a file instead of the standard output
  --as ID        import: under another id
  --yes          rm: do not ask
  --help         Show this help

Reading works beside a running server. On a SQLite file that a server has open, import and rm are refused.`;

const COMMON = {
  store: { type: "string" },
  server: { type: "string" },
  tenant: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const satisfies ParseArgsOptionsConfig;

/** What every command was asked. */
interface Asked {
  readonly store?: string | undefined;
  readonly server?: string | undefined;
  readonly tenant?: string | undefined;
  readonly json?: boolean | undefined;
  readonly help?: boolean | undefined;
}

/** Runs one of the commands on threads. */
export async function threadsCommand(args: readonly string[], env: Environment): Promise<number> {
  const [what, ...rest] = args;
  switch (what) {
    case "ls":
      return listCommand(rest, env);
    case "show":
      return showCommand(rest, env);
    case "export":
      return exportCommand(rest, env);
    case "import":
      return importCommand(rest, env);
    case "rm":
      return removeCommand(rest, env);
    case "--help":
    case "-h":
      return help();
    default:
      console.error(what === undefined ? HELP : `heddle: there is no command ${JSON.stringify(`threads ${what}`)}.`);
      return 2;
  }
}

function help(): number {
  console.log(HELP);
  return 0;
}

const PAGE = 200;
const DEFAULT_LIMIT = 50;

async function listCommand(args: readonly string[], env: Environment): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { ...COMMON, query: { type: "string" }, archived: { type: "boolean" }, limit: { type: "string" } },
  });
  if (values.help === true) return help();
  const json = values.json === true;
  const limit = readLimit(values.limit) ?? (json ? Infinity : DEFAULT_LIMIT);
  const request = { tenant: tenantOf(values), query: values.query, archived: values.archived === true };
  return withStore(values, env, { readOnly: true }, async (store) => {
    const listed: ListedThread[] = [];
    let after: string | undefined;
    for (let left = limit; left > 0;) {
      const page = await store.listThreads({ ...request, after, limit: Math.min(PAGE, left) });
      const threads = await Promise.all(page.threads.map((thread) => withStatus(store, thread)));
      if (json) for (const thread of threads) console.log(JSON.stringify(thread));
      else listed.push(...threads);
      left -= threads.length;
      after = page.next;
      if (after === undefined) break;
    }
    if (json) return 0;
    console.log(listed.length === 0 ? "No threads." : threadTable(listed));
    if (after !== undefined) console.log(`There are more than these ${limit}: ask with --limit or --query.`);
    return 0;
  });
}

async function withStatus(store: Store, thread: ThreadInfo): Promise<ListedThread> {
  const { head } = thread;
  return { ...thread, status: head === undefined ? undefined : (await store.run({ ...thread, runId: head }))?.status };
}

function readLimit(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw wrongValue({ setting: "--limit", value }, "a whole number from 1 on");
}

async function showCommand(args: readonly string[], env: Environment): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: COMMON });
  if (values.help === true) return help();
  const key = { tenant: tenantOf(values), threadId: onlyOne(positionals, "the id of a thread") };
  return withStore(values, env, { readOnly: true }, async (store) => {
    const thread = await threadOf(store, key);
    const runs = await store.runs(key);
    if (values.json === true) console.log(JSON.stringify({ ...thread, runs, open: openEnds(runs) }, undefined, 2));
    else console.log(threadDetails(thread, runs));
    return 0;
  });
}

async function exportCommand(args: readonly string[], env: Environment): Promise<number> {
  const options = { ...COMMON, output: { type: "string", short: "o" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  if (values.help === true) return help();
  const key = { tenant: tenantOf(values), threadId: onlyOne(positionals, "the id of a thread") };
  const { output = "-" } = values;
  return withStore(values, env, { readOnly: true }, async (store) => {
    // A thread that is not there leaves no file.
    const { tail, floor } = await threadOf(store, key);
    const progress = new Progress();
    const lines = counted(exportThread(store, key), (done) => progress.show("Exporting", done, tail - floor));
    try {
      if (output === "-") await writeToOutput(lines);
      else await writeToFile(output, lines);
    } finally {
      progress.end();
    }
    return 0;
  });
}

async function importCommand(args: readonly string[], env: Environment): Promise<number> {
  const options = { ...COMMON, as: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  if (values.help === true) return help();
  if (values.as === "") throw wrongValue({ setting: "--as", value: "" }, "the id of a thread");
  const place = { tenant: tenantOf(values), threadId: values.as };
  const { chunks, bytes } = await readBytes(onlyOne(positionals, "the name of a file"));
  return withStore(values, env, { readOnly: false }, async (store) => {
    const progress = new Progress();
    const read = measured(chunks, (done) => progress.show("Reading", done, bytes));
    const onSettled = (done: number, runs: number): void => progress.show("Settling runs", done, runs);
    const imported = await importThread(store, place, splitLines(read), { onSettled }).finally(() => progress.end());
    if (values.json === true) console.log(JSON.stringify(imported));
    else {
      const { threadId, runs, events, closedRunIds } = imported;
      const closed = closedRunIds.length === 0 ? "" : `, and closed ${countOf(closedRunIds.length, "run")} as lost`;
      console.log(`Imported ${printable(threadId)}: ${countOf(runs, "run")}, ${countOf(events, "event")}${closed}`);
    }
    return 0;
  });
}

async function removeCommand(args: readonly string[], env: Environment): Promise<number> {
  const options = { ...COMMON, yes: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  if (values.help === true) return help();
  const key = { tenant: tenantOf(values), threadId: onlyOne(positionals, "the id of a thread") };
  // Looked for without the lock: a question may stay unanswered for long, and a database is not made for what is not in it.
  const { tail } = await withStore(values, env, { readOnly: true }, (store) => threadOf(store, key));
  const agreed = values.yes ?? (await confirm(`Delete ${printable(key.threadId)} with ${countOf(tail, "event")}?`));
  if (agreed === undefined) throw nobodyToAsk();
  if (!agreed) return 1;
  return withStore(values, env, { readOnly: false }, async (store) => {
    const deleted = await store.deleteThread(key);
    if (!deleted) throw unknown(key);
    console.log(values.json === true ? JSON.stringify({ threadId: key.threadId, deleted }) : "Deleted.");
    return 0;
  });
}

/** Works with the store that is asked for, which opens on its first use, and closes it. */
async function withStore<T>(
  asked: Asked,
  env: Environment,
  { readOnly }: { readonly readOnly: boolean },
  work: (store: Store) => Promise<T>,
): Promise<T> {
  if (asked.server !== undefined) throw noServerYet(asked.server);
  const setting = readStore(asked.store, env);
  if (setting.value === "memory:") {
    throw wrongValue(setting, "sqlite:<file> or postgres://…, for what is in memory belongs to its process alone");
  }
  const store = await storeOf(setting, { readOnly });
  try {
    return await work(store);
  } catch (error) {
    throw error instanceof HeddleError && error.code === "store-locked" ? throughServer(error) : error;
  } finally {
    await store.close();
  }
}

function nobodyToAsk(): HeddleError {
  const message = "There is no terminal to ask in whether to delete the thread: say --yes.";
  return new HeddleError("config-invalid", message, { setting: "--yes", expected: "--yes", received: "nothing" });
}

function noServerYet(url: string): HeddleError {
  const message = "--server is not available yet in this version: name the store with --store.";
  return new HeddleError("config-invalid", message, { setting: "--server", expected: "nothing", received: url });
}

function throughServer(error: HeddleError): HeddleError {
  const file = "file" in error.details ? String(error.details.file) : "this database";
  const message =
    `Another process writes to ${file}: stop it first, or go through it with --server <url>, ` +
    "which is not available yet in this version.";
  return new HeddleError("store-locked", message, { file }, { cause: error });
}

async function threadOf(store: Store, key: ThreadKey): Promise<ThreadInfo> {
  const thread = await store.thread(key);
  if (thread === undefined) throw unknown(key);
  return thread;
}

function unknown({ tenant, threadId }: ThreadKey): HeddleError {
  const message = `There is no thread ${printable(threadId)} of the tenant ${printable(tenant)}: "heddle threads ls" lists them.`;
  return new HeddleError("thread-unknown", message, { threadId });
}

const tenantOf = ({ tenant = DEFAULT_TENANT }: Asked): string => tenant;

function onlyOne(positionals: readonly string[], expected: string): string {
  const [first, ...others] = positionals;
  if (first !== undefined && others.length === 0) return first;
  const received = positionals.length === 0 ? "nothing" : `${positionals.length} of them`;
  const message = `Expected ${expected}, received ${received}. "heddle threads --help" explains.`;
  throw new HeddleError("config-invalid", message, { setting: "argument", expected, received });
}

const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** The lines as they come, counted. */
async function* counted(lines: AsyncIterable<string>, seen: (done: number) => void): AsyncGenerator<string> {
  let done = 0;
  for await (const line of lines) {
    yield line;
    done += 1;
    if (done % 256 === 0) seen(done);
  }
}

/** The bytes as they come, counted. */
async function* measured(chunks: AsyncIterable<Uint8Array>, seen: (done: number) => void): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const chunk of chunks) {
    yield chunk;
    done += chunk.length;
    seen(done);
  }
}

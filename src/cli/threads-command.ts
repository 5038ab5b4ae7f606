/**
 * `heddle threads`: what is in a store, or on a server. Reading a store works beside a running server. Writing to a SQLite
 * file does not, because a file has one writer: then the way is through that server.
 */
import { parseArgs } from "node:util";
import type { ParseArgsOptionsConfig } from "node:util";
import { HeddleError } from "../protocol/index.ts";
import { DEFAULT_TENANT } from "../server/index.ts";
import { confirm } from "./confirm.ts";
import { storeOf } from "./open-store.ts";
import { Progress } from "./progress.ts";
import { serverThreads } from "./server-threads.ts";
import { DEFAULT_STORE, readStore, wrongValue } from "./settings.ts";
import type { Environment } from "./settings.ts";
import { storeThreads } from "./store-threads.ts";
import { readBytes, writeToFile, writeToOutput } from "./thread-files.ts";
import { openEnds, printable, threadDetails, threadTable } from "./thread-text.ts";
import type { ListedThread, ThreadSource } from "./thread-source.ts";

const HELP = `Usage: heddle threads <what> [options]

  ls                   List threads, the most recently changed first
  show <thread>        One thread: its runs as a tree, open questions, pending tool calls
  export <thread>      Write a thread as lines of JSON
  import <file>        Make a thread of such lines; "-" is the standard input
  rm <thread>          Delete a thread with all that it holds

Options:
  --store S      Where the log is kept: sqlite:<file> or postgres://…
                 Default ${DEFAULT_STORE}. Also HEDDLE_STORE
  --server URL   Go through a running server, in place of a store; HEDDLE_TOKEN is what it
                 is shown where it asks who calls
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

Reading works beside a running server. On a SQLite file that a server has open, import and rm
are refused: go through that server.`;

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
  const request = { query: values.query, archived: values.archived === true };
  return withThreads(values, env, { readOnly: true }, async (source) => {
    const listed: ListedThread[] = [];
    let after: string | undefined;
    for (let left = limit; left > 0;) {
      const { threads, next } = await source.list({ ...request, after, limit: Math.min(PAGE, left) });
      if (json) for (const thread of threads) console.log(JSON.stringify(thread));
      else listed.push(...threads);
      left -= threads.length;
      after = next;
      if (after === undefined) break;
    }
    if (json) return 0;
    console.log(listed.length === 0 ? "No threads." : threadTable(listed));
    if (after !== undefined) console.log(`There are more than these ${limit}: ask with --limit or --query.`);
    return 0;
  });
}

function readLimit(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw wrongValue({ setting: "--limit", value }, "a whole number from 1 on");
}

async function showCommand(args: readonly string[], env: Environment): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: COMMON });
  if (values.help === true) return help();
  const threadId = onlyOne(positionals, "the id of a thread");
  return withThreads(values, env, { readOnly: true }, async (source) => {
    const thread = await source.thread(threadId);
    if (values.json === true) console.log(JSON.stringify({ ...thread, open: openEnds(thread.runs) }, undefined, 2));
    else console.log(threadDetails(thread));
    return 0;
  });
}

async function exportCommand(args: readonly string[], env: Environment): Promise<number> {
  const options = { ...COMMON, output: { type: "string", short: "o" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  if (values.help === true) return help();
  const threadId = onlyOne(positionals, "the id of a thread");
  const { output = "-" } = values;
  return withThreads(values, env, { readOnly: true }, async (source) => {
    // A thread that is not there leaves no file.
    const { tail, floor } = await source.thread(threadId);
    const progress = new Progress();
    const lines = counted(source.export(threadId), (done) => progress.show("Exporting", done, tail - floor));
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
  const { chunks, bytes } = await readBytes(onlyOne(positionals, "the name of a file"));
  return withThreads(values, env, { readOnly: false }, async (source) => {
    const progress = new Progress();
    const read = measured(chunks, (done) => progress.show("Reading", done, bytes));
    const onSettled = (done: number, runs: number): void => progress.show("Settling runs", done, runs);
    const given = { chunks: read, threadId: values.as, onSettled };
    const imported = await source.import(given).finally(() => progress.end());
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
  const threadId = onlyOne(positionals, "the id of a thread");
  // Looked for without the lock: a question may stay unanswered for long, and a database is not made for what is not in it.
  const { tail } = await withThreads(values, env, { readOnly: true }, (source) => source.thread(threadId));
  const agreed = values.yes ?? (await confirm(`Delete ${printable(threadId)} with ${countOf(tail, "event")}?`));
  if (agreed === undefined) throw nobodyToAsk();
  if (!agreed) return 1;
  return withThreads(values, env, { readOnly: false }, async (source) => {
    await source.remove(threadId);
    console.log(values.json === true ? JSON.stringify({ threadId, deleted: true }) : "Deleted.");
    return 0;
  });
}

/** Works with the threads that are asked for, and lets go of them. */
async function withThreads<T>(
  asked: Asked,
  env: Environment,
  { readOnly }: { readonly readOnly: boolean },
  work: (source: ThreadSource) => Promise<T>,
): Promise<T> {
  const source =
    asked.server === undefined ? await storeSource(asked, env, readOnly) : serverSource(asked.server, asked, env);
  try {
    return await work(source);
  } catch (error) {
    throw error instanceof HeddleError && error.code === "store-locked" ? throughServer(error) : error;
  } finally {
    await source.close();
  }
}

/** The store opens on its first use. */
async function storeSource(asked: Asked, env: Environment, readOnly: boolean): Promise<ThreadSource> {
  const setting = readStore(asked.store, env);
  if (setting.value === "memory:") {
    throw wrongValue(setting, "sqlite:<file> or postgres://…, for what is in memory belongs to its process alone");
  }
  return storeThreads(await storeOf(setting, { readOnly }), asked.tenant ?? DEFAULT_TENANT);
}

function serverSource(url: string, { store, tenant }: Asked, env: Environment): ThreadSource {
  if (store !== undefined) throw wrongValue({ setting: "--store", value: store }, "nothing beside --server");
  if (tenant !== undefined) throw wrongValue({ setting: "--tenant", value: tenant }, "nothing beside --server");
  return serverThreads(url, env["HEDDLE_TOKEN"] || undefined);
}

function nobodyToAsk(): HeddleError {
  const message = "There is no terminal to ask in whether to delete the thread: say --yes.";
  return new HeddleError("config-invalid", message, { setting: "--yes", expected: "--yes", received: "nothing" });
}

function throughServer(error: HeddleError): HeddleError {
  const file = "file" in error.details ? String(error.details.file) : "this database";
  const message = `Another process writes to ${file}: stop it first, or go through it with --server <url>.`;
  return new HeddleError("store-locked", message, { file }, { cause: error });
}

function onlyOne(positionals: readonly string[], expected: string): string {
  const [first, ...others] = positionals;
  if (first !== undefined && others.length === 0) return first;
  const received = positionals.length === 0 ? "nothing" : `${positionals.length} of them`;
  const message = `Expected ${expected}, received ${received}. "heddle threads --help" explains.`;
  throw new HeddleError("config-invalid", message, { setting: "argument", expected, received });
}

const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** The text as it comes, its lines counted. */
async function* counted(texts: AsyncIterable<string>, seen: (done: number) => void): AsyncGenerator<string> {
  let done = 0;
  let told = 0;
  for await (const text of texts) {
    yield text;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) done += 1;
    if (done - told < 256) continue;
    told = done;
    seen(done);
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

/**
 * The rows of DESIGN 12 on the client: from the socket to what an application reads, against the published client; the first
 * event of a run; long answers; size and start; and a page that stays smooth.
 */
import { execFileSync } from "node:child_process";
import { gzipSync } from "node:zlib";
import { HttpAgent } from "@ag-ui/client";
import { build } from "esbuild";
import { connect } from "heddle/client";
import type { Thread } from "heddle/client";
import { Child } from "./child.ts";
import { longestTask } from "./client-browser.ts";
import { comparePerUnit, compareTimes, figure } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { inTurn } from "./in-turn.ts";
import { Conversation, newId, ours } from "./server-runs.ts";
import { history } from "./workloads.ts";

/** Rows on the client. */
export async function clientRows(effort: Effort): Promise<readonly Row[]> {
  const player = await Child.start("client-child.ts");
  const server = await Child.start("server-child.ts");
  try {
    return await inTurn([
      () => endToEnd(player, effort),
      () => linear(player, effort),
      () => firstEvent(server, effort),
      () => start(effort),
      size,
      () => longestTask(server, effort),
    ]);
  } finally {
    await player.stop();
    await server.stop();
  }
}

/** One answer, as an application reads it: whenever something is new, all of its text. */
async function readAnswer({ url }: Child, deltas: number): Promise<number> {
  const client = connect(url);
  const thread = client.thread("thread-1");
  let read = 0;
  thread.subscribe(() => (read += lastCode(thread.messages.at(-1)?.content)));
  const run = thread.run("words", { messages: [], forwardedProps: { deltas } }, { runId: "run-w1" });
  const { status } = await run.finished;
  client.close();
  if (status !== "finished") throw new Error(`The run ended as ${status}.`);
  return read;
}

const lastCode = (text: unknown): number =>
  typeof text === "string" && text.length > 0 ? text.charCodeAt(text.length - 1) : 0;

/** The same with the published client. */
async function readByPeer({ url }: Child, deltas: number): Promise<number> {
  const agent = new HttpAgent({ url: `${url}/agents/words`, threadId: "thread-1" });
  let read = 0;
  const onMessagesChanged = (): void => void (read += lastCode(agent.messages.at(-1)?.content));
  await agent.runAgent({ runId: "run-w1", forwardedProps: { deltas } }, { onMessagesChanged });
  return read;
}

async function endToEnd(player: Child, effort: Effort): Promise<Row> {
  const deltas = effort.quick ? 2000 : 10_000;
  // An engine takes a few answers to know the way.
  for (let round = 0; round < 6; round++) await readAnswer(player, deltas);
  for (let round = 0; round < 2; round++) await readByPeer(player, deltas);
  return comparePerUnit(
    { what: `${deltas / 1000}k deltas by SSE, 16 a write, text read`, peer: "HttpAgent", kind: "faster", target: 8 },
    { units: deltas, work: () => readAnswer(player, deltas) },
    { units: deltas, work: () => readByPeer(player, deltas) },
    { ...effort, sliceMs: effort.sliceMs * 5 },
  );
}

/** A token costs the same in a long answer and in one twice as long. */
function linear(player: Child, effort: Effort): Promise<Row> {
  const deltas = effort.quick ? 10_000 : 50_000;
  return comparePerUnit(
    {
      what: `a token of ${(2 * deltas) / 1000}k by SSE, text read`,
      peer: `one of ${deltas / 1000}k`,
      kind: "cost",
      target: 1.2,
    },
    { units: 2 * deltas, work: () => readAnswer(player, 2 * deltas) },
    { units: deltas, work: () => readAnswer(player, deltas) },
    { ...effort, sliceMs: effort.sliceMs * 10 },
  );
}

/**
 * The first event of a run in a thread of 2,000 messages, which both know. Ours posts what is new; the other is what a page
 * does without a client: it posts all of it, by `fetch`.
 */
async function firstEvent(server: Child, effort: Effort): Promise<Row> {
  const held = history(2000);
  const known = new Conversation(held);
  await known.talk(server, 1);
  const client = connect(server.url);
  const thread = client.thread(newId("thread"));
  await askOnce(thread, held);
  const row = await compareTimes(
    { what: "first event, a thread of 2,000 messages", peer: "fetch that posts them all", kind: "cost", target: 1.2 },
    async () => {
      await server.ask("settled");
      return askOnce(thread);
    },
    async () => {
      await server.ask("settled");
      return fetchOnce(server, known);
    },
    { rounds: effort.rounds, samples: effort.quick ? 3 : 7 },
  );
  client.close();
  return row;
}

async function askOnce(thread: Thread, before: readonly object[] = []): Promise<number> {
  const began = performance.now();
  const asked = { id: newId("ask"), role: "user", content: "And then — what did the loom do?" } as const;
  const messages = [...JSON.parse(JSON.stringify(before)), asked];
  const run = thread.run("words", { messages, forwardedProps: { deltas: 1 } });
  let ms: number | undefined;
  for await (const _ of run) ms ??= performance.now() - began;
  return ms ?? NaN;
}

async function fetchOnce(server: Child, known: Conversation): Promise<number> {
  const began = performance.now();
  const { body } = await fetch(ours(server), {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: known.ask(1),
  });
  let ms: number | undefined;
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    ms ??= performance.now() - began;
    text += decoder.decode(chunk, { stream: true });
  }
  known.hear(text);
  return ms ?? NaN;
}

/** How long an import takes, in a process of its own. */
function importMs(name: string): number {
  const code = `const began = performance.now(); await import("${name}"); console.log(performance.now() - began);`;
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }));
}

const start = (effort: Effort): Promise<Row> =>
  compareTimes(
    { what: "import of the client", peer: "@ag-ui/client", kind: "faster", target: 8 },
    async () => importMs("heddle/client"),
    async () => importMs("@ag-ui/client"),
    { rounds: Math.min(effort.rounds, 5), samples: 3 },
  );

async function size(): Promise<Row> {
  const { outputFiles } = await build({
    stdin: { contents: 'export * from "heddle/client";', resolveDir: ".", loader: "js" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
    logLevel: "silent",
  });
  const gzipped = gzipSync(outputFiles[0]?.text ?? "", { level: 9 }).length;
  return figure("size of the client, gzipped, with all it needs", "kB", gzipped / 1000, 20);
}

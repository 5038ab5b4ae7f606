/** Rows on whole runs: W1 through the server, the 100th run of a thread, opening a thread of 100 runs. */
import { comparePerUnit, compareTimes, notMeasured } from "./compare.ts";
import type { Effort, Row, RowPlan } from "./compare.ts";
import type { Child } from "./child.ts";
import { postForText, postToEnd, timeOf } from "./post.ts";
import { history } from "./workloads.ts";

/** A message as it is posted. */
interface Posted {
  readonly id: string;
  readonly role: string;
  readonly content: string;
}

let minted = 0;
/** An id that was not there before. */
export const newId = (kind: string): string => `${kind}-${process.pid}-${++minted}`;

/** A run on our server, or a connection to it. */
export const ours = ({ url }: Child, more = ""): string => `${url}/agents/words${more}`;
const theirs = ({ url }: Child, what: "run" | "connect"): string => `${url}/agent/words/${what}`;

/** A body that every server here takes. */
export function bodyOf(threadId: string, messages: readonly object[], order: object, runId = newId("run")): string {
  const frame = { threadId, runId, protocolVersion: "1.0" };
  return JSON.stringify({ ...frame, messages, state: {}, tools: [], context: [], forwardedProps: order });
}

/** A message of the user. */
export const asking = (): Posted => ({ id: newId("ask"), role: "user", content: "And then — what did the loom do?" });

/** W1 on a thread of its own, with so many messages posted. */
export async function wholeRuns(
  server: Child,
  peer: Child | undefined,
  kind: "in memory" | "on SQLite",
  held: number,
  target: number,
  effort: Effort,
): Promise<Row> {
  const what = `run of W1${held === 0 ? "" : `, ${held} messages of history`}, ${kind}`;
  const row: RowPlan = { what, peer: "CopilotKit's runtime, in memory", kind: "faster", target };
  if (peer === undefined) return notMeasured(row);
  const deltas = 10_000;
  // With a history the peer takes seconds: a part tells its price, and is to its advantage, since that grows on the way.
  const peerDeltas = effort.quick && held > 0 ? 1000 : deltas;
  const messages = [...history(held), asking()];
  const body = (count: number): string => bodyOf(newId("thread"), messages, { deltas: count });
  await checkDeltas(ours(server), body(deltas), deltas);
  await checkDeltas(theirs(peer, "run"), body(peerDeltas), peerDeltas);
  return comparePerUnit(
    row,
    { units: deltas, work: () => postToEnd(ours(server), body(deltas)) },
    { units: peerDeltas, work: () => postToEnd(theirs(peer, "run"), body(peerDeltas)) },
    { ...effort, sliceMs: effort.sliceMs * 8 },
  );
}

/** Both sides have to say everything. */
async function checkDeltas(url: string, body: string, deltas: number): Promise<void> {
  const said = (await postForText(url, body)).split('"TEXT_MESSAGE_CONTENT"').length - 1;
  if (said !== deltas) throw new Error(`${url} said ${said} of ${deltas} words.`);
}

/** A thread as a stock client keeps it: all that was said, posted whole with each question. */
export class Conversation {
  readonly threadId = newId("thread");
  #messages: readonly object[];

  constructor(messages: readonly object[] = []) {
    this.#messages = messages;
  }

  /** What is posted to ask once more. */
  ask(deltas: number): string {
    this.#messages = [...this.#messages, asking()];
    return bodyOf(this.threadId, this.#messages, { deltas });
  }

  /** Asks, and keeps the answer. */
  async talk(server: Child, deltas: number): Promise<void> {
    this.hear(await postForText(ours(server), this.ask(deltas)));
  }

  /** Keeps an answer. */
  hear(text: string): void {
    const events = Array.from(text.matchAll(/^data: (.+)$/gm), ([, json]) => JSON.parse(json ?? ""));
    const id = String(events.find(({ type }) => type === "TEXT_MESSAGE_START")?.messageId);
    const content = events.map(({ delta }) => delta ?? "").join("");
    this.#messages = [...this.#messages, { id, role: "assistant", content }];
  }
}

/** From posting to the end of a short run: one that continues a thread of 99, and one that begins a thread. */
export async function hundredthRun(server: Child, effort: Effort): Promise<Row> {
  const deltas = 100;
  const row: RowPlan = {
    what: "the 100th run of a thread, on SQLite",
    peer: "the first run of a thread",
    kind: "cost",
    target: 1.2,
  };
  const often = effort.quick ? { rounds: 3, samples: 5 } : { rounds: 6, samples: 9 };
  // Each is measured four times, from its 100th run to its 103rd; one round goes before the others.
  const threads = Array.from({ length: Math.ceil(((often.rounds + 1) * often.samples) / 4) }, () => new Conversation());
  await Promise.all(
    threads.map(async (thread) => {
      for (let run = 1; run < 100; run++) await thread.talk(server, deltas);
    }),
  );
  let next = 0;
  /** What an earlier run left to do on the side is not counted here: it is as if somebody had thought before asking. */
  const timed = async (thread: Conversation): Promise<number> => {
    await server.ask("settled");
    const body = thread.ask(deltas);
    let text = "";
    const ms = await timeOf(async () => (text = await postForText(ours(server), body)));
    // Whoever asks on without the answer would begin a branch of its own.
    thread.hear(text);
    return ms;
  };
  const deep = (): Promise<number> => timed(threads[next++ % threads.length] ?? new Conversation());
  return compareTimes(row, deep, () => timed(new Conversation()), often);
}

/**
 * Connecting to an idle thread of 100 runs that nobody follows. What who has nothing gets is kept for the next; what who
 * holds a message gets is not, and comes from the file each time.
 */
export async function openingThread(server: Child, peer: Child | undefined, effort: Effort): Promise<readonly Row[]> {
  const common = { peer: "CopilotKit's connect(), in memory", kind: "faster", target: 3 } as const;
  const first: RowPlan = { ...common, what: "opening a thread of 100 runs, from SQLite" };
  const again: RowPlan = { ...common, what: "opening a thread of 100 runs, once more" };
  if (peer === undefined) return [first, again].map(notMeasured);
  // Not fewer where it is quick: what a thread costs to open depends on how much was said.
  const deltas = 1000;
  const [here, there] = [newId("thread"), newId("thread")];
  const held = asking();
  for (let run = 0; run < 100; run++) {
    const message = run === 0 ? held : asking();
    await postToEnd(ours(server), bodyOf(here, [message], { deltas }));
    await postToEnd(theirs(peer, "run"), bodyOf(there, [message], { deltas }));
  }
  await server.ask("settled");
  await checkLast(ours(server, "/connect"), bodyOf(here, [], {}));
  await checkLast(theirs(peer, "connect"), bodyOf(there, [], {}));
  const compared = (row: RowPlan, messages: readonly object[]): Promise<Row> =>
    comparePerUnit(
      row,
      { units: 1, work: () => postToEnd(ours(server, "/connect"), bodyOf(here, messages, {})) },
      { units: 1, work: () => postToEnd(theirs(peer, "connect"), bodyOf(there, messages, {})) },
      { ...effort, sliceMs: effort.sliceMs * 4 },
    );
  return [await compared(first, [held]), await compared(again, [])];
}

/** An opened thread holds every question, and every answer to its end. */
async function checkLast(url: string, body: string): Promise<void> {
  const text = await postForText(url, body);
  const questions = text.split("what did the loom do").length - 1;
  const answers = text.split("the loom holds each thread — in its place").length - 1;
  if (questions !== 100 || answers < 100)
    throw new Error(`${url} opened with ${questions} questions, ${answers} answers.`);
}

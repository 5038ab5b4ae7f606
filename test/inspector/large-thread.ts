/**
 * A thread with as many events as one asks for (100,000 by default), of every kind, written into a store by import: quicker than
 * any agent. Times are made up: tokens 20 ms apart, with silences while a tool works, runs a minute apart.
 *
 * `await importLargeThread(store)`, then serve that store; the thread is `LARGE_THREAD`. Used by tests and by the benchmark.
 */
import type { Event } from "../../src/protocol/index.ts";
import { importThread } from "../../src/store/index.ts";
import type { ImportedThread, Store } from "../../src/store/index.ts";

/** The thread's id, where none is asked for. */
export const LARGE_THREAD = "large";

/** What the thread is to be like. */
export interface LargeThread {
  /** Its id. Default `LARGE_THREAD`. */
  readonly threadId?: string;
  /** How many events it has at least; the last run is completed. Default 100,000. */
  readonly events?: number;
  /** How many parts the answer of each run has. Default 600. */
  readonly answerParts?: number;
  /** Whose it is. Default the tenant of a server without authentication. */
  readonly tenant?: string;
}

const BEGAN_MS = Date.UTC(2026, 0, 5, 9);
const WORDS = "the heddle lifts every second thread so that the shuttle finds its way through the warp".split(" ");

/** Writes the thread into a store. */
export function importLargeThread(store: Store, options: LargeThread = {}): Promise<ImportedThread> {
  return importThread(store, { tenant: options.tenant ?? "default" }, largeThreadLines(options));
}

/** The thread in the file form of `exportThread`. */
export function largeThreadLines({
  threadId = LARGE_THREAD,
  events: wanted = 100_000,
  answerParts = 600,
}: LargeThread = {}): readonly string[] {
  const runs: string[] = [];
  const lines: string[] = [];
  let seq = 0;
  let atMs = BEGAN_MS;
  for (let number = 1; seq < wanted; number++) {
    const runId = `run-${number}`;
    const parentRunId = number === 1 ? undefined : `run-${number - 1}`;
    const firstSeq = seq + 1;
    const startedAtMs = atMs;
    for (const [waitMs, event] of runEvents(threadId, number, answerParts)) {
      atMs += waitMs;
      const json = JSON.stringify({ ...event, timestamp: atMs });
      lines.push(`{"type":"event","seq":${++seq},"runId":"${runId}","event":${json}}`);
    }
    const place = { runId, agent: number % 3 === 0 ? "researcher" : "assistant", parentRunId };
    const status = number % 10 === 9 ? "failed" : "finished";
    const kind = parentRunId === undefined ? undefined : "continue";
    const times = { startedAtMs, endedAtMs: atMs };
    runs.push(JSON.stringify({ type: "run", ...place, kind, status, firstSeq, lastSeq: seq, ...times }));
    atMs += 60_000;
  }
  const about = { threadId, tail: seq, floor: 0, head: `run-${runs.length}`, title: "A large thread", archived: false };
  const thread = { ...about, metadata: {}, createdAtMs: BEGAN_MS, updatedAtMs: atMs };
  const header = JSON.stringify({ heddle: "thread", version: 1, thread });
  return [header, ...runs, ...lines, JSON.stringify({ type: "end", runs: runs.length, events: seq, compacted: 0 })];
}

type Timed = readonly [waitMs: number, event: Event];

/** The events of one run, each with how long it is after the one before. */
function* runEvents(threadId: string, number: number, answerParts: number): Generator<Timed> {
  const runId = `run-${number}`;
  const content = `Question ${number}: how does a heddle work?`;
  const input = { threadId, runId, messages: [{ id: `user-${number}`, role: "user" as const, content }] };
  yield [0, { type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0", input, metadata: lineageOf(number) }];
  yield* thinking(number);
  yield [5, { type: "STEP_STARTED", stepName: "look it up" }];
  yield* calling(number);
  yield* planning(number);
  yield [5, { type: "STEP_FINISHED", stepName: "look it up" }];
  yield* delegating(number);
  const message = "A patch that could not be applied was left out.";
  const payload = { rule: "patch-unappliable", message, event: "STATE_DELTA" };
  if (number % 7 === 0) yield [1, { type: "META", metaType: "heddle.repair", payload }];
  yield* saying(`answer-${number}`, answerParts);
  const usage = [{ provider: "made-up", model: "large-1", inputTokens: 900 + number, outputTokens: answerParts }];
  if (number % 10 === 9) yield [40, { type: "RUN_ERROR", message: "The model hung up.", code: "model-gone", usage }];
  else yield [10, { type: "RUN_FINISHED", threadId, runId, outcome: { type: "success" }, usage }];
}

const lineageOf = (number: number) => ({
  heddle: { lineage: number === 1 ? {} : { parent: `run-${number - 1}`, kind: "continue" } },
});

const words = (count: number, from: number): string[] =>
  Array.from({ length: count }, (_, index) => `${WORDS[(index + from) % WORDS.length]} `);

function* saying(messageId: string, parts: number, subagentRunId?: string): Generator<Timed> {
  const by = subagentRunId === undefined ? {} : { subagentRunId };
  yield [30, { type: "TEXT_MESSAGE_START", messageId, role: "assistant", ...by }];
  for (const delta of words(parts, 0)) yield [20, { type: "TEXT_MESSAGE_CONTENT", messageId, delta, ...by }];
  yield [2, { type: "TEXT_MESSAGE_END", messageId, ...by }];
}

function* thinking(number: number): Generator<Timed> {
  const messageId = `thought-${number}`;
  yield [300, { type: "REASONING_START", messageId }];
  yield [1, { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" }];
  for (const delta of words(80, 3)) yield [15, { type: "REASONING_MESSAGE_CONTENT", messageId, delta }];
  yield [1, { type: "REASONING_MESSAGE_END", messageId }];
  yield [1, { type: "REASONING_END", messageId }];
}

function* calling(number: number): Generator<Timed> {
  for (const tool of ["search", "fetch_page"]) {
    const toolCallId = `call-${number}-${tool}`;
    yield [40, { type: "TOOL_CALL_START", toolCallId, toolCallName: tool }];
    const args = JSON.stringify({ query: `heddle ${number}`, pages: [1, 2, 3], language: "en" });
    for (const delta of args.match(/.{1,4}/gs) ?? []) yield [12, { type: "TOOL_CALL_ARGS", toolCallId, delta }];
    yield [2, { type: "TOOL_CALL_END", toolCallId }];
    const content = JSON.stringify({ found: number * 3, best: "A heddle guides the warp." });
    yield [1800, { type: "TOOL_CALL_RESULT", messageId: `result-${toolCallId}`, toolCallId, content, role: "tool" }];
  }
}

function* planning(number: number): Generator<Timed> {
  yield [4, { type: "STATE_SNAPSHOT", snapshot: { title: `Plan ${number}`, steps: [], progress: 0 } }];
  const messageId = `activity-${number}`;
  yield [4, { type: "ACTIVITY_SNAPSHOT", messageId, activityType: "PROGRESS", content: { part: 0, of: 20 } }];
  for (let part = 1; part <= 20; part++) {
    yield [8, { type: "STATE_DELTA", delta: [{ op: "replace", path: "/progress", value: part / 20 }] }];
    const patch = [{ op: "replace" as const, path: "/part", value: part }];
    yield [8, { type: "ACTIVITY_DELTA", messageId, activityType: "PROGRESS", patch }];
  }
}

function* delegating(number: number): Generator<Timed> {
  const subagentRunId = `sub-${number}`;
  yield [20, { type: "SUBAGENT_STARTED", subagentRunId, name: "writer", description: "Writes a draft." }];
  yield [2, { type: "STEP_STARTED", stepName: "draft", subagentRunId }];
  yield* saying(`draft-${number}`, 120, subagentRunId);
  yield [2, { type: "STEP_FINISHED", stepName: "draft", subagentRunId }];
  yield [2, { type: "SUBAGENT_FINISHED", subagentRunId, result: { words: 120 } }];
}

/**
 * What comes of a post, for `post-table.test.ts` and `post-open.test.ts`: on one server process with a log in a file, behind a thread that stands.
 * It is looked at where it counts: what the agent was given, what the log keeps of it and where the run hangs, what the
 * client holds afterwards, and what it was warned of.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reduceAll } from "heddle/stream";
import { afterAll, beforeAll, expect } from "vitest";
import { eventsOf, readLog, runState } from "./acceptance/thread-log.ts";
import type { Wish } from "./post-table-agents.ts";
import { postAs } from "./poster.ts";
import type { Post, Posted, Poster } from "./poster.ts";
import { readyUrl, runNode } from "./server-process.ts";
import type { Running } from "./server-process.ts";
import type { HeldMessage } from "./stock-client.ts";

const folder = mkdtempSync(join(tmpdir(), "heddle-post-table-"));
let server: Running & { readonly url: string };

beforeAll(async () => {
  const started = runNode(["test/post-table-server.ts", join(folder, "log.db")]);
  server = { ...started, url: await readyUrl(started) };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Where the server answers. */
export const serverUrl = (): string => server.url;

/** A message of the user. */
export const user = (id: string, content = id): HeldMessage => ({ id, role: "user", content });

/** What the agent answers in a run. */
export const said = (runId: string, content: string): HeldMessage => ({
  id: `re-${runId}`,
  role: "assistant",
  content,
});

/** Ids, in order. */
export const idsOf = (messages: readonly { readonly id: string }[] = []): readonly string[] =>
  messages.map(({ id }) => id);

/** What a client asks the agent for. */
export const wishing = (forwardedProps: Wish): object => ({ forwardedProps });

/** The messages of a thread of three runs, in the second of which the agent thought, and showed an activity. */
export const [U1, RE1, U2, THINK, PLAN, RE2, U3, RE3] = [
  user("u1"),
  said("r1", "re: u1"),
  user("u2"),
  { id: "think-r2", role: "reasoning", content: "Hm." },
  { id: "plan-r2", role: "activity", activityType: "PLAN", content: { done: false } },
  said("r2", "re: u2"),
  user("u3"),
  said("r3", "re: u3"),
] as const;

/** All of them, as clients hold them. Stock clients do not post the activity, and nobody has to. */
export const ALL: readonly HeldMessage[] = [U1, RE1, U2, THINK, PLAN, RE2, U3, RE3];

/** All of them, as agents get them. */
export const KNOWN: readonly HeldMessage[] = ALL.filter((message) => message !== PLAN);

/** The state that the thread ends with. */
export const STATE = { n: 2 };

let threads = 0;

/** An id for a thread of its own. */
export const newThread = (): string => `t${++threads}`;

/** Makes the thread of three runs. Its first run left the state `{n: 1}`, its second `{n: 2}`. */
export async function threeRuns(poster: Poster, agent?: string): Promise<string> {
  const threadId = newThread();
  const runs: readonly [string, readonly HeldMessage[], object, Wish][] = [
    ["r1", [U1], {}, { state: { n: 1 } }],
    ["r2", [U1, RE1, U2], { n: 1 }, { state: STATE, thinks: true }],
    ["r3", ALL.slice(0, -1), STATE, {}],
  ];
  for (const [runId, messages, state, wish] of runs) {
    const more = wishing(wish);
    await postAs(poster, server.url, { threadId, runId, messages, state, more, ...(agent && { agent }) });
  }
  return threadId;
}

/** A thread that waits for the client's answer to a call. */
export async function calling(poster: Poster, agent = "teller"): Promise<string> {
  const threadId = newThread();
  const tools = [{ name: "pick", description: "Picks.", parameters: { type: "object" } }];
  const more = { tools, ...wishing({ calls: "pick" }) };
  const { messages } = await postAs(poster, server.url, { threadId, runId: "r1", agent, messages: [U1], more });
  expect(idsOf(messages)).toEqual(["u1", "re-r1"]);
  return threadId;
}

/** The answer to that call. */
export const ANSWER: HeldMessage = { id: "x1", role: "tool", toolCallId: "call-r1", content: "red" };

/** What a post leads to. */
export interface Outcome {
  /** The thread. */
  readonly threadId: string;
  /** What the client got and holds. */
  readonly posted: Posted;
  /** What the client was warned of, as paths. The log of the thread and the server's own say the same. */
  readonly warned: readonly string[];
  /** What the agent was given; undefined where none was called. */
  readonly given: { readonly messages: readonly HeldMessage[]; readonly state?: unknown } | undefined;
  /** What the log has of the run's input. */
  readonly logged: { readonly messages: readonly HeldMessage[]; readonly state?: unknown } | undefined;
  /** Where the run hangs, and how. */
  readonly place: readonly [parentRunId: unknown, kind: unknown];
}

/** A post on a thread of three runs, as the run `r4`, and what it leads to. */
export async function onThreeRuns(poster: Poster, post: Omit<Post, "threadId" | "runId">): Promise<Outcome> {
  const threadId = await threeRuns(poster, post.agent);
  return outcomeOf(poster, { threadId, runId: "r4", ...post });
}

/** A post, and what it leads to. */
export async function outcomeOf(poster: Poster, post: Post): Promise<Outcome> {
  const { threadId, runId } = post;
  const posted = await postAs(poster, server.url, post);
  const warned = warningsIn(posted.events.find(({ type }) => type === "RUN_STARTED"));
  const log = await readLog(server.url, threadId);
  const first = log.findIndex((event) => event.type === "RUN_STARTED" && event.runId === runId);
  if (first === -1) {
    return { threadId, posted, warned, given: undefined, logged: undefined, place: [undefined, undefined] };
  }
  expect(warningsIn(log[first])).toEqual(warned);
  expect(await serverWarnings(threadId, runId, warned.length)).toEqual(warned);
  const given = log.slice(first).find((event) => event.type === "CUSTOM" && event.name === "given");
  const { parentRunId, kind } = Object(await runState(server.url, threadId, runId));
  const { input } = Object(log[first]);
  return { threadId, posted, warned, given: Object(given).value, logged: input, place: [parentRunId, kind] };
}

const warningsIn = (event: object | undefined): readonly string[] =>
  (Object(event).metadata?.heddle?.warnings ?? []).map(({ path }: { path: string }) => path);

/** The warnings of a run that the server wrote, when there are some; none where there are to be none. */
async function serverWarnings(threadId: string, runId: string, expected: number): Promise<readonly string[]> {
  const { printed, child } = server;
  for (;;) {
    const lines = printed.err.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
    const found = lines.map((text) => JSON.parse(text)).filter((it) => it.threadId === threadId && it.runId === runId);
    const line = found.find(({ warnings }) => warnings !== undefined);
    if (line !== undefined || expected === 0) return (line?.warnings ?? []).map(({ path }: { path: string }) => path);
    if (child.stderr === null) throw new Error("no stderr");
    await once(child.stderr, "data");
  }
}

/** The messages of a branch, as its log tells them; default the thread's head. */
async function branchOf(threadId: string, head?: string): Promise<readonly HeldMessage[]> {
  const query = `follow=false${head === undefined ? "" : `&head=${head}`}`;
  return reduceAll(await eventsOf(await fetch(`${server.url}/threads/${threadId}/events?${query}`))).messages;
}

/** The client holds, and the log of the thread's head folds to, these messages. */
export async function expectHeld({ posted, threadId }: Outcome, ids: readonly string[]): Promise<void> {
  expect(idsOf(posted.messages)).toEqual(ids);
  expect(idsOf(await branchOf(threadId))).toEqual(ids);
}

const isShared = ({ role }: HeldMessage): boolean => role !== "activity";

/** The same for a fork, but for activities, of which it may not be told; and the branch that was left is whole. */
export async function expectFork({ posted, threadId }: Outcome, ids: readonly string[]): Promise<void> {
  expect(idsOf(posted.messages.filter(isShared))).toEqual(ids);
  expect(idsOf((await branchOf(threadId)).filter(isShared))).toEqual(ids);
  expect(idsOf(await branchOf(threadId, "r3"))).toEqual(idsOf(ALL));
}

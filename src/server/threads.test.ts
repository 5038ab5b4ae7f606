/** Whole threads, through a server without a transport. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { agentOf, bodyOf, collect, runToEnd, served } from "../../test/served.ts";
import { fillThread, wholeRun } from "../../test/stored-thread.ts";
import { memoryStore } from "../store/index.ts";
import type { Store } from "../store/index.ts";
import type { Heddle } from "./index.ts";
import { MAX_METADATA_CHARS, MAX_TITLE_CHARS } from "./read-thread-patch.ts";
import { tokenSum } from "./token-sum.ts";

const KEY = { tenant: "default", threadId: "t1" };

const echo = agentOf(({ emit }) => void emit.text().write("hello"));

/** Speaks, and then waits until it is stopped. */
const waiting = agentOf(async ({ emit, signal }) => {
  await emit.text().write("so far");
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}, "waiting");

function open(store: Store = memoryStore()): Heddle & { store: Store } {
  const heddle = served([echo, waiting], { store });
  onTestFinished(() => heddle.close());
  return heddle;
}

/** A thread with branches, a failure, a question and a spawned run. */
async function filled(store?: Store): Promise<Heddle & { store: Store }> {
  const heddle = open(store);
  await fillThread(heddle.store, KEY);
  return heddle;
}

describe("details", () => {
  test("HTTP-THR-3: runs, the ends of branches, and what the head left open", async () => {
    const { threads } = await filled();
    const details = await threads.details("t1");
    expect(details.runs.map(({ runId, parentRunId, kind, status }) => [runId, parentRunId, kind, status])).toEqual([
      ["r1", undefined, undefined, "finished"],
      ["r2", "r1", "continue", "finished"],
      ["r3", "r1", "branch", "failed"],
      ["r4", "r2", "continue", "interrupted"],
      ["r5", "r4", "spawn", "finished"],
    ]);
    expect(details).toMatchObject({
      head: "r4",
      status: "interrupted",
      heads: ["r3", "r4"],
      interrupts: [{ id: "q1" }],
      pendingToolCallIds: [],
      title: "A title",
    });
  });

  test("what is open goes with the head", async () => {
    const { threads } = await filled();
    expect(await threads.update("t1", { head: "r3" })).toMatchObject({ head: "r3", status: "failed" });
    expect(await threads.details("t1")).toMatchObject({ interrupts: [], pendingToolCallIds: [], heads: ["r3", "r4"] });
    await threads.update("t1", { head: "r5" });
    expect(await threads.details("t1")).toMatchObject({ interrupts: [], pendingToolCallIds: ["c1"] });
  });

  test("tokens are added up, totals too where nobody says them", () => {
    expect(tokenSum([])).toEqual({});
    expect(
      tokenSum([
        { model: "a", inputTokens: 1, outputTokens: 2, reasoningTokens: 1 },
        { model: "b", inputTokens: 10, totalTokens: 15 },
      ]),
    ).toEqual({ inputTokens: 11, outputTokens: 2, totalTokens: 18, reasoningTokens: 1 });
  });
});

describe("changes", () => {
  test("HTTP-THR-4: what is named is changed, and nothing else", async () => {
    let now = 0;
    const { threads } = await filled(memoryStore({ nowMs: () => (now += 1) }));
    const before = await threads.details("t1");
    expect(await threads.update("t1", { title: "Other" })).toMatchObject({ title: "Other", metadata: before.metadata });
    expect(await threads.update("t1", { archived: true, metadata: { a: 1 } })).toMatchObject({
      title: "Other",
      archived: true,
      metadata: { a: 1 },
      head: "r4",
    });
    expect((await threads.update("t1", { title: null })).title).toBeUndefined();
    const { updatedAtMs } = await threads.details("t1");
    expect((await threads.update("t1", {})).updatedAtMs).toBe(updatedAtMs);
  });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, ""],
    ["a list", [], ""],
    ["a number as title", { title: 1 }, "/title"],
    ["a title that is too long", { title: "x".repeat(MAX_TITLE_CHARS + 1) }, "/title"],
    ["a title that no database keeps", { title: "a\0b" }, "/title"],
    ["half a character", { title: "\ud800" }, "/title"],
    ["a word for archived", { archived: "yes" }, "/archived"],
    ["null for archived", { archived: null }, "/archived"],
    ["a list as metadata", { metadata: [] }, "/metadata"],
    ["null as metadata", { metadata: null }, "/metadata"],
    ["an empty head", { head: "" }, "/head"],
    ["null as head", { head: null }, "/head"],
    ["what is not known", { title: "fine", "a/b~": 1 }, "/a~1b~0"],
  ])("%s is refused, and changes nothing", async (_, body, path) => {
    const { threads, store } = await filled();
    const before = await store.thread(KEY);
    await expect(threads.update("t1", body)).rejects.toMatchObject({ code: "input-invalid", details: { path } });
    expect(await store.thread(KEY)).toEqual(before);
  });

  test("metadata has a limit, and a head has to be there", async () => {
    const { threads, store } = await filled();
    const before = await store.thread(KEY);
    const large = { metadata: { a: "x".repeat(MAX_METADATA_CHARS) } };
    await expect(threads.update("t1", large)).rejects.toMatchObject({ code: "limit-exceeded" });
    await expect(threads.update("t1", { title: "no", head: "r9" })).rejects.toMatchObject({ code: "run-unknown" });
    expect(await store.thread(KEY)).toEqual(before);
  });

  test("a new run continues the head that was chosen", async () => {
    const heddle = open();
    await runToEnd(heddle, bodyOf("r1"));
    await runToEnd(heddle, bodyOf("r2"));
    await heddle.threads.update("t1", { head: "r1" });
    await runToEnd(heddle, bodyOf("r3"));
    expect(await heddle.threads.details("t1")).toMatchObject({ head: "r3", heads: ["r2", "r3"] });
    expect((await heddle.run("t1", "r3")).parentRunId).toBe("r1");
  });
});

describe("deleting", () => {
  test("HTTP-THR-5: a run is stopped first, who follows gets to the end, and nothing is left", async () => {
    const troubles: unknown[] = [];
    const heddle = served([echo, waiting], { onTrouble: (error) => troubles.push(error), cancelGraceMs: 200 });
    onTestFinished(() => heddle.close());
    await heddle.start("waiting", bodyOf());
    const following = collect(heddle);
    await heddle.threads.delete("t1");
    expect((await following).at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    expect(await heddle.store.thread(KEY)).toBeUndefined();
    expect((await heddle.health()).runs).toBe(0);
    await expect(heddle.threads.delete("t1")).rejects.toMatchObject({ code: "thread-unknown" });
    // The name is free.
    expect((await runToEnd(heddle, bodyOf())).at(-1)).toMatchObject({ type: "RUN_FINISHED" });
    expect((await heddle.threads.details("t1")).runs).toHaveLength(1);
    expect(troubles).toEqual([]);
  });

  test("a run of another process is stopped too", async () => {
    const store = memoryStore();
    const troubles: unknown[] = [];
    const one = served([echo, waiting], { store, pollMs: 20, onTrouble: (error) => troubles.push(error) });
    const other = open(store);
    await one.start("waiting", bodyOf());
    const following = collect(one);
    following.catch(() => undefined);
    await other.threads.delete("t1");
    expect(await store.thread(KEY)).toBeUndefined();
    await expect(following).rejects.toMatchObject({ code: "thread-unknown" });
    await one.close();
    expect(troubles).toEqual([]);
  });
});

describe("lists", () => {
  test("HTTP-THR-2: a run that begins and ends here is told at once, however far the next look is", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const heddle = open();
    await runToEnd(heddle, bodyOf());
    const watched = heddle.threads.watch();
    expect((await watched.next()).value).toMatchObject({
      type: "page",
      threads: [{ threadId: "t1", status: "finished" }],
    });
    await heddle.start("waiting", bodyOf("r1", { threadId: "t2" }));
    expect((await watched.next()).value).toMatchObject({ thread: { threadId: "t2", status: "running" } });
    await heddle.cancel("t2", "r1");
    expect((await watched.next()).value).toMatchObject({ thread: { threadId: "t2", status: "cancelled" } });
    await heddle.threads.update("t1", { title: "New" });
    expect((await watched.next()).value).toMatchObject({ thread: { threadId: "t1", title: "New" } });
    await heddle.threads.delete("t2");
    expect((await watched.next()).value).toEqual({ type: "gone", threadId: "t2" });
    const last = watched.next();
    await heddle.stop();
    expect(await last).toEqual({ done: true, value: undefined });
  });

  test("HTTP-THR-1: pages hold every thread once, the most recently changed first", async () => {
    const { threads, store } = open();
    for (const threadId of ["a", "b", "c", "d", "e"]) await wholeRun(store, { ...KEY, threadId }, "r1", {}, []);
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await threads.list({ limit: 2, after });
      seen.push(...page.threads.map(({ threadId }) => threadId));
      after = page.next;
    } while (after !== undefined);
    expect(seen).toHaveLength(5);
    expect(seen.toSorted()).toEqual(["a", "b", "c", "d", "e"]);
    await expect(threads.list({ after: "nonsense" })).rejects.toMatchObject({ code: "query-invalid" });
  });
});

describe("copies", () => {
  test("HTTP-THR-9: what was exported and imported reads the same, and goes on", async () => {
    const { threads } = await filled();
    const lines: string[] = [];
    for await (const line of await threads.export("t1")) lines.push(line);
    const bytes = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from(lines.join(""));
    };
    await expect(threads.import(bytes())).rejects.toMatchObject({ code: "thread-exists" });
    const heddle = open();
    const brought = await heddle.threads.import(bytes());
    expect(brought).toMatchObject({
      threadId: "t1",
      runs: 5,
      closedRunIds: [],
      thread: { title: "A title", head: "r4" },
    });
    const [there, here] = [await threads.snapshot("t1"), await heddle.threads.snapshot("t1")];
    expect({ ...here, cursor: "" }).toEqual({ ...there, cursor: "" });
    expect((await heddle.threads.import(bytes(), "copy")).thread.threadId).toBe("copy");
  });
});

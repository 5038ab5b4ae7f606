import { describe, expect, test } from "vitest";
import { beginRun, fillThread, goOn, said, startOf, wholeRun } from "../../test/stored-thread.ts";
import { exportThread, importThread, memoryStore, readAll, settleLeftovers } from "./index.ts";
import type { Store, ThreadKey } from "./index.ts";

const KEY: ThreadKey = { tenant: "acme", threadId: "t1" };

async function rest(lines: AsyncGenerator<string>): Promise<string[]> {
  const list: string[] = [];
  for await (const line of lines) list.push(line);
  return list;
}

/** Exports, and does something when so many lines were taken. */
async function interrupted(store: Store, lines: number, work: () => Promise<unknown>): Promise<readonly string[]> {
  const exported = exportThread(store, KEY);
  const taken: string[] = [];
  for (let count = 0; count < lines; count++) taken.push((await exported.next()).value ?? "");
  await work();
  return [...taken, ...(await rest(exported))];
}

const noteOf = (metaType: string): readonly [string] => [JSON.stringify({ type: "META", metaType, payload: {} })];

describe("export", () => {
  test("begins with its version, and ends with counts", async () => {
    const store = memoryStore({ nowMs: () => 1000 });
    await wholeRun(store, KEY, "r1", { principal: "ada" }, said("m1", "Hi"));
    await store.updateThread(KEY, { title: "A title", metadata: { a: [null] } });
    expect(await rest(exportThread(store, KEY))).toEqual([
      '{"heddle":"thread","version":1,"thread":{"threadId":"t1","tail":5,"floor":0,"head":"r1","title":"A title","archived":false,"metadata":{"a":[null]},"createdAtMs":1000,"updatedAtMs":1000}}\n',
      '{"type":"run","runId":"r1","agent":"writer","status":"finished","firstSeq":1,"lastSeq":5,"principal":"ada","startedAtMs":1000,"endedAtMs":1000}\n',
      '{"type":"event","seq":1,"runId":"r1","event":{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}}\n',
      '{"type":"event","seq":2,"runId":"r1","event":{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}}\n',
      '{"type":"event","seq":3,"runId":"r1","event":{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hi"}}\n',
      '{"type":"event","seq":4,"runId":"r1","event":{"type":"TEXT_MESSAGE_END","messageId":"m1"}}\n',
      '{"type":"event","seq":5,"runId":"r1","event":{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}}\n',
      '{"type":"end","runs":1,"events":5,"compacted":0}\n',
    ]);
  });

  test("tells nobody's thread, nor another tenant's", async () => {
    const store = memoryStore();
    await fillThread(store, { ...KEY, tenant: "other" });
    await expect(rest(exportThread(store, KEY))).rejects.toMatchObject({ code: "thread-unknown" });
  });

  test("tells what was committed when it began, whatever comes while it is read", async () => {
    const store = memoryStore();
    const lease = await beginRun(store, KEY, "r1", {}, [JSON.stringify(startOf(KEY, "r1"))]);
    const [open, content, close] = said("m1", "Hi");
    if (open === undefined || content === undefined || close === undefined) throw new Error("Something was said.");
    await goOn(store, lease, 1, [open, content]);
    const lines = await interrupted(store, 1, async () => {
      await goOn(store, lease, 2, [close, { type: "RUN_FINISHED", threadId: "t1", runId: "r1" }]);
      await wholeRun(store, KEY, "r2", { parentRunId: "r1", kind: "continue" }, said("m2", "More"));
    });
    expect(lines.at(-1)).toBe('{"type":"end","runs":1,"events":3,"compacted":0}\n');

    const other = memoryStore({ nowMs: () => 7000 });
    const imported = await importThread(other, KEY, lines);
    expect(imported).toEqual({ threadId: "t1", runs: 1, events: 5, closedRunIds: ["r1"] });
    const texts = [];
    for await (const { seq, json } of readAll(other, KEY)) texts.push([seq, json]);
    expect(texts.slice(3)).toEqual([
      [4, '{"type":"TEXT_MESSAGE_END","messageId":"m1","timestamp":7000}'],
      [5, expect.stringMatching(/^\{"type":"RUN_ERROR",.*"code":"worker-lost","timestamp":7000\}$/)],
    ]);
    const run = await other.run({ ...KEY, runId: "r1" });
    expect(run).toMatchObject({
      status: "failed",
      lastSeq: 5,
      endedAtMs: 7000,
      end: { error: { code: "worker-lost" } },
    });
    expect(await other.thread(KEY)).toMatchObject({ tail: 5, updatedAtMs: 7000 });
  });

  test("is of one moment, whatever comes while it looks", async () => {
    const store = memoryStore();
    await wholeRun(store, KEY, "r1", {}, said("m1", "Hi"));
    const busy: Store = {
      ...store,
      async runs(key) {
        await wholeRun(store, KEY, "r2", { parentRunId: "r1", kind: "continue" }, said("m2", "More"));
        return store.runs(key);
      },
    };
    const lines = await rest(exportThread(busy, KEY));
    expect(await importThread(memoryStore(), KEY, lines)).toMatchObject({ runs: 2, events: 10, closedRunIds: [] });
  });

  test("tells annotations, those behind the last run's end too, and not what waits", async () => {
    const store = memoryStore();
    const note = JSON.stringify({ type: "META", metaType: "thumbs_up", payload: { messageId: "m1" } });
    await wholeRun(store, KEY, "r1", {}, said("m1", "Hi"));
    await store.annotate({ ...KEY, runId: "r1", events: [note] });
    await wholeRun(store, KEY, "r2", { parentRunId: "r1", kind: "continue" }, said("m2", "More"));
    await store.annotate({ ...KEY, runId: "r1", events: [note, note] });
    await store.enqueue({ ...KEY, runId: "r3", agent: "writer", body: "{}", limit: 1 });
    const lines = await rest(exportThread(store, KEY));
    expect(lines.filter((line) => line.includes("META")).map((line) => JSON.parse(line))).toEqual(
      [6, 12, 13].map((seq) => ({ type: "event", seq, runId: "r1", event: JSON.parse(note) })),
    );
    expect(lines.at(-1)).toBe('{"type":"end","runs":2,"events":13,"compacted":0}\n');
    const other = memoryStore();
    expect(await importThread(other, KEY, lines)).toMatchObject({ runs: 2, events: 13, closedRunIds: [] });
    expect(await rest(exportThread(other, KEY))).toEqual(lines);
    expect(await other.queue(KEY)).toEqual([]);
  });

  test("of a thread that was trimmed holds the annotations beyond the floor, and those that compacted runs hold", async () => {
    const store = memoryStore();
    const lease = await beginRun(store, KEY, "r1", {}, [JSON.stringify(startOf(KEY, "r1"))]);
    await store.annotate({ ...KEY, runId: "r1", events: noteOf("meanwhile") });
    await goOn(store, lease, 1, [...said("m1", "Hi"), { type: "RUN_FINISHED", threadId: "t1", runId: "r1" }]);
    await store.annotate({ ...KEY, runId: "r1", events: noteOf("between") });
    await wholeRun(store, KEY, "r2", { parentRunId: "r1", kind: "continue" }, said("m2", "More"));
    await store.annotate({ ...KEY, runId: "r1", events: noteOf("afterwards") });
    await settleLeftovers(store);
    await store.trim((await store.nowMs()) + 1000);
    const lines = await rest(exportThread(store, KEY));
    const told = lines.filter((line) => line.includes("META"));
    expect(told.map((line) => [JSON.parse(line).type, JSON.parse(line).event.metaType])).toEqual([
      ["compacted", "meanwhile"],
      ["event", "afterwards"],
    ]);
    const other = memoryStore();
    await importThread(other, KEY, lines);
    expect(await rest(exportThread(other, KEY))).toEqual(lines);
  });

  test("says so where retention overtakes it", async () => {
    const store = memoryStore();
    await wholeRun(store, KEY, "r1", {}, said("m1", "Hi"));
    await settleLeftovers(store);
    const overtaken = interrupted(store, 1, async () => store.trim((await store.nowMs()) + 1000));
    await expect(overtaken).rejects.toMatchObject({
      code: "cursor-trimmed",
      message: expect.stringContaining("export it again"),
    });
  });

  test("says so where the thread is deleted, or becomes another, meanwhile", async () => {
    const store = memoryStore();
    await wholeRun(store, KEY, "r1", {}, said("m1", "Hi"));
    const deleted = interrupted(store, 2, () => store.deleteThread(KEY));
    await expect(deleted).rejects.toMatchObject({ code: "thread-unknown" });
    await wholeRun(store, KEY, "r1", {}, said("m1", "Hi"));
    const replaced = interrupted(store, 3, async () => {
      await store.deleteThread(KEY);
      await wholeRun(store, KEY, "r1", {}, said("m1", "Ho"));
    });
    await expect(replaced).rejects.toMatchObject({ code: "thread-unknown" });
  });
});

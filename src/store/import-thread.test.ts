import { describe, expect, test } from "vitest";
import { beginRun, fillThread, goOn, said, startOf, wholeRun } from "../../test/stored-thread.ts";
import { HeddleError } from "../protocol/index.ts";
import { view } from "../stream/index.ts";
import { exportThread, foldBranch, importThread, memoryStore, readAll, splitLines } from "./index.ts";
import type { Store, ThreadKey } from "./index.ts";

const KEY: ThreadKey = { tenant: "acme", threadId: "t1" };

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function filled(): Promise<{ readonly store: Store; readonly lines: readonly string[] }> {
  const store = memoryStore();
  await fillThread(store, KEY);
  return { store, lines: await listOf(exportThread(store, KEY)) };
}

/** Where and why lines are refused. Fails where they are not, or where anything is left of them. */
async function refusalOf(lines: readonly string[]): Promise<{ readonly line: number; readonly problem: string }> {
  const store = memoryStore();
  const details = await importThread(store, { tenant: "acme" }, lines).then(
    (imported) => {
      throw new Error(`${imported.threadId} was imported from ${lines.length} lines.`);
    },
    (error: unknown) => {
      if (!(error instanceof HeddleError) || error.code !== "import-invalid") throw error;
      const { line, problem }: { line: number; problem: string } = JSON.parse(JSON.stringify(error.details));
      expect(error.message).toBe(`Line ${line} ${problem}. Nothing was imported.`);
      return { line, problem };
    },
  );
  expect(await store.listThreads({ tenant: "acme" })).toEqual({ threads: [], next: undefined });
  return details;
}

const kindOf = (line: string): unknown => {
  const { type = "header" }: { type?: string } = JSON.parse(line);
  return type;
};

describe("a file that was damaged is refused with the line, and changes nothing", () => {
  test("the sample has lines of every kind", async () => {
    const { lines } = await filled();
    expect([...new Set(lines.map(kindOf))]).toEqual(["header", "run", "compacted", "event", "end"]);
    expect((await importThread(memoryStore(), KEY, lines)).runs).toBe(5);
  });

  test("each line dropped", async () => {
    const { lines } = await filled();
    for (const [index, dropped] of lines.entries()) {
      const { line } = await refusalOf(lines.toSpliced(index, 1));
      // A run is missed where it is first spoken of; of everything else the place is empty.
      const places = kindOf(dropped) === "run" ? [...lines.keys()].slice(index + 1) : [index + 1];
      expect(places).toContain(line);
    }
  });

  test("each line doubled", async () => {
    const { lines } = await filled();
    for (const [index, line] of lines.entries()) {
      expect((await refusalOf(lines.toSpliced(index, 0, line))).line).toBe(index + 2);
    }
  });

  test("any two lines that follow one another swapped", async () => {
    const { lines } = await filled();
    for (const index of lines.keys()) {
      const [line, next] = [lines[index], lines[index + 1]];
      if (line === undefined || next === undefined) continue;
      const refusal = await refusalOf(lines.toSpliced(index, 2, next, line));
      expect(refusal.line).toBeGreaterThan(index);
      expect(refusal.line).toBeLessThanOrEqual(lines.length);
    }
  });

  test("cut at every byte", async () => {
    const { lines } = await filled();
    const bytes = new TextEncoder().encode(lines.join(""));
    for (let length = 0; length < bytes.length - 1; length++) {
      const cut = await listOf(splitLines([bytes.subarray(0, length)]));
      const { line } = await refusalOf(cut);
      expect([cut.length, cut.length + 1]).toContain(line);
    }
    const whole = await listOf(splitLines([bytes.subarray(0, bytes.length - 1)]));
    expect((await importThread(memoryStore(), KEY, whole)).runs).toBe(5);
  });
});

const eventLine = (seq: number, json: string, runId = "r1"): string =>
  `{"type":"event","seq":${seq},"runId":"${runId}","event":${json}}`;

/** A list in a list, so many deep. */
const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));

const IS_LINE = /^\{ ?"type":"(event|run)",/;

const compacted = (number: number, json: string, range = '"firstSeq":1,"lastSeq":5'): string =>
  `{"type":"compacted","runId":"r1","number":${number},${range},"event":${json}}`;

describe("a file that says what cannot be is refused with the line", () => {
  const HEADER = {
    heddle: "thread",
    version: 1,
    thread: {
      threadId: "t1",
      tail: 5,
      floor: 0,
      head: "r1",
      archived: false,
      metadata: {},
      createdAtMs: 1,
      updatedAtMs: 2,
    },
  };
  const RUN = {
    type: "run",
    runId: "r1",
    agent: "a",
    status: "finished",
    firstSeq: 1,
    lastSeq: 5,
    startedAtMs: 1,
    endedAtMs: 2,
  };
  const EVENTS = [
    `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`,
    ...said("m1", "Hi").map((event) => JSON.stringify(event)),
    `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`,
  ];
  const END = { type: "end", runs: 1, events: 5, compacted: 0 };

  interface Parts {
    readonly header?: object | undefined;
    readonly thread?: object | undefined;
    readonly runs?: readonly object[];
    readonly run?: object;
    readonly more?: readonly string[];
    readonly events?: readonly string[];
    readonly end?: object;
    readonly after?: readonly string[];
  }

  const linesOf = ({ header, thread, runs, run, more = [], events = EVENTS, end, after = [] }: Parts): string[] => [
    JSON.stringify(header ?? { ...HEADER, thread: { ...HEADER.thread, ...thread } }),
    ...(runs ?? [{ ...RUN, ...run }]).map((each) => JSON.stringify(each)),
    ...more,
    ...events.map((json, index) => (IS_LINE.test(json) ? json : eventLine(index + 1, json))),
    JSON.stringify({ ...END, ...end }),
    ...after,
  ];

  const [START = "", OPEN = "", CONTENT = "", CLOSE = "", FINISH = ""] = EVENTS;
  const second = (rest: object): object => ({
    ...RUN,
    runId: "r2",
    firstSeq: 6,
    lastSeq: 7,
    parentRunId: "r1",
    ...rest,
  });
  const two = { tail: 7 };
  const lost = { floor: 5 };
  test("the same parts in order are a thread", async () => {
    const store = memoryStore();
    await importThread(store, { tenant: "acme" }, ["", ...linesOf({ after: ["", " "] }).map((line) => `${line}\r\n`)]);
    expect((await listOf(readAll(store, KEY))).map(({ json }) => json)).toEqual(EVENTS);
    const kept = { thread: lost, more: [compacted(0, START), compacted(1, FINISH)], events: [] };
    await importThread(store, { tenant: "b" }, linesOf({ ...kept, end: { events: 0, compacted: 2 } }));
    expect(await store.run({ ...KEY, tenant: "b", runId: "r1" })).toMatchObject({ status: "finished", settled: true });
  });

  test.each<[string, number, string, Parts]>([
    ["not JSON", 1, "is not JSON", { header: undefined, thread: undefined, runs: [] }],
    ["of something else", 1, "something else than a thread", { header: { ...HEADER, heddle: "settings" } }],
    ["of a newer version", 1, "version 2", { header: { ...HEADER, version: 2 } }],
    ["no header", 1, "not the header", { header: RUN }],
    ["a list", 1, "not a JSON object", { header: [] }],
    ["an unknown member", 1, '"colour"', { header: { ...HEADER, colour: 1 } }],
    ["an unknown member of the thread", 1, '"colour"', { thread: { colour: 1 } }],
    ["a wrong title", 1, 'text in "title"', { thread: { title: 7 } }],
    ["a wrong tail", 1, 'a whole number in "tail"', { thread: { tail: -1 } }],
    ["wrong metadata", 1, 'an object in "metadata"', { thread: { metadata: [] } }],
    ["metadata beyond all depth", 1, "nested too deeply", { thread: { metadata: { deep: nested(512) } } }],
    ["a wrong flag", 1, 'true or false in "archived"', { thread: { archived: "no" } }],
    ["no id", 1, "names no thread", { thread: { threadId: "" } }],
    ["an id that no path names", 1, "names no thread", { thread: { threadId: ".." } }],
    ["an id that is too long", 1, "names no thread", { thread: { threadId: "x".repeat(257) } }],
    ["a floor beyond the tail", 1, "floor", { thread: { floor: 6 } }],
    ["an unknown head", 1, "head", { thread: { head: "r9" } }],
    ["an unknown kind of line", 3, '"note"', { more: ['{"type":"note"}'] }],
    ["an unknown status", 2, '"status"', { run: { status: "odd" } }],
    ["an unknown kind of run", 2, '"kind"', { run: { kind: "odd" } }],
    ["a run without an agent", 2, '"agent"', { run: { agent: undefined } }],
    ["a run beyond the tail", 2, "cannot be", { run: { lastSeq: 6 } }],
    ["a run that ends before it begins", 2, "cannot be", { run: { firstSeq: 5, lastSeq: 4 } }],
    ["a run that ended and goes on", 2, "both", { run: { status: "running" } }],
    ["a run that ended without a time", 2, "both", { run: { endedAtMs: undefined } }],
    ["a run twice", 3, "told before", { runs: [RUN, RUN] }],
    ["runs out of order", 3, "order", { thread: two, runs: [RUN, second({ firstSeq: 1 })] }],
    ["an unknown parent", 3, "not told before", { thread: two, runs: [RUN, second({ parentRunId: "r9" })] }],
    ["its own parent", 3, "not told before", { thread: two, runs: [RUN, second({ parentRunId: "r2" })] }],
    ["a parent that goes on", 3, "not ended", { thread: two, runs: [RUN, second({ firstSeq: 5 })] }],
    [
      "a run that goes on and lost events",
      2,
      "lost",
      { thread: lost, run: { status: "running", endedAtMs: undefined } },
    ],
    ["a run that nobody knows", 3, "not told", { events: [eventLine(1, START, "r9")] }],
    ["a gap", 4, "event 3 where 2", { events: [START, eventLine(3, OPEN)] }],
    [
      "an event of a run before it begins",
      5,
      "is not the first",
      { thread: two, runs: [RUN, second({})], events: [START, eventLine(2, START, "r2")] },
    ],
    [
      "an annotation of a run before it begins",
      5,
      "is not the first",
      {
        thread: two,
        runs: [RUN, second({})],
        events: [START, eventLine(2, '{"type":"META","metaType":"x","payload":{}}', "r2")],
      },
    ],
    ["an event of a run after its end", 8, "after the last", { thread: two, events: [...EVENTS, START] }],
    ["no event", 4, "something else than an event", { events: [START, "7"] }],
    ["a byte order mark", 4, "something else than an event", { events: [START, `\ufeff${OPEN}`] }],
    ["a line break in an event", 4, "line breaks", { events: [START, OPEN.replace(",", ",\r")] }],
    ["an event that is not JSON", 4, "not JSON", { events: [START, `{"type"}`] }],
    ["a member behind the event", 4, "not JSON", { events: [START, `${OPEN},"x":{}`] }],
    ["two events", 4, "not JSON", { events: [START, `${OPEN},"event":${OPEN}`] }],
    [
      "a number that nothing can hold",
      4,
      "larger than a double",
      { events: [START, '{"type":"CUSTOM","name":"n","value":1e999}'] },
    ],
    [
      "an event beyond all depth",
      4,
      "depth of the JSON value",
      { events: [START, `{"type":"CUSTOM","name":"n","value":${JSON.stringify(nested(512))}}`] },
    ],
    ["an event that lacks something", 4, "no valid event", { events: [START, '{"type":"TEXT_MESSAGE_START"}'] }],
    ["an unknown event", 4, "does not describe", { events: [START, '{"type":"NEWS"}'] }],
    ["an unknown field", 4, "does not describe, at /colour", { events: [START, OPEN.replace("{", '{"colour":1,')] }],
    ["another form of the line", 4, "as an export writes", { events: [START, eventLine(2, OPEN).replace("{", "{ ")] }],
    ["events out of order", 4, "out of order", { events: [START, CONTENT, OPEN, CLOSE, FINISH] }],
    [
      "a run that starts again",
      8,
      "second time",
      { thread: { tail: 6 }, run: { lastSeq: 6 }, events: [...EVENTS, START], end: { events: 6 } },
    ],
    [
      "a run without its end",
      2,
      "running",
      { events: [START, OPEN, CONTENT, CLOSE, '{"type":"META","metaType":"x","payload":{}}'] },
    ],
    [
      "a run with another end",
      2,
      "failed",
      { events: [START, OPEN, CONTENT, CLOSE, '{"type":"RUN_ERROR","message":"no"}'] },
    ],
    [
      "a run with fewer events",
      2,
      "last event is 5",
      {
        run: { lastSeq: 5 },
        runs: [{ ...RUN, lastSeq: 5 }, second({ firstSeq: 5, lastSeq: 5, parentRunId: undefined })],
        events: [START, OPEN, CONTENT, CLOSE, eventLine(5, START, "r2")],
        end: { runs: 2 },
      },
    ],
    ["a wrong count of runs", 8, "counts 2 runs", { end: { runs: 2 } }],
    ["a wrong count of events", 8, "counts 4 events", { end: { events: 4 } }],
    ["a wrong count of compacted events", 8, "counts 1 compacted", { end: { compacted: 1 } }],
    ["another tail", 8, "tail is 6", { thread: { tail: 6 } }],
    ["something after the end", 9, "after the end", { after: [JSON.stringify(END)] }],
    ["a run after events", 4, "does not come after", { events: [START, JSON.stringify(RUN)] }],
    ["compacted, and nothing was lost", 3, "not due", { more: [compacted(0, START)] }],
    ["lost, and not compacted", 3, "is due", { thread: lost, events: [], end: { events: 0 } }],
    [
      "compacted without an end",
      4,
      "before the end",
      { thread: lost, more: [compacted(0, START)], events: [], end: { events: 0, compacted: 1 } },
    ],
    [
      "a compacted event missing",
      4,
      "number 2 where 1",
      { thread: lost, more: [compacted(0, START), compacted(2, FINISH)] },
    ],
    [
      "a compacted event out of order",
      4,
      "out of order",
      { thread: lost, more: [compacted(0, START), compacted(1, CONTENT)] },
    ],
    [
      "a compacted event of elsewhere",
      4,
      "its own",
      { thread: lost, more: [compacted(0, START), compacted(1, FINISH, '"firstSeq":2,"lastSeq":6')] },
    ],
    [
      "a compacted run of another status",
      2,
      "finished",
      {
        thread: lost,
        more: [compacted(0, START), compacted(1, '{"type":"RUN_ERROR","message":"no"}')],
        events: [],
        end: { events: 0, compacted: 2 },
      },
    ],
  ])("%s", async (name, line, problem, parts) => {
    const lines = name === "not JSON" ? ["heddle", ...linesOf(parts).slice(1)] : linesOf(parts);
    const refusal = await refusalOf(lines);
    expect(refusal.problem).toContain(problem);
    expect(refusal.line).toBe(line);
  });

  test("a branch that names two threads", async () => {
    const lines = linesOf({
      thread: two,
      runs: [RUN, second({})],
      events: [
        ...EVENTS,
        eventLine(6, START.replace("t1", "t2"), "r2"),
        eventLine(7, FINISH.replace("t1", "t2"), "r2"),
      ],
      end: { runs: 2, events: 7 },
    });
    expect(await refusalOf(lines)).toMatchObject({ line: 9, problem: expect.stringContaining("t2") });
  });

  const FAILURE = '{"type":"RUN_ERROR","message":"no"}';
  const lone = (runId: string, seq: number, parentRunId: string): object => ({
    ...RUN,
    runId,
    parentRunId,
    kind: "continue",
    status: "failed",
    firstSeq: seq,
    lastSeq: seq,
  });

  test("a branch that names two threads, with a run between them that names none", async () => {
    const third = second({ runId: "r3", firstSeq: 7, lastSeq: 8, parentRunId: "r2" });
    const lines = linesOf({
      thread: { tail: 8 },
      runs: [RUN, lone("r2", 6, "r1"), third],
      events: [...EVENTS, eventLine(6, FAILURE, "r2"), eventLine(7, START.replace("t1", "t2"), "r3")],
    });
    expect(await refusalOf(lines)).toMatchObject({ line: 11, problem: expect.stringContaining("t2") });
  });

  test("a run that does nothing but fail, after one that failed", async () => {
    const failed = EVENTS.with(4, FAILURE);
    const parts = { thread: { tail: 6 }, end: { runs: 2, events: 6 } };
    const runs = [{ ...RUN, status: "failed" }, lone("r2", 6, "r1")];
    const lines = linesOf({ ...parts, runs, events: [...failed, eventLine(6, FAILURE, "r2")] });
    expect(await refusalOf(lines)).toMatchObject({ line: 9, problem: expect.stringContaining("out of order") });
    const after = linesOf({
      ...parts,
      runs: [RUN, lone("r2", 6, "r1")],
      events: [...EVENTS, eventLine(6, FAILURE, "r2")],
    });
    expect((await importThread(memoryStore(), KEY, after)).runs).toBe(2);
  });

  test("a line that is too long", async () => {
    const long = linesOf({ run: { agent: "a".repeat(16 * 1024 * 1024) } });
    expect(await refusalOf(long)).toMatchObject({ line: 2, problem: expect.stringContaining("16777216") });
    await expect(importThread(memoryStore(), KEY, linesOf({}), { maxLineBytes: 150 })).rejects.toMatchObject({
      details: { line: 1 },
    });
  });

  test("nothing at all", async () => {
    expect(await refusalOf([])).toEqual({ line: 1, problem: "is missing: the file was cut" });
  });
});

describe("import", () => {
  test("over a thread that is there changes nothing", async () => {
    const { store, lines } = await filled();
    await store.updateThread(KEY, { title: "mine" });
    await expect(importThread(store, KEY, lines)).rejects.toMatchObject({ code: "thread-exists" });
    expect(await store.thread(KEY)).toMatchObject({ title: "mine" });
  });

  test("leaves nothing unsettled, and tells how far it is", async () => {
    const { lines } = await filled();
    const store = memoryStore();
    const told: string[] = [];
    await importThread(store, KEY, lines, { onSettled: (done, runs) => told.push(`${done}/${runs}`) });
    expect(await store.unsettled()).toEqual([]);
    expect(told).toEqual(["1/5", "2/5", "3/5", "4/5", "5/5"]);
  });

  test("under another id names the thread anew, and runs can follow", async () => {
    const { store, lines } = await filled();
    const imported = await importThread(store, { tenant: "acme", threadId: "copy" }, lines);
    expect(imported.threadId).toBe("copy");
    const copy = { ...KEY, threadId: "copy" };
    await wholeRun(store, copy, "r6", { parentRunId: "r4", kind: "continue" }, said("m6", "On"));
    const { state } = await foldBranch(store, { ...copy, runId: "r6" });
    expect(view(state.reduce).messages.map(({ id }) => id)).toEqual(["m1", "m2", "m4", "m6"]);
    const texts = (await listOf(exportThread(store, copy))).join("");
    expect(texts).not.toContain('"threadId":"t1"');
    expect(await listOf(exportThread(store, KEY))).toEqual(lines);
  });

  test.each(["", "\ud800", ".", "..", "x".repeat(257)])("refuses the id %j", async (threadId) => {
    const { lines } = await filled();
    const refused = importThread(memoryStore(), { tenant: "acme", threadId }, lines);
    await expect(refused).rejects.toMatchObject({ code: "input-invalid", details: { path: "/threadId" } });
  });

  test("writes events anew, so that a text has one form and hides no word; those that we wrote stay as they are", async () => {
    const texts = [
      JSON.stringify(startOf(KEY, "r1")),
      String.raw`{"type":"CUSTOM","name":"escapes","value":"\u0041\/\ud83e\uddf5\ud800\u0000\r\n"}`,
      String.raw`{"type":"CUSTOM","name":"twice","name":"\u0074wice","value":"s\u0065cret"}`,
      String.raw`{"\u0074ype":"CUSTOM","name":"key","value":null}`,
      '{"type":"CUSTOM","name":"signs","value":"\u2028 \u2029 \ufeff \u{10ffff}"}',
      '{ "value" : { "b":1, "a":2, "10":1, "9":2, "__proto__":{"x":1.0} } , "type":"CUSTOM" , "name":"spaces" }',
      `{"type":"CUSTOM","name":"deep","value":${"[".repeat(500)}${"]".repeat(500)}}`,
      '{"type":"CUSTOM","name":",\\"event\\":","value":1e2}',
    ];
    const store = memoryStore();
    const runId = 'r","event":{}';
    await goOn(store, await beginRun(store, KEY, runId, {}, texts), 1, [{ type: "RUN_ERROR", message: "no" }]);
    const bytes = new TextEncoder().encode((await listOf(exportThread(store, KEY))).join(""));
    const other = memoryStore();
    await importThread(other, KEY, splitLines([bytes]));
    const read = await listOf(readAll(other, KEY));
    const written = read.map(({ json }) => json);
    expect(written.slice(0, -1)).toEqual(texts.map((text) => JSON.stringify(JSON.parse(text))));
    expect(written[1]).toBe(String.raw`{"type":"CUSTOM","name":"escapes","value":"A/🧵\ud800\u0000\r\n"}`);
    expect(written[2]).toBe('{"type":"CUSTOM","name":"twice","value":"secret"}');
    const again = memoryStore();
    await importThread(again, KEY, await listOf(exportThread(other, KEY)));
    expect(await listOf(readAll(again, KEY))).toEqual(read);
    expect(read.map((event) => event.runId)).toEqual(texts.concat("end").map(() => runId));
  });

  test("passes on what its lines fail with, and changes nothing", async () => {
    const { lines } = await filled();
    const store = memoryStore();
    async function* broken(): AsyncGenerator<string> {
      yield* lines.slice(0, 5);
      throw new Error("The disk is gone.");
    }
    await expect(importThread(store, KEY, broken())).rejects.toThrow("The disk is gone.");
    expect(await store.thread(KEY)).toBeUndefined();
  });
});

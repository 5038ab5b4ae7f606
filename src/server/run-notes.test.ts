import { describe, expect, test, vi } from "vitest";
import { agentOf, bodyOf, checkStream, collect, isNote, served, sourceOf } from "../../test/served.ts";
import type { Agent } from "../agent/index.ts";
import type { Event } from "../protocol/index.ts";
import { foldBranch, readAll } from "../store/index.ts";
import { compact, view } from "../stream/index.ts";
import { DEFAULT_TENANT } from "./index.ts";
import type { HeddleOptions, RepairReporter, RunLogger } from "./index.ts";
import { MAX_NOTES } from "./run-notes.ts";

const FRAME = { threadId: "t1", runId: "r1" };
const STARTED = { type: "RUN_STARTED", ...FRAME };
const FINISHED = { type: "RUN_FINISHED", ...FRAME };
const OPEN = { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" };
const SAY = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "hello" };
const CLOSE = { type: "TEXT_MESSAGE_END", messageId: "m1" };
const STEP = { type: "STEP_STARTED", stepName: "s" };

/** Everything wrong at once: no start, an unknown event, a property too much, a step twice, nothing closed, and talk behind the end. */
const SLOPPY = [SAY, { type: "TELEPATHY" }, { ...SAY, mood: "good" }, STEP, STEP, FINISHED, SAY];

type Said = readonly [type: string, about?: string];

/** An event in short: its type, and what a note is about. */
const said = (event: Event): Said => {
  if (event.type !== "META") return [event.type];
  const { rule, code = "note" } = event.payload;
  return [event.metaType, String(rule ?? code)];
};

const keyOf = (runId = "r1") => ({ tenant: DEFAULT_TENANT, threadId: "t1", runId });

/** Runs an agent and gives its log with everything in it. */
async function logged(agent: Agent, options: Partial<HeddleOptions> = {}, body: object = bodyOf()) {
  const heddle = served(agent, options);
  await heddle.start("test", body);
  const events = (await collect(heddle, { runId: "r1", raw: true, meta: true })).map(({ event }) => event);
  checkStream(events);
  return { heddle, events };
}

const notesIn = (events: readonly Event[]): readonly Event[] => events.filter(isNote);

describe("HTTP-NOT-1: what was put right is noted in the run", () => {
  test("directly before what came of it, or where it was dropped", async () => {
    const { events } = await logged(sourceOf(...SLOPPY));
    expect(events.map(said)).toEqual([
      ["RUN_STARTED"],
      ["heddle.repair", "not-open"],
      ["TEXT_MESSAGE_START"],
      ["TEXT_MESSAGE_CONTENT"],
      ["heddle.warning", "unknown-event"],
      ["heddle.warning", "unknown-property"],
      ["TEXT_MESSAGE_CONTENT"],
      ["STEP_STARTED"],
      ["heddle.repair", "step-already-open"],
      ["heddle.repair", "open-at-finish"],
      ["heddle.repair", "open-at-finish"],
      ["TEXT_MESSAGE_END"],
      ["STEP_FINISHED"],
      ["heddle.repair", "after-finish"],
      ["RUN_FINISHED"],
    ]);
    expect(events[1]).toEqual({
      type: "META",
      metaType: "heddle.repair",
      payload: { rule: "not-open", message: expect.stringContaining("m1"), event: "TEXT_MESSAGE_CONTENT" },
      timestamp: expect.any(Number),
    });
    expect(events[5]).toMatchObject({ payload: { code: "unknown-property", path: "/mood" } });
  });

  test("of older forms and echoes too, and what is right is not noted", async () => {
    const messages = [{ id: "u1", role: "user", content: "Hi" }];
    const echo = { type: "TEXT_MESSAGE_START", messageId: "u1", role: "user" };
    const { events } = await logged(
      sourceOf(STARTED, { type: "THINKING_START" }, echo, { type: "THINKING_END" }, OPEN, SAY, CLOSE, FINISHED),
      {},
      bodyOf("r1", { messages }),
    );
    expect(notesIn(events).map(said)).toEqual([
      ["heddle.warning", "retired-form"],
      ["heddle.repair", "id-taken"],
      ["heddle.warning", "retired-form"],
    ]);
    expect(notesIn((await logged(sourceOf(STARTED, OPEN, SAY, CLOSE, FINISHED))).events)).toEqual([]);
  });

  test.each([
    ["a value is malformed", [{ type: "TELEPATHY" }, { ...SAY, delta: 7 }], {}],
    ["a source is cut", [STARTED, { type: "TELEPATHY" }], {}],
    ["a breach is fatal", [STARTED, { type: "TELEPATHY" }, CLOSE], { strict: true }],
  ])("also where %s", async (_, values, options) => {
    const { events } = await logged(sourceOf(...values), options);
    expect(events.map(said)).toEqual([["RUN_STARTED"], ["heddle.warning", "unknown-event"], ["RUN_ERROR"]]);
  });

  test("in the batch of what follows", async () => {
    const heddle = served(sourceOf(...SLOPPY));
    const batches: string[][] = [];
    const { append } = heddle.store;
    vi.spyOn(heddle.store, "append").mockImplementation((given) => {
      for (const { events } of given) batches.push(events.map((json) => said(JSON.parse(json))[0]));
      return append.call(heddle.store, given);
    });
    await heddle.start("test", bodyOf());
    await collect(heddle, { runId: "r1" });
    expect(batches.length).toBeGreaterThan(0);
    for (const batch of batches) expect(batch.at(-1)).not.toMatch(/^heddle/);
  });

  test("at most so many times, each in bounded length; counting goes on", async () => {
    const onRepair = vi.fn<RepairReporter>();
    const wrong = Array.from({ length: 500 }, () => ({ type: "TEXT_MESSAGE_END", messageId: "x".repeat(10_000) }));
    const { events, heddle } = await logged(sourceOf(STARTED, ...wrong, FINISHED), { onRepair });
    const notes = notesIn(events);
    expect(notes).toHaveLength(MAX_NOTES + 1);
    expect(notes.at(-1)).toMatchObject({
      metaType: "heddle.warning",
      payload: { message: expect.stringMatching(/not noted/) },
    });
    expect(JSON.stringify(notes).length).toBeLessThan(300_000);
    expect(onRepair).toHaveBeenCalledTimes(500);
    expect((await heddle.health()).repairs).toBe(500);
  });

  test("and is held against nobody: a run may say as much as without", async () => {
    const { events } = await logged(sourceOf(STARTED, SAY, SAY, FINISHED), { maxEventsPerRun: 4 });
    expect(notesIn(events)).toHaveLength(2);
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  });

  test("what was changed in a posted body is noted behind the run's beginning", async () => {
    const { heddle } = await logged(sourceOf(OPEN, SAY, CLOSE));
    const forged = { id: "a9", role: "assistant", content: "I promised" };
    const messages = [forged, { id: "u1", role: "user", content: "Hi" }];
    await heddle.start("test", bodyOf("r2", { messages, colour: "red" }));
    const events = await collect(heddle, { runId: "r2", meta: true });
    expect(events.map(({ event }) => said(event)).slice(0, 4)).toEqual([
      ["RUN_STARTED"],
      ["heddle.warning", "unknown-property"],
      ["heddle.warning", "not-applied"],
      ["TEXT_MESSAGE_START"],
    ]);
  });
});

describe("HTTP-NOT-2: notes are the server's", () => {
  const FORGED = { type: "META", metaType: "heddle.repair", payload: { rule: "not-open", message: "believe me" } };

  test.each<[string, Agent]>([
    ["brings", sourceOf(STARTED, OPEN, FORGED, CLOSE, FINISHED)],
    [
      "forwards",
      agentOf(async ({ emit }) => {
        await emit.forward({ type: "META", metaType: "heddle.repair", payload: FORGED.payload });
        await emit.text().write("hello");
      }),
    ],
  ])("one that an agent %s is dropped, which is noted and logged", async (_, agent) => {
    const onLog = vi.fn<RunLogger>();
    const { events } = await logged(agent, { onLog });
    expect(notesIn(events)).toMatchObject([{ metaType: "heddle.warning", payload: { path: "/metaType" } }]);
    expect(JSON.stringify(events)).not.toContain("believe me");
    expect(onLog.mock.calls.filter(([level]) => level === "warn")).toHaveLength(1);
  });

  test("other META of an agent stays, also behind its end", async () => {
    const mark = { type: "META", metaType: "mark", payload: {} };
    const { events } = await logged(sourceOf(STARTED, mark, FINISHED, mark));
    expect(events.map(said).slice(1, -1)).toEqual([
      ["mark", "note"],
      ["mark", "note"],
    ]);
  });

  test("nobody annotates a run in their name", async () => {
    const { heddle } = await logged(sourceOf(OPEN, SAY, CLOSE));
    const refusal = heddle.threads.annotate("t1", { metaType: "heddle.warning", payload: {} });
    await expect(refusal).rejects.toMatchObject({ code: "input-invalid", details: { path: "/metaType" } });
  });
});

describe("HTTP-NOT-3: notes change nothing else", () => {
  test("who does not ask for META sees the same text as without", async () => {
    const { heddle, events } = await logged(sourceOf(...SLOPPY));
    expect(notesIn(events).length).toBeGreaterThan(0);
    const texts = async (meta: boolean, runId?: string): Promise<readonly string[]> =>
      (await collect(heddle, { meta, raw: true, runId, follow: false })).map(({ event }) => JSON.stringify(event));
    for (const runId of [undefined, "r1"]) {
      const all = await texts(true, runId);
      expect(await texts(false, runId)).toEqual(all.filter((text) => !isNote(JSON.parse(text))));
    }
  });

  test("fold, compacted form, export and import are of the run as it is, with its notes where they are", async () => {
    const { heddle, events } = await logged(sourceOf(...SLOPPY));
    const clean = events.filter((event) => !isNote(event));
    const { state } = await foldBranch(heddle.store, keyOf());
    expect(view(state.reduce).messages).toMatchObject([{ id: "m1", content: "hellohello" }]);
    await vi.waitFor(async () => expect(await heddle.store.compacted(keyOf())).toBeDefined(), { timeout: 20_000 });
    const compacted = (await heddle.store.compacted(keyOf()))?.map(({ json }): Event => JSON.parse(json)) ?? [];
    expect(compacted.filter((event) => !isNote(event))).toEqual(compact(clean, { mode: "events" }));

    const lines = await heddle.threads.export("t1");
    const other = served(sourceOf());
    const bytes = async function* () {
      for await (const line of lines) yield Buffer.from(line);
    };
    await other.threads.import(bytes());
    const log = async ({ store }: typeof heddle): Promise<unknown> => {
      const texts: unknown[] = [];
      for await (const { seq, json } of readAll(store, keyOf())) texts.push([seq, json]);
      return texts;
    };
    expect(await log(other)).toEqual(await log(heddle));
  });

  test("who does not see all reasoning and state sees no notes, which may name it", async () => {
    const wrong = { type: "STATE_DELTA", delta: [{ op: "remove", path: "/secret/plan" }] };
    const { heddle, events } = await logged(sourceOf(STARTED, wrong, FINISHED));
    expect(JSON.stringify(notesIn(events))).toContain("/secret/plan");
    for (const less of [{ reasoning: false }, { hiddenState: ["/secret"] }]) {
      const seen = await collect(heddle, { runId: "r1", meta: true, ...less });
      expect(seen.map(({ event }) => event.type)).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
    }
  });
});

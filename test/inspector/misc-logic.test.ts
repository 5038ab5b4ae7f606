/** What the pages Threads, Health and Connect work out by themselves: rates, axes, file names, ids, verdicts, words. */
import { describe, expect, test } from "vitest";
import { ERRORS } from "heddle/protocol";
import { ADVICE, RULES } from "heddle/stream";
import { REPAIRS } from "heddle/stream/repair";
import { agentName, serveLine, verdictOf } from "../../inspector/pages/connect/verdict.ts";
import { linePath, niceTop } from "../../inspector/pages/health/chart.ts";
import { NO_HISTORY, remember } from "../../inspector/pages/health/status-history.ts";
import { copyId, exportName, threadIn } from "../../inspector/pages/threads/export-file.ts";
import { neighbourOf, targetOf } from "../../inspector/pages/threads/row-target.ts";
import { RunFactsIndex } from "../../inspector/runs/run-facts.ts";
import { codeWords } from "../../inspector/server/code-words.ts";
import { ruleClause, ruleWords } from "../../inspector/server/rule-words.ts";
import { formatClock, formatDuration, formatMoment, formatPreciseClock } from "../../inspector/ui/format.ts";

type Told = Parameters<typeof remember>[1];

const status = (second: number, events: number, startedSecond = 0): Told =>
  Object({
    startedAt: new Date(startedSecond * 1000).toISOString(),
    now: new Date(second * 1000).toISOString(),
    runs: { running: 1 },
    viewers: 2,
    totals: { events },
  });

describe("what the server said becomes rates", () => {
  test("a counter becomes events a second, and begins anew where the server does", () => {
    const told = [status(10, 100), status(12, 140), status(22, 30, 19)];
    const { samples } = told.reduce(remember, NO_HISTORY);
    expect(samples.map(({ eventsPerSecond }) => eventsPerSecond)).toEqual([undefined, 20, 10]);
  });

  test("only the last five minutes are kept", () => {
    const told = Array.from({ length: 400 }, (_, index) => status(index * 2, index));
    expect(told.reduce(remember, NO_HISTORY).samples).toHaveLength(150);
  });

  test("axes end at round numbers, and lines at the edges of their field", () => {
    expect([0, 0.3, 1, 7, 12, 480].map(niceTop)).toEqual([1, 0.5, 1, 10, 20, 500]);
    const field = { width: 100, height: 10, fromX: 0, toX: 2, maxY: 4 };
    expect(
      linePath(
        [
          { x: 0, y: 0 },
          { x: 2, y: 4 },
        ],
        field,
      ),
    ).toBe("M0.0 10.0L100.0 0.0");
  });
});

describe("files of threads", () => {
  test("are called after the thread, in characters that every file system takes", () => {
    expect(exportName({ threadId: "t/1", title: "../<b>Café</b> 🧮" })).toBe("b-Cafe-b.ndjson");
    expect(exportName({ threadId: "🧮" })).toBe("thread.ndjson");
    expect(exportName({ threadId: "x".repeat(256) })).toHaveLength(67);
  });

  test("say which thread they hold, and a copy has an id that is not too long", () => {
    expect(threadIn('{"heddle":"thread","thread":{"threadId":"t1"}}\n{}\n')).toBe("t1");
    expect([threadIn("nothing\n"), threadIn("")]).toEqual([undefined, undefined]);
    expect([copyId("t"), copyId("t-copy"), copyId("t-copy-9")]).toEqual(["t-copy", "t-copy-2", "t-copy-10"]);
    expect(copyId("x".repeat(256))).toHaveLength(256);
  });
});

test("keys lead through rows, and to one that stays where some leave", () => {
  const rows = ["a", "b", "c"];
  expect(["ArrowDown", "ArrowUp", "Home", "End", "x"].map((key) => targetOf(key, rows, 2))).toEqual([
    "c",
    "b",
    "a",
    "c",
    undefined,
  ]);
  expect([neighbourOf(rows, ["b"]), neighbourOf(rows, ["b", "c"]), neighbourOf(rows, rows)]).toEqual([
    "c",
    "a",
    undefined,
  ]);
});

describe("agents elsewhere", () => {
  test("repairs alone do not make one unusable", () => {
    const repair = { kind: "repair", message: "" } as const;
    expect(verdictOf({ ok: true, reached: true, findings: [] })).toBe("works");
    expect(verdictOf({ ok: false, reached: true, findings: [repair] })).toBe("repaired");
    expect(verdictOf({ ok: false, reached: true, findings: [repair, { kind: "error", message: "" }] })).toBe("broken");
    expect(verdictOf({ ok: false, reached: false, findings: [] })).toBe("broken");
  });

  test("are named by their address, and a shell takes the line as it is", () => {
    expect(
      ["http://127.0.0.1:8000/agui", "https://support.example.com/", "http://x/v1/My%20Bot"].map(agentName),
    ).toEqual(["agent", "support", "my-20bot"]);
    expect(serveLine("http://h/a")).toBe("npx heddle serve --agent a=http://h/a");
    expect(serveLine("http://h/a?k='1'&b")).toBe(String.raw`npx heddle serve --agent 'a=http://h/a?k='\''1'\''&b'`);
  });
});

test("every rule and every code has words", () => {
  for (const rule of Object.keys({ ...RULES, ...ADVICE, ...REPAIRS })) {
    expect([rule, ruleWords(rule), ruleClause(rule)]).toEqual([rule, expect.any(String), expect.stringMatching(/^R-/)]);
  }
  for (const code of Object.keys(ERRORS)) expect([code, codeWords(code)]).toEqual([code, expect.any(String)]);
  expect([ruleWords("constructor"), codeWords("toString")]).toEqual([undefined, undefined]);
});

test("of runs that go on at the same time each has its own events, tools and notes", () => {
  const events = [
    ["a", { type: "RUN_STARTED", threadId: "t", runId: "a" }],
    ["b", { type: "RUN_STARTED", threadId: "t", runId: "b" }],
    ["a", { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "look" }],
    ["b", { type: "META", metaType: "note", payload: {} }],
    ["a", { type: "RUN_FINISHED", threadId: "t", runId: "a" }],
  ] as const;
  const index = new RunFactsIndex();
  const entries = events.map(([runId, event], at) => ({ seq: at + 1, id: `${at}`, runId, event, atMs: undefined }));
  index.take(entries, 3);
  index.take(entries, entries.length);
  expect(index.of("a")).toMatchObject({ events: 3, toolCalls: 1, notes: [] });
  expect(index.of("b")).toMatchObject({ events: 2, toolCalls: 0, notes: [{ type: "note", seq: 4 }] });
});

describe("times are told, whatever they are", () => {
  test("clocks that went back, and years", () => {
    expect([-210_000, -5, 0, 340, 3_600_000, 40_000_000_000].map(formatDuration)).toEqual([
      "−3 min 30 s",
      "−5 ms",
      "0 ms",
      "340 ms",
      "1 h 0 min",
      "462 d 23 h",
    ]);
  });

  test("moments before the epoch, and beyond every calendar", () => {
    expect(formatPreciseClock(-1)).toMatch(/^\d\d:\d\d:\d\d\.999$/);
    for (const ms of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
      expect(formatClock(ms)).toMatch(/^\d\d:\d\d:\d\d$/);
      expect(formatMoment(ms)).not.toContain("Invalid");
    }
  });
});

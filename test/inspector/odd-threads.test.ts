/** Conversations that no author of the pages had in mind: times beyond the calendar, patches and messages of thousands of parts. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Event } from "../../src/protocol/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { importThread, memoryStore } from "../../src/store/index.ts";
import { inspecting, serving } from "./inspected.ts";

const MANY = 5000;
const BEGAN_MS = Date.UTC(2026, 0, 5, 9);
const SAID: readonly Event[] = [
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Later than every calendar" },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
];
const { visit } = inspecting();
const store = memoryStore();
let server: Served;
beforeAll(async () => {
  await write("beyond", SAID, Number.MAX_SAFE_INTEGER);
  const keys = Array.from({ length: MANY * 2 }, (_, key) => [`key${key}`, { id: key }]);
  const delta = Array.from({ length: MANY }, (_, key) => ({
    op: "replace" as const,
    path: `/key${key}/id`,
    value: -1,
  }));
  const steps = Array.from({ length: 40 }, (_, depth) => `step ${depth}`);
  await write("many", [
    { type: "STATE_SNAPSHOT", snapshot: Object.fromEntries(keys) },
    { type: "STATE_DELTA", delta },
    ...SAID,
    ...Array.from({ length: 200 }, (_, call): readonly Event[] => [
      { type: "TOOL_CALL_START", toolCallId: `c${call}`, toolCallName: `look_${call}`, parentMessageId: "m" },
      { type: "TOOL_CALL_END", toolCallId: `c${call}` },
    ]).flat(),
    { type: "TOOL_CALL_RESULT", messageId: "r", toolCallId: "c199", content: "Seen it all", role: "tool" },
    { type: "REASONING_ENCRYPTED_VALUE", subtype: "tool-call", entityId: "c199", encryptedValue: "abc" },
    ...steps.map((stepName): Event => ({ type: "STEP_STARTED", stepName })),
    ...steps.toReversed().map((stepName): Event => ({ type: "STEP_FINISHED", stepName })),
  ]);
  await write("unnamed", [
    { type: "STATE_SNAPSHOT", snapshot: { "": { " ": 1 }, other: 1 } },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "// ", value: 2 }] },
  ]);
  server = await serving({ agents: [], store });
});
afterAll(() => server.close());

/** Writes a thread of one run into the store. */
async function write(threadId: string, events: readonly Event[], atMs = BEGAN_MS): Promise<void> {
  const runId = "r1";
  const input = { threadId, runId, messages: [{ id: "u", role: "user" as const, content: "Begin" }] };
  const all: readonly Event[] = [
    { type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0", input },
    ...events,
    { type: "RUN_FINISHED", threadId, runId, outcome: { type: "success" } },
  ];
  const times = { createdAtMs: BEGAN_MS, updatedAtMs: BEGAN_MS };
  const about = { threadId, tail: all.length, floor: 0, head: runId, title: threadId, archived: false, metadata: {} };
  const run = { runId, agent: "a", status: "finished", firstSeq: 1, lastSeq: all.length };
  await importThread(store, { tenant: "default" }, [
    JSON.stringify({ heddle: "thread", version: 1, thread: { ...about, ...times } }),
    JSON.stringify({ type: "run", ...run, startedAtMs: BEGAN_MS, endedAtMs: BEGAN_MS }),
    ...all.map((event, place) =>
      JSON.stringify({ type: "event", seq: place + 1, runId, event: { ...event, timestamp: atMs } }),
    ),
    JSON.stringify({ type: "end", runs: 1, events: all.length, compacted: 0 }),
  ]);
}

test("times beyond the calendar are shown on every page", async () => {
  const page = await visit(server.url, { at: "#/timeline/beyond?event=3" });
  await page.getByLabel("Details").getByText("TEXT_MESSAGE_CONTENT", { exact: true }).first().waitFor();
  await page.goto(`${server.url}/#/travel/beyond`);
  await page.getByRole("log", { name: "Messages" }).getByText("Later than every calendar").waitFor();
  await page.goto(`${server.url}/#/branches/beyond`);
  await expect
    .poll(() => page.getByRole("region", { name: "The run" }).textContent())
    .toContain("Later than every calendar");
});

test("a patch of thousands of places is told in part, alone and compared", async () => {
  const page = await visit(server.url, { at: "#/travel/many?at=3" });
  const changed = page.getByRole("list", { name: "What it changed" });
  await changed.getByText("4,980 more: they are in the JSON").waitFor();
  expect(await changed.getByRole("listitem").count()).toBe(21);
  await page.getByRole("button", { name: "Previous event", exact: true }).last().click();
  const state = page.getByRole("region", { name: "State as a tree" });
  await state.getByRole("button", { name: "4,900 more" }).click();
  await state.getByRole("button", { name: "4,000 more" }).waitFor();
  await page.goto(`${server.url}/#/timeline/many?event=3`);
  await page.getByText("4,900 more: see below").waitFor();
});

test("members without a name, or with one that cannot be seen, are told as JSON writes them", async () => {
  const page = await visit(server.url, { at: "#/travel/unnamed?at=3" });
  const state = page.getByRole("region", { name: "State as a tree" });
  await expect.poll(() => state.innerText()).toMatch(/^\{\s*"": \{\s*" ": 2\s*other: 1$/);
  await page.goto(`${server.url}/#/travel/unnamed?at=3&from=2`);
  await state.getByRole("button", { name: '"" 1 changed' }).waitFor();
  await expect.poll(() => state.innerText()).toMatch(/" ":/);
});

test("of a message with hundreds of calls the newest are shown, and the others on demand", async () => {
  const page = await visit(server.url, { at: "#/travel/many" });
  const messages = page.getByRole("log", { name: "Messages" });
  await messages.getByText("look_199").waitFor();
  expect(await messages.getByText("look_149").count()).toBe(0);
  await messages.getByRole("button", { name: "150 earlier calls" }).click();
  await messages.getByText("look_149").waitFor();
});

test("what stands forty steps deep can be read", async () => {
  const page = await visit(server.url, { at: "#/timeline/many?event=448" });
  const selected = page.getByRole("row", { selected: true });
  await selected.getByText("step 39").waitFor();
  const [row, words] = await Promise.all([selected.boundingBox(), selected.getByText("STEP_STARTED").boundingBox()]);
  expect(words?.x).toBeLessThan((row?.x ?? 0) + (row?.width ?? 0) / 2);
});

test("a run or subagent in the address that is not here is said to be asked for, and can be taken out", async () => {
  const page = await visit(server.url, { at: "#/timeline/many?only=gone&subagent=nobody" });
  await page.getByRole("heading", { name: "No event matches" }).waitFor();
  expect(await page.getByLabel("Run", { exact: true }).locator("option:checked").textContent()).toBe("gone: not here");
  await page.getByLabel("Run", { exact: true }).selectOption("All runs");
  expect(await page.getByLabel("Subagent").locator("option:checked").textContent()).toBe("nobody: not here");
  await page.getByLabel("Subagent").selectOption("All agents");
  await page.getByRole("treegrid", { name: "Events" }).waitFor();
});

test("the result of a call is told with it, whatever comes behind", async () => {
  const page = await visit(server.url, { at: "#/timeline/many?call=c199" });
  await page.getByRole("heading", { name: "Result" }).waitFor();
  expect(await page.getByLabel("What it says").textContent()).toContain("Seen it all");
});

test("a group is no match by what stands before it", async () => {
  const page = await visit(server.url, { at: "#/timeline/many?q=state_delta&message=m" });
  await page.getByRole("complementary", { name: "Details" }).waitFor();
  await expect.poll(() => page.getByText(/^(\d+ of )?1 match$/).textContent()).toBe("1 match");
});

test("the key that copies does nothing where there is nothing, now or later", async () => {
  const page = await visit(server.url, { at: "#/timeline/later", mayComplain: /404/ });
  await page.getByRole("heading", { name: "Nothing has happened here yet" }).waitFor();
  await page.keyboard.press("c");
  await write("later", SAID);
  await page.getByRole("treegrid", { name: "Events" }).waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
});

test("why a branch cannot start is said in the dialog that asked for it, with what was written", async () => {
  const page = await visit(server.url, { at: "#/branches/beyond", mayComplain: /404/ });
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Fork from here" });
  await dialog.getByLabel("Message").fill("For nobody");
  await dialog.getByRole("button", { name: "Start the branch" }).click();
  await expect.poll(() => dialog.getByRole("alert").textContent()).toMatch(/agent/);
  expect(await dialog.getByLabel("Message").inputValue()).toBe("For nobody");
});

/** The page Timeline in a real browser: events as they come, put together, found, looked at, linked to and copied. */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connect } from "heddle/client";
import { load } from "../../examples/agents/load.ts";
import { state } from "../../examples/agents/state.ts";
import { subagents } from "../../examples/agents/subagents.ts";
import { tools } from "../../examples/agents/tools.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { findings, inspecting, overflows, serving } from "./inspected.ts";
import { importLargeThread } from "./large-thread.ts";

const { visit } = inspecting();
let server: Served;
beforeAll(async () => {
  const store = memoryStore();
  await importLargeThread(store, { threadId: "long", events: 8000 });
  server = await serving({ agents: [tools, subagents, state, load], store });
  await say("tools", "talk", "r1", "What is the weather in Ulm?");
  await say("subagents", "talk", "r2", "weaving fail");
  await say("state", "talk", "r3", "Bake");
});
afterAll(() => server.close());

async function say(agent: string, threadId: string, runId: string, content: string, props?: object): Promise<string> {
  const messages = [{ id: `user-${runId}`, role: "user", content }];
  const response = await fetch(`${server.url}/agents/${agent}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId, runId, messages, protocolVersion: "1.0", forwardedProps: props }),
  });
  return response.text();
}

const grid = (page: Page): Locator => page.getByRole("treegrid", { name: "Events" });
const rows = (page: Page): Locator => grid(page).getByRole("row");
const details = (page: Page): Locator => page.getByRole("complementary", { name: "Details" });

test("runs are headed by agent and status; what they hold opens down to the single events", async () => {
  const page = await visit(server.url, { at: "#/timeline/talk" });
  await grid(page).press("Home");
  await rows(page)
    .filter({ hasText: /^tools.*Finished.*tokens/ })
    .waitFor();
  const call = rows(page).filter({ hasText: /^get_weather/ });
  expect(await call.getAttribute("aria-expanded")).toBe("false");
  await call.click();
  await details(page).getByRole("heading", { name: "Tool call: get_weather" }).waitFor();
  await details(page).getByText("Result").waitFor();
  await call.dblclick();
  await rows(page).filter({ hasText: "TOOL_CALL_ARGS" }).first().waitFor();
  await rows(page)
    .filter({ hasText: /^researcher.*failed.*1 error/ })
    .waitFor();
});

test("kinds, text and grouping are in the address, and a link restores them with what is selected", async () => {
  const page = await visit(server.url, { at: "#/timeline/talk" });
  await page.getByRole("button", { name: /^Tool calls/ }).click();
  await page.waitForFunction(() => location.hash.includes("kinds=tools"));
  await page.keyboard.press("/");
  await page.keyboard.type("Ulm");
  await page.getByText(/^\d+ match/).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText(/^1 of \d+ match/).waitFor();
  await page.getByLabel("Group").selectOption("flat");
  await page.waitForFunction(() =>
    [/event=\d+/, /group=flat/, /q=Ulm/, /kinds=tools/].every((part) => part.test(location.hash)),
  );
  const link = page.url().slice(server.url.length + 1);
  const other = await visit(server.url, { at: link });
  await rows(other).and(other.locator("[aria-selected=true]")).waitFor();
  await details(other).waitFor();
  expect(await other.getByRole("button", { name: /^Tool calls/ }).getAttribute("aria-pressed")).toBe("true");
  expect(await other.getByLabel("Search events").inputValue()).toBe("Ulm");
  // The first is the head; the log is filtered as it is read.
  await expect
    .poll(async () => (await rows(other).allTextContents()).slice(1).filter((text) => !text.includes("TOOL_CALL")))
    .toEqual([]);
  await other.getByLabel("Search events").fill("nothing like this");
  await other.getByRole("heading", { name: "No event matches" }).waitFor();
});

test.each([
  ["run=run-3", "Run of researcher"],
  ["call=call-2-search", "Tool call: search"],
  ["message=answer-4", "Message: assistant"],
  ["event=5000", "TEXT_MESSAGE_CONTENT"],
])("a link with %s leads there in a long log", async (jump, title) => {
  const page = await visit(server.url, { at: `#/timeline/long?${jump}` });
  await details(page).getByRole("heading", { name: title }).waitFor();
  const selected = rows(page).and(page.locator("[aria-selected=true]"));
  await selected.waitFor();
  const id = (await selected.getAttribute("id")) ?? "none";
  await expect.poll(() => grid(page).getAttribute("aria-activedescendant")).toBe(id);
});

test("repairs and errors stand at their place with their rule, are counted, and can be shown alone", async () => {
  const page = await visit(server.url, { at: "#/timeline/long?problems=1" });
  const repair = rows(page).filter({ hasText: /Repair.*patch-unappliable.*could not be applied/ });
  await repair.click();
  await details(page).getByText("R-STATE-08").waitFor();
  await rows(page)
    .filter({ hasText: /researcher.*Failed.*1 error/ })
    .waitFor();
  await rows(page)
    .filter({ hasText: /RUN_ERROR.*The model hung up/ })
    .waitFor();
  await expect.poll(() => rows(page).filter({ hasText: "TEXT_MESSAGE_CONTENT" }).count()).toBe(0);
});

test("the keyboard alone selects, opens, closes, looks at details and copies", async () => {
  const page = await visit(server.url, { at: "#/timeline/talk" });
  await grid(page).focus();
  await page.keyboard.press("Home");
  const active = (): Promise<string> =>
    grid(page).evaluate((list) => {
      const id = list.getAttribute("aria-activedescendant");
      return id === null ? "" : (document.getElementById(id)?.textContent ?? "");
    });
  const selected = rows(page).and(page.locator("[aria-selected=true]"));
  await selected.filter({ hasText: /^tools/ }).waitFor();
  await expect.poll(active).toMatch(/^tools/);
  await page.keyboard.press("ArrowLeft");
  await selected.and(page.locator("[aria-expanded=false]")).waitFor();
  await page.keyboard.press("ArrowDown");
  await selected.filter({ hasText: /^subagents/ }).waitFor();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await selected.filter({ hasText: /^RUN_STARTED/ }).waitFor();
  await page.keyboard.press("Enter");
  await details(page).getByRole("heading", { name: "RUN_STARTED" }).waitFor();
  await page.keyboard.press("c");
  const dialog = page.getByRole("dialog", { name: "Copy events" });
  await dialog.getByLabel("Fixture").waitFor();
  await dialog.getByLabel("This run").check();
  // The clipboard is the one of the page in front, whichever test that is of.
  await page.evaluate(() => {
    const value = { writeText: async (text: string) => void Reflect.set(window, "copied", text) };
    Object.defineProperty(navigator, "clipboard", { value });
  });
  await dialog.getByRole("button", { name: "Copy fixture" }).press("Enter");
  await page.getByText("Fixture copied.").waitFor();
  const copied = await page.evaluate((): string => Reflect.get(window, "copied"));
  const types = copied
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line).type);
  expect([types[0], types.at(-1)]).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
});

test("what comes new is followed; paused it waits, and after scrolling up it is counted", async () => {
  /** Has a run say 30 words, and gives the row that is the last one then. */
  const last = async (runId: string): Promise<Locator> => {
    await say("load", "live", runId, "go", { tokens: 30 });
    const { lastEventId }: { lastEventId: string } = await (await fetch(`${server.url}/threads/live`)).json();
    const count = Number(lastEventId.slice(-16)) + 1;
    return page.locator(`[aria-rowcount="${count}"] [aria-rowindex="${count}"]`);
  };
  const page = await visit(server.url, { at: "#/threads" });
  const first = await last("r1");
  await page.goto(`${server.url}/#/timeline/live?group=flat`);
  await first.waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  const second = await last("r2");
  await page.getByRole("button", { name: /Resume \(\d+ new\)/ }).click();
  await second.waitFor();
  await expect.poll(() => page.getByRole("button", { name: /Newest/ }).count()).toBe(0);
  await grid(page).evaluate((list) => list.scrollTo({ top: 0 }));
  await page.getByRole("button", { name: "Newest" }).waitFor();
  const third = await last("r3");
  await page.getByRole("button", { name: /Newest \(\d+ new\)/ }).click();
  await third.filter({ hasText: "RUN_FINISHED" }).waitFor();
});

test("who opens something at the end stays with it while more comes", async () => {
  await say("load", "opening", "r1", "go", { tokens: 60 });
  const page = await visit(server.url, { at: "#/timeline/opening" });
  await rows(page).filter({ hasText: "RUN_FINISHED" }).waitFor();
  await rows(page).filter({ hasText: "60 parts" }).dblclick();
  await page.getByRole("button", { name: "Newest", exact: true }).waitFor();
  await say("load", "opening", "r2", "go", { tokens: 60 });
  await page.getByRole("button", { name: /Newest \(\d+ new\)/ }).waitFor();
  expect(await grid(page).evaluate((list) => list.scrollTop)).toBe(0);
  await rows(page).filter({ hasText: "60 parts" }).first().dblclick();
  await expect.poll(() => page.getByRole("button", { name: /Newest/ }).count()).toBe(0);
});

test.each(["light", "dark"] as const)("axe finds nothing on a desk and on a phone, %s", async (colorScheme) => {
  const page = await visit(server.url, { at: "#/timeline/talk?call=none", colorScheme });
  await page.getByText("What the link points to is not in this thread.").waitFor();
  await rows(page).nth(3).click();
  await details(page).waitFor();
  expect(await findings(page)).toEqual([]);
  const phone = await visit(server.url, {
    at: "#/timeline/long?event=7900",
    colorScheme,
    width: "phone",
    hasTouch: true,
  });
  await details(phone).waitFor();
  expect(await overflows(phone)).toBe(false);
  expect(await findings(phone)).toEqual([]);
  await details(phone).getByRole("button", { name: "Close the details" }).click();
  await grid(phone).press("End");
  await rows(phone).last().click();
  const pane = await details(phone).boundingBox();
  const low = rows(phone).and(phone.locator("[aria-selected=true]"));
  await expect
    .poll(async () => ((await low.boundingBox())?.y ?? Infinity) + 40)
    .toBeLessThanOrEqual((pane?.y ?? 0) + 1);
});

test("a thread that nothing was said in is empty until something is", async () => {
  const page = await visit(server.url, { at: "#/timeline/nobody-yet", mayComplain: /404/ });
  await page.getByRole("heading", { name: "Nothing has happened here yet" }).waitFor();
  await say("load", "nobody-yet", "r1", "go", { tokens: 3 });
  await rows(page).filter({ hasText: "RUN_FINISHED" }).waitFor();
  await expect.poll(() => grid(page).getAttribute("aria-rowcount")).toBe("5");
});

test("another log under the same name takes the place of the one before, with nothing of it left", async () => {
  await say("load", "renewed", "old", "go", { tokens: 3 });
  const page = await visit(server.url, { at: "#/timeline/renewed?call=none", mayComplain: /404|410/ });
  await rows(page).filter({ hasText: "RUN_FINISHED" }).click();
  await details(page).getByText("old", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await fetch(`${server.url}/threads/renewed`, { method: "DELETE" });
  await say("tools", "renewed", "new", "1 + 1");
  await rows(page).filter({ hasText: "calculate" }).first().waitFor();
  await page.getByRole("button", { name: "Pause", pressed: false }).waitFor();
  expect(await page.getByText("old", { exact: true }).count()).toBe(0);
});

test("what retention dropped is said, and the rest is shown", async () => {
  const store = memoryStore();
  const trimmed = await serving({ agents: [tools], store });
  onTestFinished(() => trimmed.close());
  const client = connect(trimmed.url);
  onTestFinished(() => client.close());
  await client.thread("kept").run("tools", "1 + 1").finished;
  await expect.poll(() => store.unsettled()).toEqual([]);
  await store.trim(Date.now() + 1);
  const page = await visit(trimmed.url, { at: "#/timeline/kept", mayComplain: /410/ });
  await page.getByRole("heading", { name: "What happened here was dropped by retention" }).waitFor();
  const travel = await visit(trimmed.url, { at: "#/travel/kept", mayComplain: /410/ });
  await travel.getByRole("heading", { name: "What happened here was dropped by retention" }).waitFor();
  const first = (await client.thread("kept").details()).head;
  await client.thread("kept").run("tools", "2 + 2").finished;
  await rows(page).filter({ hasText: "RUN_FINISHED" }).waitFor();
  await page.getByText(/^The first \d+ events of this conversation were dropped by retention/).waitFor();
  await travel.getByText(/^The first \d+ events of this conversation were dropped by retention/).waitFor();
  await travel.getByText("RUN_FINISHED", { exact: true }).waitFor();
  await travel.goto(`${trimmed.url}/#/travel/kept?head=${first}`);
  await travel.getByRole("link", { name: "See what was said" }).click();
  await travel.getByRole("region", { name: "The run" }).getByText("1 + 1", { exact: true }).waitFor();
});

test("a conversation that is archived, and so in no list, has its name and how it stands", async () => {
  await say("load", "aside", "r1", "go", { tokens: 3 });
  const client = connect(server.url);
  onTestFinished(() => client.close());
  await client.threads.rename("aside", "Put away");
  await client.threads.archive("aside");
  const page = await visit(server.url, { at: "#/timeline/aside" });
  await page.getByRole("heading", { name: "Put away" }).waitFor();
  await expect.poll(() => page.locator(".page-title").textContent()).toContain("Finished");
});

test("who ran it is filled in once the server says so", async () => {
  const page = await visit(server.url, { at: "#/connect" });
  const answers = Promise.withResolvers<void>();
  let asked = 0;
  await page.route("**/threads/talk", async (route) => {
    // The first is how long the log is.
    if (asked++ > 0) await answers.promise;
    await route.continue();
  });
  await page.goto(`${server.url}/#/timeline/talk?run=r1`);
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.getByRole("radio", { name: "curl" }).check();
  await page.getByLabel("What is copied").getByText("Which agent ran it is not known yet").waitFor();
  answers.resolve();
  await page.getByLabel("What is copied").getByText("/agents/tools").waitFor();
  expect(asked).toBeGreaterThan(1);
});

/** Time travel in a browser: through the events of a branch, by mouse and keyboard, compared, forked, on a phone, read only. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connect } from "heddle/client";
import type { Served } from "../../src/server/fastify/index.ts";
import { AGENTS, branchedThread } from "./branched-thread.ts";
import type { Made } from "./branched-thread.ts";
import { findings, inspecting, overflows, serving } from "./inspected.ts";

const { visit } = inspecting();
let server: Served;
let made: Made;
beforeAll(async () => {
  server = await serving({ agents: [...AGENTS] });
  made = await branchedThread(server.url);
});
afterAll(() => server.close());

const position = (page: Page) => page.getByText(/^Event [\d,]+ of [\d,]+$/);
const ofEvent = (page: Page, type: string) => page.getByLabel("This event").getByText(type, { exact: true });

test("every event is reached, and shows what was said and known then", async () => {
  const page = await visit(server.url, { at: "#/travel/cake" });
  await page.getByRole("log", { name: "Messages" }).getByText("Bake two cakes", { exact: true }).waitFor();
  await page.getByRole("button", { name: "First event" }).click();
  await position(page).getByText("1", { exact: true }).waitFor();
  await ofEvent(page, "RUN_STARTED").waitFor();
  await page.getByText("The state is empty.").waitFor();
  await page.getByRole("button", { name: "Next state change" }).click();
  await ofEvent(page, "STATE_SNAPSHOT").waitFor();
  await page.getByLabel("State as a tree").getByText('"Gather what is needed"').waitFor();
  await page.getByRole("button", { name: "Next state change" }).click();
  await ofEvent(page, "STATE_DELTA").waitFor();
  const changed = page.getByRole("list", { name: "What it changed" });
  await expect.poll(() => changed.textContent()).toContain("steps[0].done: Was: false→Is: true");
  await page.getByRole("button", { name: "Next run" }).click();
  await ofEvent(page, "RUN_STARTED").waitFor();
  await page.getByRole("article", { name: "User, new" }).getByText("Bake two cakes").waitFor();
});

test("a long message does not push what can be done with an event off a phone", async () => {
  const client = connect(server.url);
  await client.thread("wordy").run(AGENTS[0].name, "a long message of many words ".repeat(10)).finished;
  client.close();
  const page = await visit(server.url, { width: "phone", at: "#/travel/wordy" });
  const card = page.getByLabel("This event");
  for (const it of [
    card.getByText("JSON", { exact: true }),
    card.getByText("In the timeline"),
    card.getByText("Finished", { exact: true }),
  ]) {
    const { x, width } = (await it.boundingBox()) ?? { x: Infinity, width: 0 };
    expect(x + width).toBeLessThanOrEqual(390);
  }
});

test("the keyboard alone goes through the events, plays them and stops", async () => {
  const page = await visit(server.url, { at: "#/travel/cake?at=1" });
  const handle = page.getByRole("slider", { name: "Event" });
  await handle.focus();
  await page.keyboard.press("ArrowRight");
  await position(page).getByText("2", { exact: true }).waitFor();
  await page.waitForFunction(() => location.hash.includes("at=2"));
  await page.keyboard.press("End");
  await page.waitForFunction(() => !location.hash.includes("at="));
  const count = Number(await handle.getAttribute("max")) + 1;
  await position(page).getByText(String(count), { exact: true }).first().waitFor();
  await page.keyboard.press("Home");
  await page.keyboard.press("PageUp");
  await expect.poll(async () => Number(await handle.inputValue())).toBeGreaterThan(1);
  await page.keyboard.press("Home");
  await page.keyboard.press("Space");
  // Slow until it is seen to play: fast, it may be at its end before anybody looks.
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await page.getByLabel("Speed").selectOption("16×");
  await page.getByRole("button", { name: "Play", exact: true }).waitFor();
  await expect.poll(() => handle.inputValue()).toBe(String(count - 1));
});

test("two points are compared, and the link brings the comparison back", async () => {
  const page = await visit(server.url, { at: "#/travel/cake?at=4" });
  await page.getByRole("button", { name: "Set as start" }).click();
  await page.getByRole("button", { name: "Last event" }).click();
  await page.getByText("Compared with event 4.").waitFor();
  const link = page.url();
  const state = page.getByRole("region", { name: "State as a tree" });
  await state.getByText("false", { exact: true }).first().waitFor();
  await page.getByText(/new, \d+ changed, 0 gone/).waitFor();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByText("Compared with event 4.").waitFor();
  await page.getByRole("button", { name: "Thread start" }).click();
  await page.getByText("Compared with the beginning.").waitFor();
  await page.getByRole("button", { name: "Stop comparing" }).click();
  await page.getByText("Marked is what this event changed.").waitFor();
  await expect.poll(() => page.url()).not.toContain("from=");
});

test("a link to an event of another branch opens that branch", async () => {
  const asking = server.url.replace(/\/$/, "");
  const details = await (await fetch(`${asking}/threads/cake`)).json();
  const { lastEventId }: { lastEventId: string } = details.runs.find(
    ({ runId }: { runId: string }) => runId === made.asks,
  );
  const page = await visit(server.url, { at: `#/travel/cake?at=${Number(lastEventId.slice(-16))}` });
  await page
    .getByLabel("Open at this event")
    .getByText(/Waits for an answer/)
    .waitFor();
  await expect.poll(() => page.getByLabel("Branch", { exact: true }).inputValue()).toBe(made.asks);
  await page.getByLabel("Branch", { exact: true }).selectOption(made.fork);
  await page.waitForFunction((head) => location.hash.includes(`head=${head}`), made.fork);
  await page.getByRole("log", { name: "Messages" }).getByText("Bake two cakes", { exact: true }).waitFor();
});

test("a fork goes on from the run that is looked at", async () => {
  const page = await visit(server.url, { at: "#/travel/cake?at=3" });
  await page.getByRole("button", { name: "Fork from here" }).click();
  const dialog = page.getByRole("dialog", { name: "Fork from here" });
  await dialog.getByText(/Goes on after “Bake a cake”/).waitFor();
  await dialog.getByLabel("Message").fill("Bake bread");
  await dialog.getByLabel("Agent").selectOption("chat");
  await dialog.getByRole("button", { name: "Start the branch" }).click();
  await page
    .getByRole("log", { name: "Messages" })
    .getByText(/You said 2 words: “Bake bread”/)
    .waitFor();
  await expect.poll(() => page.url()).toContain("head=");
});

test("a fork that is being written stays, and is of its run, whatever others do meanwhile", async () => {
  const client = connect(server.url);
  onTestFinished(() => client.close());
  const thread = client.thread("moving");
  const first = thread.run("chat", "Where is it?");
  await first.finished;
  const page = await visit(server.url, { at: "#/travel/moving" });
  await page.getByRole("button", { name: "Fork from here" }).click();
  const dialog = page.getByRole("dialog", { name: "Fork from here" });
  await dialog.getByLabel("Message").fill("And where was it?");
  await thread.run("chat", "It moved").finished;
  await page.getByRole("log", { includeHidden: true }).getByText("It moved", { exact: true }).waitFor();
  await dialog.getByText("Goes on after “Where is it?”").waitFor();
  await dialog.getByRole("button", { name: "Start the branch" }).click();
  await page.getByRole("log").getByText("And where was it?", { exact: true }).waitFor();
  const { runs } = await thread.details();
  expect(runs.map(({ parentRunId }) => parentRunId)).toEqual([undefined, first.runId, first.runId]);
});

test.each(["light", "dark"] as const)(
  "on a phone nothing is beyond the edge, and axe finds nothing, %s",
  async (colorScheme) => {
    const page = await visit(server.url, { width: "phone", colorScheme, at: "#/travel/cake?at=14&from=2" });
    await page.getByText("Compared with event 2.").waitFor();
    expect(await overflows(page)).toBe(false);
    expect(await findings(page)).toEqual([]);
  },
);

test.each(["light", "dark"] as const)("axe finds nothing on a desktop, %s", async (colorScheme) => {
  const page = await visit(server.url, { colorScheme, at: "#/travel/cake?at=14" });
  await page.getByText("Marked is what this event changed.").waitFor();
  expect(await findings(page)).toEqual([]);
});

test("a conversation that nothing was said in says so", async () => {
  const page = await visit(server.url, { at: "#/travel/nothing-here", mayComplain: /404/ });
  await page.getByRole("heading", { name: "Nothing happened here yet" }).waitFor();
  expect(await findings(page)).toEqual([]);
});

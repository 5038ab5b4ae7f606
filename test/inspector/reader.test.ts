/** What readers ask their browser for: less motion, colours of their own, larger text. And those who use the keyboard only. */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { chat } from "../../examples/agents/chat.ts";
import { defineAgent } from "../../src/agent/index.ts";
import { connect } from "../../src/client/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { openBrowser } from "../browser.ts";
import { inspecting, overflows, serving } from "./inspected.ts";
import { asking } from "./talk-agents.ts";

const { visit } = inspecting();
const release = Promise.withResolvers<void>();
/** Runs until the file has ended, or until it is stopped. */
const lasting = defineAgent({
  name: "lasting",
  description: "Takes its time.",
  async run({ emit, signal }) {
    emit.activity("PLAN", { title: "Wait", steps: [{ description: "Wait", status: "in_progress" }] });
    signal.addEventListener("abort", () => release.resolve());
    await release.promise;
  },
});

let server: Served;
beforeAll(async () => {
  server = await serving({ agents: [chat, asking, lasting] });
  const client = connect(server.url);
  for (const thread of ["first", "second"]) await client.thread(thread).run("chat", "Hello").finished;
  client.close();
});
afterAll(async () => {
  release.resolve();
  await server.close();
});

const field = (page: Page): Locator => page.getByLabel("Message", { exact: true });
const press = async (button: Locator): Promise<void> => {
  await button.focus();
  await button.press("Enter");
};
const hasFocus = (element: Locator) => (): Promise<boolean> =>
  element.evaluate((each) => each === document.activeElement);
const WAIT = { timeout: 20_000 };
const frame = (element: Locator): Promise<string> => element.evaluate((each) => getComputedStyle(each).outlineStyle);
const line = (element: Locator): Promise<string> =>
  element.evaluate((each) => getComputedStyle(each).borderBottomColor);

test("a dialog gives the focus back to where it came from, however it is closed", async () => {
  const page = await visit(server.url, { at: "#/threads" });
  const row = page.getByRole("link", { name: "first" }).and(page.locator(".threads-name"));
  const dialog = page.getByRole("dialog");
  for (const name of ["Keep", "Close", "Escape"]) {
    await row.focus();
    await row.press("Delete");
    if (name === "Escape") await page.keyboard.press("Escape");
    else await press(dialog.getByRole("button", { name }));
    await dialog.waitFor({ state: "detached" });
    await expect.poll(hasFocus(row), WAIT).toBe(true);
  }
  await row.press(" ");
  await press(page.getByRole("button", { name: "Clear" }));
  await expect.poll(hasFocus(row), WAIT).toBe(true);
});

test("in a conversation the keyboard goes on at what waits for an answer, else where one writes", async () => {
  const page = await visit(server.url, { at: "#/talk/asked?agent=asking" });
  await field(page).fill("Ask me");
  await field(page).press("Enter");
  await press(page.getByRole("button", { name: "Yes" }));
  await expect.poll(hasFocus(page.locator("form", { hasText: "Where do you want to stay?" })), WAIT).toBe(true);
  await press(page.getByRole("button", { name: "Decline" }).first());
  await page.getByRole("log").getByText("cancelled").waitFor();
  await expect.poll(hasFocus(field(page)), WAIT).toBe(true);
  const edit = page.getByRole("button", { name: "Edit and ask again" });
  await press(edit);
  await expect.poll(hasFocus(page.getByLabel("Edit your message")), WAIT).toBe(true);
  await page.keyboard.press("Escape");
  await expect.poll(hasFocus(field(page)), WAIT).toBe(true);
  await page.getByRole("combobox", { name: "Agent" }).selectOption("chat");
  await press(edit);
  await page.getByLabel("Edit your message").fill("Hello");
  await page.getByLabel("Edit your message").press("Enter");
  await page.getByText("2 / 2").waitFor();
  await expect.poll(hasFocus(field(page)), WAIT).toBe(true);
  // Who points somewhere else is left to it.
  await edit.click();
  await page.getByRole("heading", { level: 1 }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(await field(page).evaluate((each) => each === document.activeElement)).toBe(false);
});

test("who wants less motion sees none that goes on, also while a run does", async () => {
  const page = await visit(server.url, { at: "#/talk/slow?agent=lasting", reducedMotion: "reduce" });
  await field(page).fill("Wait");
  await field(page).press("Enter");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.getByText("Running", { exact: true }).first().waitFor();
  const endless = (): Promise<number> =>
    page.evaluate(
      () => document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime === Infinity).length,
    );
  expect(await endless()).toBe(0);
  await page.goto(`${server.url}/#/branches/slow`);
  await page.getByText("Running", { exact: true }).first().waitFor();
  expect(await endless()).toBe(0);
  await page.goto(`${server.url}/#/talk/slow`);
  await press(page.getByRole("button", { name: "Stop" }));
  await expect.poll(hasFocus(field(page)), WAIT).toBe(true);
});

test("in the reader's own colours what is chosen is framed, and what is not is not", async () => {
  const page = await visit(server.url, { at: "#/connect", forcedColors: "active" });
  await page.getByRole("link", { name: "Clients" }).waitFor();
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  for (const [name, isChosen] of Object.entries({ Clients: true, Agents: false })) {
    const tab = page.getByRole("link", { name, exact: true });
    expect(await frame(tab)).toBe(isChosen ? "solid" : "none");
    expect((await line(tab)) === ground).toBe(!isChosen);
  }
  await page.goto(`${server.url}/#/timeline/first`);
  const rows = page.getByRole("treegrid", { name: "Events" }).getByRole("row");
  await rows.nth(1).click();
  await rows.and(page.locator("[aria-selected=true]")).waitFor();
  expect(await frame(rows.and(page.locator("[aria-selected=true]")))).toBe("solid");
  const dot = rows.locator(".timeline-dot").first();
  expect(await dot.evaluate((each) => getComputedStyle(each).backgroundColor)).not.toBe(ground);
  await page.goto(`${server.url}/#/threads`);
  const shelf = (name: string): Locator => page.locator("label", { hasText: name }).locator("span");
  expect(await frame(shelf("Current"))).toBe("solid");
  expect(await frame(shelf("Archived"))).toBe("none");
});

test("text of twice the size makes all of it larger, as on a screen of half the width", async () => {
  const browser = await openBrowser(["--blink-settings=defaultFontSize=32"]);
  onTestFinished(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  for (const at of ["talk/first", "timeline/first", "travel/first", "branches/first", "threads", "health", "connect"]) {
    await page.goto(`${server.url}/#/${at}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await overflows(page)).toBe(false);
  }
  expect(await page.evaluate(() => getComputedStyle(document.body).fontSize)).toBe("28px");
  await page.goto(`${server.url}/#/branches/first`);
  const row = page.getByRole("treeitem").first();
  await row.waitFor();
  expect(await row.evaluate((each) => each.scrollHeight <= each.clientHeight)).toBe(true);
  const bar = await page.getByRole("navigation", { name: "Pages" }).boundingBox();
  expect(bar?.width).toBe(1280);
});

test("at the ends of a branch the buttons that led there keep the focus", async () => {
  const page = await visit(server.url, { at: "#/travel/first" });
  for (const name of ["First event", "Last event"]) {
    const button = page.getByRole("button", { name });
    await press(button);
    await button.and(page.locator("[aria-disabled=true]")).waitFor();
    await button.press("Enter");
    await expect.poll(hasFocus(button), WAIT).toBe(true);
  }
});

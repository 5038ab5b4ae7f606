/** What is around every page: the ways between them, the colours, narrow screens, and a place that is not there. */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../../examples/agents/chat.ts";
import { connect } from "../../src/client/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { findings, inspecting, overflows, serving } from "./inspected.ts";

const { visit } = inspecting();
let server: Served;
beforeAll(async () => {
  server = await serving({ agents: [chat] });
});
afterAll(() => server.close());

const NAMES = ["Talk", "Timeline", "Time travel", "Branches", "Threads", "Health", "Connect your own"];

test("every page is reached by the keyboard alone, and says in the tab what it is", async () => {
  const page = await visit(server.url);
  const navigation = page.getByRole("navigation", { name: "Pages" });
  for (const name of NAMES) {
    await navigation.getByRole("link", { name }).focus();
    await page.keyboard.press("Enter");
    await page
      .locator("nav [aria-current=page]")
      .and(page.getByRole("link", { name, exact: true }))
      .waitFor();
  }
  await expect.poll(() => page.title(), { timeout: 20_000 }).toMatch(/^Connect.* · Heddle$/);
});

test("the colours are the system's, or the ones that were chosen, also after a reload", async () => {
  const page = await visit(server.url, { colorScheme: "dark" });
  const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.getByRole("button", { name: /^Colours: System/ }).waitFor();
  const dark = await ground();
  await page.getByRole("button", { name: /^Colours: System/ }).click();
  await page.getByRole("button", { name: /^Colours: Light/ }).waitFor();
  await expect.poll(ground).not.toBe(dark);
  const light = await ground();
  await page.reload();
  await page.getByRole("button", { name: /^Colours: Light/ }).waitFor();
  await expect.poll(ground).toBe(light);
});

test.each(["light", "dark"] as const)("a phone shows it without anything beyond its edge, %s", async (colorScheme) => {
  const page = await visit(server.url, { width: "phone", colorScheme, at: "#/threads" });
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  expect(await overflows(page)).toBe(false);
  expect(await findings(page)).toEqual([]);
});

const SMALL = { "the smallest phone": [320, 568], "a phone on its side": [844, 390] } as const;

test.each(Object.entries(SMALL))("%s shows every page, and all that is around it", async (_name, [width, height]) => {
  const page = await visit(server.url, { viewport: { width, height } });
  const navigation = page.getByRole("navigation", { name: "Pages" });
  for (const name of NAMES) {
    await navigation.getByRole("link", { name, exact: true }).click();
    await page
      .locator("nav [aria-current=page]")
      .and(page.getByRole("link", { name, exact: true }))
      .waitFor();
    await expect.poll(() => overflows(page)).toBe(false);
  }
  const labels = navigation.locator(width > 720 ? ".navigation-long" : ".navigation-short");
  const boxes = await Promise.all((await labels.all()).map((label) => label.evaluate(textBox)));
  const overlapping = boxes.filter(({ left, right }, index) => {
    const next = boxes[index + 1];
    return right > width || (next !== undefined && next.left > left && right > next.left);
  });
  expect(overlapping).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(height);
  const colours = page.getByRole("button", { name: /^Colours: / });
  const before = await colours.getAttribute("aria-label");
  await colours.focus();
  const { y, height: tall } = (await colours.boundingBox()) ?? { y: -1, height: 0 };
  expect(y).toBeGreaterThanOrEqual(0);
  expect(y + tall).toBeLessThanOrEqual(height);
  await colours.click();
  await expect.poll(() => colours.getAttribute("aria-label")).not.toBe(before);
});

/** Where the words of an element stand. */
function textBox(element: Element): { readonly left: number; readonly right: number } {
  const range = document.createRange();
  range.selectNodeContents(element);
  const { left, right } = range.getBoundingClientRect();
  return { left, right };
}

test("/ goes to the search field from a choice too", async () => {
  const page = await visit(server.url, { at: "#/threads" });
  await page.getByRole("radio", { name: "Archived" }).click();
  await page.getByRole("radio", { name: "Archived" }).focus();
  await page.keyboard.press("/");
  await expect.poll(() => page.getByRole("searchbox").evaluate((field) => field === document.activeElement)).toBe(true);
  expect(await page.getByRole("searchbox").inputValue()).toBe("");
});

const ends = (page: Page): Locator => page.getByRole("row").filter({ hasText: "RUN_FINISHED" });

test("many windows beside each other all work: a browser allows six connections, and only the one worked in holds any", async () => {
  const client = connect(server.url);
  await client.thread("watched").run("chat", "first words").finished;
  const page = await visit(server.url, { at: "#/timeline/watched" });
  const windows = [page];
  while (windows.length < 8) {
    const other = await page.context().newPage();
    await other.addInitScript(() => Object.defineProperty(document, "hasFocus", { value: () => false }));
    await other.goto(`${server.url}/#/timeline/watched`);
    windows.push(other);
  }
  for (const each of windows) await ends(each).nth(0).waitFor();
  await client.thread("watched").run("chat", "second words").finished;
  for (const each of windows) await ends(each).nth(1).waitFor();
  for (const each of windows) await expect.poll(() => ends(each).count()).toBe(2);
  for (const each of windows) await each.goto("about:blank");
  client.close();
});

const field = (page: Page): Locator => page.getByLabel("Message", { exact: true });

/** Says something where one is, and waits for the answer. */
async function talk(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.locator("button:enabled", { hasText: /^Send$/ }).click();
  await page.getByRole("log", { name: "Messages" }).getByText(text, { exact: true }).waitFor();
}

test("a new conversation is another one each time it is asked for, also in another tab", async () => {
  const page = await visit(server.url);
  const link = page.getByRole("link", { name: "New conversation" });
  const addresses = new Set<string>();
  for (const text of ["In the first", "In the second", "In the third"]) {
    await link.click();
    await page.getByRole("heading", { name: "New conversation", level: 1 }).waitFor();
    await talk(page, text);
    addresses.add(page.url());
  }
  const other = await page.context().newPage();
  await other.goto(new URL((await link.getAttribute("href")) ?? "", server.url).href);
  await other.getByRole("heading", { name: "New conversation", level: 1 }).waitFor();
  addresses.add(other.url());
  expect(addresses.size).toBe(4);
  await other.goto("about:blank");
  await page.goBack();
  await page.getByRole("log", { name: "Messages" }).getByText("In the second", { exact: true }).waitFor();
});

/** What a browser withholds. */
const WITHHELD = {
  "over plain HTTP, where there are no UUIDs and no clipboard": () => {
    Reflect.deleteProperty(Crypto.prototype, "randomUUID");
    Reflect.deleteProperty(Navigator.prototype, "clipboard");
  },
  "where storage is blocked": () => {
    const refuse = {
      get: () => {
        throw new DOMException("Access is denied.", "SecurityError");
      },
    };
    for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, refuse);
  },
  "where storage is full": () => {
    Storage.prototype.setItem = () => {
      throw new DOMException("It is full.", "QuotaExceededError");
    };
  },
};

test.each(Object.entries(WITHHELD))("it works %s", async (_where, withhold) => {
  const page = await visit(server.url);
  await page.addInitScript(withhold);
  await page.reload();
  await page.getByRole("link", { name: "New conversation" }).click();
  await page.getByRole("heading", { name: "New conversation", level: 1 }).waitFor();
  await talk(page, "Whatever the browser withholds");
  const colours = page.getByRole("button", { name: /^Colours: / });
  const before = await colours.getAttribute("aria-label");
  await colours.click();
  await expect.poll(() => colours.getAttribute("aria-label")).not.toBe(before);
  await page.getByRole("link", { name: "Timeline", exact: true }).click();
  await ends(page).first().waitFor();
});

test("the timeline of a conversation that is in no list has its title and how it stands, and calls it new at no time", async () => {
  const client = connect(server.url);
  await client.thread("put-aside").run("chat", "Hello").finished;
  await client.threads.rename("put-aside", "Put aside");
  await client.threads.archive("put-aside");
  client.close();
  const page = await visit(server.url, { at: "#/connect" });
  const answered = Promise.withResolvers<void>();
  await page.route(/\/threads\/put-aside/, async (route) => {
    await answered.promise;
    await route.continue();
  });
  await page.goto(`${server.url}/#/timeline/put-aside`);
  const head = page.locator(".page-header");
  await head.getByRole("heading", { level: 1, name: "put-aside" }).waitFor();
  expect(await head.getByText("New", { exact: true }).count()).toBe(0);
  answered.resolve();
  await head.getByRole("heading", { level: 1, name: "Put aside" }).waitFor();
  await head.getByText("Finished", { exact: true }).waitFor();
});

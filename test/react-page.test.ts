/**
 * The page of examples/react in a real browser, against a real server process with its log in a file: everything that a person
 * does in an afternoon, reloads, a second tab and `kill -9` of the server among it.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { bundleWith, complaintsOf, servePage } from "./pages.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

const FILES = ["chat", "tools", "approval", "state"].map((name) => `examples/agents/${name}.ts`);

let folder: string;
let address: string;
let browser: Browser;
let server: ServerProcess;
const start = (port = 0): Promise<ServerProcess> =>
  startServer({
    files: [...FILES, "test/react-agents.ts"],
    store: `sqlite:${join(folder, "heddle.db")}`,
    port,
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-react-page-"));
  const html = readFile("examples/react/index.html", "utf8");
  const script = bundleWith(19, "examples/react/app.tsx", "browser");
  [address, server, browser] = await Promise.all([servePage(await html, await script), start(), openBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await server.kill();
  await rm(folder, { recursive: true, force: true });
});

let threads = 0;

/** A new thread in a browser of its own, and what its tabs complained about: nothing. */
async function visit(agent: string): Promise<{ page: Page; tab: () => Promise<Page> }> {
  const context: BrowserContext = await browser.newContext();
  context.setDefaultTimeout(20_000);
  const complaints: string[][] = [];
  // This browser does not survive that a context is closed; its pages leave, and go with the browser.
  onTestFinished(async () => {
    for (const page of context.pages()) await page.goto("about:blank");
    expect(complaints.flat()).toEqual([]);
  });
  const query = new URLSearchParams({ server: server.url, agent, thread: `thread-${++threads}` });
  const tab = async (): Promise<Page> => {
    const page = await context.newPage();
    complaints.push(complaintsOf(page));
    await page.goto(`${address}?${query}`);
    return page;
  };
  return { page: await tab(), tab };
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

const shows = (page: Page, text: string): Promise<void> => page.getByText(text).first().waitFor();
const stands = (page: Page, status: string): Promise<void> => page.getByRole("status").getByText(status).waitFor();
const colourOf = (page: Page): Promise<string> => page.evaluate(() => document.body.style.background);
const said = (page: Page): Promise<string[]> => page.locator("article > p").allTextContents();

test("a message is sent, and its answer streams in; the thread is in the list and survives a reload", async () => {
  const { page } = await visit("chat");
  await say(page, "red green");
  await shows(page, "You said 2 words: “red green”. Tell me more.");
  await stands(page, "finished");
  const before = await said(page);
  await page.getByLabel("Threads").getByText(`thread-${threads}`).waitFor();
  await page.reload();
  await shows(page, "Tell me more.");
  await expect.poll(() => said(page)).toEqual(before);
});

test("a tool is called, and its call is shown with its result", async () => {
  const { page } = await visit("tools");
  await say(page, "What is the weather in Ulm?");
  await shows(page, "In Ulm it is windy, 14 °C.");
  const call = page.locator("[data-part=tool-call]");
  await call.locator("summary").click();
  await expect.poll(() => call.getAttribute("data-status")).toBe("completed");
  expect(await call.locator("[data-part=tool-arguments]").textContent()).toBe('{"city":"Ulm"}');
  expect(await call.locator("[data-part=tool-result]").textContent()).toContain("windy");
});

test("a call is approved after a reload, with other arguments, and another one is declined", async () => {
  const { page } = await visit("approval");
  await say(page, "Delete /tmp/one");
  await page.getByLabel("path").waitFor();
  await page.reload();
  await page.getByLabel("path").fill("/tmp/two");
  await page.getByRole("button", { name: "Approve" }).click();
  await shows(page, "Deleted /tmp/two. Anything else?");
  await stands(page, "finished");
  await expect.poll(() => page.locator("[data-part=approval]").count()).toBe(0);
  await say(page, "Delete /tmp/three");
  await page.getByRole("button", { name: "Decline" }).click();
  await shows(page, "All right, I leave it alone.");
});

test("a question is answered by a form", async () => {
  const { page } = await visit("approval");
  await say(page, "Sign in");
  await page.getByRole("textbox", { name: "Name" }).fill("Ada");
  await page.getByRole("button", { name: "Answer" }).click();
  await shows(page, "You are signed in as Ada.");
  await expect.poll(() => page.locator("[data-part=approval]").count()).toBe(0);
});

test("a message is edited; both branches are there, after a reload too", async () => {
  const { page } = await visit("chat");
  for (const text of ["one", "two"]) {
    await say(page, text);
    await shows(page, `“${text}”. Tell me more.`);
    await stands(page, "finished");
  }
  const old = await said(page);
  page.once("dialog", (dialog) => void dialog.accept("three"));
  await page.getByRole("button", { name: "Edit" }).nth(1).click();
  await shows(page, "“three”");
  await page.getByText("2 / 2").waitFor();
  await expect.poll(() => said(page)).not.toContain("two");
  await page.getByRole("button", { name: "Previous branch" }).click();
  await expect.poll(() => said(page)).toEqual(old);
  await page.reload();
  await page.getByText("1 / 2").waitFor();
  await expect.poll(() => said(page)).toEqual(old);
  await say(page, "four");
  await shows(page, "“four”");
  expect((await said(page)).slice(0, 4)).toEqual(old);
});

test("an answer is given once more, on a branch of its own", async () => {
  const { page } = await visit("chat");
  await say(page, "one");
  await stands(page, "finished");
  await page.getByRole("button", { name: "Again" }).click();
  await page.getByText("2 / 2").waitFor();
  await expect.poll(() => said(page)).toEqual(["one", "You said 1 word: “one”. Tell me more."]);
});

test("a run is stopped", async () => {
  const { page } = await visit("endless");
  await say(page, "Go");
  await shows(page, "I never stop");
  await page.getByRole("button", { name: "Stop" }).click();
  await stands(page, "cancelled");
  expect(await said(page)).toEqual(["Go", "I never stop "]);
});

test("the plan is shared both ways", async () => {
  const { page } = await visit("state");
  await say(page, "Bake");
  await shows(page, "“Bake” is done, in 4 steps.");
  const plan = page.getByLabel("Plan").getByRole("listitem");
  await stands(page, "finished");
  expect(await plan.allTextContents()).toContain("Do it: done");
  await page.getByRole("button", { name: "Add a step" }).click();
  await shows(page, "One more: to do");
  await say(page, "Go on");
  await shows(page, "“Bake” is done, in 5 steps.");
  await expect.poll(() => plan.last().textContent()).toBe("One more: done");
});

test("the server is killed in the middle of a run and starts again: nothing that was shown goes, and the thread goes on", async () => {
  const { page } = await visit("endless");
  await say(page, "Go");
  await shows(page, "I never stop");
  // Whatever is taken off the page from now on is noted.
  await page.evaluate(() => {
    const lost = new MutationObserver((changes) => {
      const texts = changes.flatMap(({ removedNodes }) => [...removedNodes].map((node) => node.textContent ?? ""));
      document.body.dataset["lost"] = (document.body.dataset["lost"] ?? "") + texts.join("");
    });
    const log = document.querySelector("[role=log]");
    if (log !== null) lost.observe(log, { childList: true, subtree: true });
  });
  const { port } = new URL(server.url);
  await server.kill();
  await page.locator("[data-connection=reconnecting]").waitFor();
  expect(await said(page)).toEqual(["Go", "I never stop "]);
  server = await start(Number(port));
  await stands(page, "failed");
  expect(await said(page)).toEqual(["Go", "I never stop "]);
  await say(page, "And again");
  await page.getByText("I never stop").nth(1).waitFor();
  await expect.poll(() => said(page)).toEqual(["Go", "I never stop ", "And again", "I never stop "]);
  expect((await page.evaluate(() => document.body.dataset["lost"])) ?? "").toBe("");
});

test("two tabs show one thread, and each sees what the other says", async () => {
  const { page: one, tab } = await visit("chat");
  await say(one, "Hello");
  await shows(one, "What would you like");
  await stands(one, "finished");
  const two = await tab();
  await shows(two, "What would you like");
  await say(one, "red green");
  await shows(two, "“red green”. Tell me more.");
  await stands(two, "finished");
  await say(two, "blue");
  for (const page of [one, two]) await shows(page, "“blue”. Tell me more.");
  expect(await said(one)).toEqual(await said(two));
});

test("a tool of the page is executed once, in one of two tabs, and not by a reload", async () => {
  const { page: one, tab } = await visit("colours");
  await say(one, "tomato");
  await shows(one, "The page answered tomato.");
  await stands(one, "finished");
  expect(await colourOf(one)).toBe("tomato");
  const two = await tab();
  await shows(two, "The page answered tomato.");
  await say(two, "teal");
  await Promise.all([shows(one, "The page answered teal."), shows(two, "The page answered teal.")]);
  expect([await colourOf(one), await colourOf(two)].filter((colour) => colour === "teal")).toHaveLength(1);
  await Promise.all([one.reload(), two.reload()]);
  await Promise.all([shows(one, "The page answered teal."), shows(two, "The page answered teal.")]);
  expect([await colourOf(one), await colourOf(two)]).toEqual(["", ""]);
  expect(await one.getByText("The page answered").count()).toBe(2);
});

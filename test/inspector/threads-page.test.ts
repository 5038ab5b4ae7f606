/** The page Threads: found, named, put aside, copied and deleted, by mouse and by keyboard, while others change them too. */
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connect } from "heddle/client";
import type { HeddleClient } from "heddle/client";
import { chat } from "../../examples/agents/chat.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { JWT, tokenFor } from "../tokens.ts";
import { findings, inspecting, overflows, serving } from "./inspected.ts";

const { visit } = inspecting();
const ODD = "<b>Weather</b> & <script>alert(1)</script> 🧮";
const LONG = "x".repeat(256);
let server: Served;
let client: HeddleClient;

const talk = async (threadId: string): Promise<void> =>
  void (await client.thread(threadId).run("chat", "Hello").finished);

beforeAll(async () => {
  server = await serving({ agents: [chat] });
  client = connect(server.url);
  for (const id of [LONG, "first", "second", "third"]) await talk(id);
  await client.threads.rename("second", ODD);
});
afterAll(async () => {
  client.close();
  await server.close();
});

const rows = (page: Page): Locator => page.getByRole("list", { name: "Conversations" }).getByRole("listitem");
const isList = (url: URL): boolean => url.pathname === "/threads";
const row = (page: Page, name: string): Locator => rows(page).filter({ hasText: name });
const title = (page: Page, name: string): Locator => row(page, name).locator(".threads-name strong");

test("what is searched for stands in the address, and a link brings it back", async () => {
  const page = await visit(server.url, { at: "#/threads" });
  await row(page, "first").waitFor();
  await expect.poll(() => rows(page).count()).toBe(4);
  await page.keyboard.press("/");
  await page.keyboard.type("WEATHER");
  await page.waitForURL(/q=WEATHER/);
  await row(page, "first").waitFor({ state: "detached" });
  expect(await title(page, "second").textContent()).toBe(ODD);
  await page.reload();
  await row(page, "second").waitFor();
  await expect.poll(() => rows(page).count()).toBe(1);
  expect(await page.getByRole("searchbox").inputValue()).toBe("WEATHER");
  await page.getByRole("searchbox").fill("nowhere to be found");
  await page.getByRole("heading", { name: "Nothing found" }).waitFor();
});

test("keyboard alone: move, rename, select, delete after being asked, open", async () => {
  for (const id of ["key-1", "key-2", "key-3"]) await talk(id);
  const page = await visit(server.url, { at: "#/threads?q=key-" });
  await row(page, "key-3").waitFor();
  await row(page, "key-3").locator(".threads-name").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("F2");
  await page.keyboard.type("A better name");
  // Enter and Escape that choose among what an input method proposes end nothing.
  for (const key of ["Escape", "Enter"])
    await page.getByLabel("Title", { exact: true }).dispatchEvent("keydown", { key, isComposing: true });
  expect(await page.getByLabel("Title", { exact: true }).inputValue()).toBe("A better name");
  await page.keyboard.press("Enter");
  await row(page, "A better name").waitFor({ state: "visible" });
  await page.waitForFunction(() => document.activeElement?.textContent?.includes("A better name"));
  await page.keyboard.press("End");
  await page.keyboard.press("Space");
  await page.getByText("1 selected").waitFor();
  await page.keyboard.press("Delete");
  const dialog = page.getByRole("dialog", { name: "Delete this conversation?" });
  await dialog.getByText("key-1").waitFor();
  for (const key of ["Tab", "Tab", "Enter"]) await page.keyboard.press(key);
  await row(page, "key-1").waitFor({ state: "detached" });
  const left = (await client.threads.list({ q: "key-" })).threads.map(({ threadId, title: name }) => [threadId, name]);
  expect(left).toEqual([
    ["key-2", "A better name"],
    ["key-3", undefined],
  ]);
  await page.waitForFunction(() => document.activeElement?.matches(".threads-name"));
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/talk\/key-/);
});

test("what others do in the middle, and answers that come late, take neither keyboard nor focus away", async () => {
  for (const id of ["mid-1", "mid-2", "mid-3", "mid-4"]) await talk(id);
  const page = await visit(server.url, { at: "#/threads?q=mid-", mayComplain: /404/ });
  // The row is deleted elsewhere while its title is written.
  await row(page, "mid-4").locator(".threads-name").focus();
  await page.keyboard.press("F2");
  await page.keyboard.type("Half a na");
  await client.threads.delete("mid-4");
  await row(page, "mid-4").waitFor({ state: "detached" });
  await row(page, "mid-3").locator(".threads-name").focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.activeElement?.textContent?.includes("mid-2"));
  // One of those that are deleted is gone already, and nothing tells of it.
  await page.route("**/threads/mid-3", async (route) => {
    await client.threads.delete("mid-3");
    await route.continue();
  });
  await page.keyboard.press("Space");
  await page.getByRole("checkbox", { name: "Select mid-3" }).check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("2 conversations deleted.").waitFor();
  // Who types elsewhere when the answer comes goes on typing.
  const answers = Promise.withResolvers<void>();
  await page.route("**/threads/mid-1", (route) => answers.promise.then(() => route.continue()));
  await page.getByRole("button", { name: "Archive mid-1" }).click();
  await page.getByRole("searchbox").focus();
  answers.resolve();
  await row(page, "mid-1").waitFor({ state: "detached" });
  await page.getByText("Conversation archived.").waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("search");
});

test("it is live: threads of others come, change and go by themselves", async () => {
  const page = await visit(server.url, { at: "#/threads?q=live" });
  await page.getByRole("heading", { name: "Nothing found" }).waitFor();
  await talk("live-1");
  await row(page, "live-1").getByText("Finished").waitFor();
  await client.threads.rename("live-1", "Called live");
  await title(page, "Called live").waitFor();
  await client.threads.delete("live-1");
  await page.getByRole("heading", { name: "Nothing found" }).waitFor();
  expect(await rows(page).count()).toBe(0);
});

test("several are selected, archived, found among the archived, and restored", async () => {
  for (const id of ["box-1", "box-2"]) await talk(id);
  const page = await visit(server.url, { at: "#/threads?q=box" });
  await row(page, "box-2").waitFor();
  await page.getByRole("checkbox", { name: "Select all that are shown" }).check();
  await page.getByRole("button", { name: "Archive", exact: true }).click();
  await page.getByText("2 conversations archived.").waitFor();
  await page.getByRole("heading", { name: "Nothing found" }).waitFor();
  await page.getByRole("radio", { name: "Archived" }).click();
  await page.waitForURL(/archived=true/);
  await row(page, "box-1").hover();
  await page.getByRole("button", { name: "Restore box-1" }).click();
  await row(page, "box-1").waitFor({ state: "detached" });
  const { threads } = await client.threads.list({ q: "box" });
  expect(threads.map(({ threadId }) => threadId)).toEqual(["box-1"]);
});

test("a thread is exported as a file, and imported under another id where its own is taken", async () => {
  const page = await visit(server.url, { at: "#/threads?q=second" });
  await row(page, ODD).hover();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: `Export ${ODD}` }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("b-Weather-b-script-alert-1-script.ndjson");
  const path = await download.path();
  expect(await readFile(path, "utf8")).toContain('"threadId":"second"');
  const broken = join(tmpdir(), `heddle-threads-page-${process.pid}.ndjson`);
  await writeFile(broken, "no thread\n");
  await page.getByLabel("Files to import").setInputFiles([path, broken]);
  const dialog = page.getByRole("dialog", { name: "Import 2 files" });
  await dialog.getByText("Line 1 is not JSON. Nothing was imported.", { exact: true }).waitFor();
  expect(await dialog.getByLabel("Another id").inputValue()).toBe("second-copy");
  await dialog.getByLabel("Another id").fill("..");
  await dialog.getByRole("button", { name: "Import" }).click();
  await dialog.getByRole("alert").getByText('The thread\'s id is "..": expected 1 to 256 characters').waitFor();
  expect(await dialog.getByLabel("Another id").inputValue()).toBe("second-copy");
  await dialog.getByRole("button", { name: "Import" }).click();
  await dialog.getByText("Imported as").waitFor();
  expect(await dialog.getByRole("link", { name: ODD }).getAttribute("href")).toBe("#/talk/second-copy");
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await row(page, "second-copy").waitFor();
  await client.threads.delete("second-copy");
});

test("beyond the first page there is more to load, and what changes meanwhile is shown once", async () => {
  const many = await serving({ agents: [chat] });
  onTestFinished(() => many.close());
  const talker = connect(many.url);
  onTestFinished(() => talker.close());
  const ids = Array.from({ length: 55 }, (_, index) => `many-${index}`);
  for (const id of ids) await talker.thread(id).run("chat", "Hello").finished;
  const page = await visit(many.url, { at: "#/threads" });
  await page.getByText("50 shown, and there are more").waitFor();
  await page.getByRole("button", { name: "Load more" }).click();
  await page.getByText("55 conversations").waitFor();
  await talker.threads.rename("many-0", "Once last");
  await title(page, "Once last").waitFor();
  expect([await rows(page).count(), await row(page, "many-0").count()]).toEqual([55, 1]);
});

test("an observer sees why nothing can be changed", async () => {
  const guarded = await serving({ agents: [chat], auth: { jwt: { ...JWT, issuer: false } } });
  onTestFinished(() => guarded.close());
  const owner = connect(guarded.url, { token: await tokenFor({ user: "ada" }) });
  onTestFinished(() => owner.close());
  await owner.thread("seen").run("chat", "Hello").finished;
  const page = await visit(guarded.url, { at: "#/threads" });
  await page.getByRole("textbox").fill(await tokenFor({ user: "eve", roles: ["observer"] }));
  await page.keyboard.press("Enter");
  await row(page, "seen").waitFor();
  await page.getByText("your role is observer").waitFor();
  expect(await page.getByRole("checkbox").count()).toBe(0);
  expect(await page.getByRole("button", { name: "Import" }).isDisabled()).toBe(true);
});

test.each(["light", "dark"] as const)("axe finds nothing, on a desktop and a phone, %s", async (colorScheme) => {
  const desktop = await visit(server.url, { at: "#/threads", colorScheme });
  await row(desktop, "first").hover();
  expect(await findings(desktop)).toEqual([]);
  const phone = await visit(server.url, { at: "#/threads", colorScheme, width: "phone" });
  await phone.getByRole("checkbox", { name: "Select first" }).check();
  await phone.getByRole("button", { name: "Rename" }).waitFor();
  expect(await findings(phone)).toEqual([]);
  expect(await overflows(phone)).toBe(false);
});

test("nothing yet: how to begin; not answered: why", async () => {
  const empty = await serving({ agents: [chat] });
  onTestFinished(() => empty.close());
  const page = await visit(empty.url, { at: "#/threads" });
  await page.getByRole("link", { name: "Start a conversation" }).waitFor();
  await page.route(isList, (route) =>
    route.fulfill({ status: 403, json: { error: { code: "role-missing", message: "Ask for a role first." } } }),
  );
  await page.reload();
  await page.getByText("Ask for a role first.").first().waitFor();
  await page.unroute(isList);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "Start a conversation" }).waitFor();
  await expect.poll(() => page.getByRole("alert").count()).toBe(0);
});

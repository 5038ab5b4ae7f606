/** Who looks: a server that wants a token, another tenant's, somebody who may only watch, and a token that runs out. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Page } from "playwright-core";
import { connect } from "../../src/client/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { JWT, tokenFor } from "../tokens.ts";
import { findings, inspecting, serving } from "./inspected.ts";
import { SHOWN, fillShowcase, showcaseAgents } from "./showcase.ts";

const KEYS = {
  ada: { key: "key-of-ada-the-operator", tenant: "acme", user: "ada", roles: ["operator"] },
  olga: { key: "key-of-olga-who-watches", tenant: "acme", user: "olga", roles: ["observer"] },
  bob: { key: "key-of-bob-of-elsewhere", tenant: "globex", user: "bob", roles: ["owner"] },
} as const;

const { visit } = inspecting();
let showcase: Awaited<ReturnType<typeof showcaseAgents>>;
let server: Served;
beforeAll(async () => {
  showcase = await showcaseAgents();
  server = await serving({ agents: showcase.agents, auth: { keys: KEYS } });
  await fillShowcase(server.url, KEYS.ada.key);
});
afterAll(async () => {
  await server.close();
  showcase.close();
});

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
}

const recent = (page: Page) => page.getByRole("region", { name: "Recent conversations" });

test("a token is asked for; a wrong one is refused with why; the right one stays for the tab, and can be given back", async () => {
  const page = await visit(server.url, { at: "#/threads" });
  await page.getByRole("heading", { name: "Sign in to Heddle" }).waitFor();
  expect(await findings(page)).toEqual([]);
  await signIn(page, "not a key");
  await page
    .getByRole("alert")
    .filter({ hasText: /token|key/i })
    .waitFor();
  await signIn(page, "Schlüssel – “ключ”");
  await page.getByRole("alert").filter({ hasText: "cannot be sent" }).waitFor();
  await signIn(page, KEYS.ada.key);
  await recent(page).getByText("A weekend in Rome").waitFor();
  await page.reload();
  await recent(page).getByText("A weekend in Rome").waitFor();
  await page.getByText("ada", { exact: true }).waitFor();
  const opened = page.waitForEvent("websocket");
  await recent(page).getByText("A weekend in Rome").click();
  const socket = await opened;
  await page.getByRole("button", { name: "Use another token" }).click();
  await page.getByRole("heading", { name: "Sign in to Heddle" }).waitFor();
  await expect.poll(() => socket.isClosed(), { timeout: 10_000 }).toBe(true);
});

test("another tenant's token shows that tenant's threads, and none of the others', by link neither", async () => {
  const client = connect(server.url, { token: KEYS.bob.key });
  await client.thread("of-globex").run("chat", "Hello from Globex").finished;
  client.close();
  const page = await visit(server.url, { at: `#/timeline/${SHOWN.branches}` });
  await signIn(page, KEYS.bob.key);
  await recent(page).getByText("of-globex").waitFor();
  await expect.poll(() => recent(page).getByRole("link").count()).toBe(1);
  await page.getByRole("heading", { name: "Nothing has happened here yet" }).waitFor();
  expect(await page.getByText("A weekend in Rome").count()).toBe(0);
  await page.goto(`${server.url}/#/talk/of-globex`);
  await page.getByText("Hello from Globex").first().waitFor();
});

test("who signs in after somebody else in the same tab sees nothing that they wrote or offered; those find it again", async () => {
  const page = await visit(server.url, { at: "#/talk/of-both?agent=chat" });
  const field = page.getByLabel("Message", { exact: true });
  const become = async (key: string): Promise<void> => {
    await page.getByRole("button", { name: "Use another token" }).click();
    await signIn(page, key);
    await field.waitFor();
  };
  await signIn(page, KEYS.ada.key);
  await field.fill("Nobody else is to know");
  await page.getByRole("button", { name: "Tools" }).click();
  await page.getByLabel("Name").fill("open_vault");
  await page.getByLabel("What it does").fill("Opens the vault.");
  await page.keyboard.press("Enter");
  await page.getByText("Opens the vault.").waitFor();
  await page.keyboard.press("Escape");
  await become(KEYS.bob.key);
  expect(await field.inputValue()).toBe("");
  await page.getByRole("button", { name: "Tools", exact: true }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Tools", exact: true }).waitFor();
  await field.fill("Of Globex");
  await become(KEYS.ada.key);
  expect(await field.inputValue()).not.toBe("Of Globex");
  await page.getByRole("button", { name: "1 tool" }).waitFor();
});

test("who may only watch sees everything and is offered nothing that writes", async () => {
  const page = await visit(server.url, { at: `#/talk/${SHOWN.question}` });
  await signIn(page, KEYS.olga.key);
  await page.getByText("Delete /var/build/report.txt").first().waitFor();
  await page.getByText("read only").waitFor();
  expect(
    await page
      .getByRole("button", { name: /^(Approve|Send|Decline)$/ })
      .and(page.locator(":enabled"))
      .count(),
  ).toBe(0);
  await page.goto(`${server.url}/#/threads`);
  await page.getByRole("main").getByText("A weekend in Rome").waitFor();
  const writing = page.getByRole("button", { name: /delete|rename|archive|import/i });
  expect(await writing.and(page.locator(":enabled")).count()).toBe(0);
  await page.goto(`${server.url}/#/timeline/${SHOWN.branches}`);
  await page.getByText("RUN_STARTED").first().waitFor();
  await page.goto(`${server.url}/#/health`);
  await page
    .getByRole("main")
    .getByText(/operator/)
    .first()
    .waitFor();
});

test("a token that runs out in the middle: the page says so, and goes on after signing in again, with what was written", async () => {
  const guarded = await serving({ agents: showcase.agents, auth: { jwt: { ...JWT } } });
  onTestFinished(() => guarded.close());
  const page = await visit(guarded.url, { at: "#/talk/mine?agent=chat" });
  await signIn(page, await tokenFor({ user: "ada", roles: ["owner"], forSeconds: 10 }));
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("Written before");
  await page.getByRole("alert").getByText("The server does not accept your token any more").waitFor();
  expect(await findings(page)).toEqual([]);
  await page.getByRole("button", { name: "Sign in again" }).click();
  await signIn(page, await tokenFor({ user: "ada", roles: ["owner"] }));
  await expect.poll(() => field.inputValue()).toBe("Written before");
  await page.locator("button:enabled", { hasText: /^Send$/ }).click();
  await page.getByRole("heading", { name: "Written before" }).waitFor();
});

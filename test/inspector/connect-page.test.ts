/** The page Connect your own: lines with this server's address in them, links that bring them back, and agents tried on the spot. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { chat } from "../../examples/agents/chat.ts";
import { load } from "../../examples/agents/load.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { JWT, tokenFor } from "../tokens.ts";
import { findings, inspecting, overflows, serving } from "./inspected.ts";

const { visit } = inspecting();
let server: Served;
let agentUrl: string;
const seen: (string | undefined)[] = [];
let answering = Promise.withResolvers<void>();

/** An agent elsewhere: `/fine` answers well, `/sloppy` does not close its message, `/late` waits until it is let. */
const elsewhere = createServer(async (request, response) => {
  const chunks: string[] = [];
  for await (const chunk of request) chunks.push(String(chunk));
  const { threadId, runId, messages }: Record<string, unknown> = JSON.parse(chunks.join(""));
  seen.push(request.headers["x-key"]?.toString());
  if (request.url === "/late") await answering.promise;
  if (request.url === "/page") return void response.setHeader("content-type", "text/html").end("<p>Hello</p>");
  const said = `Heard ${String(Object(messages)[0].content)}`;
  const events = [
    { type: "RUN_STARTED", threadId, runId },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: said },
    ...(request.url === "/sloppy" ? [] : [{ type: "TEXT_MESSAGE_END", messageId: "m" }]),
    { type: "RUN_FINISHED", threadId, runId },
  ];
  response.setHeader("content-type", "text/event-stream");
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
});

beforeAll(async () => {
  server = await serving({ agents: [chat, load], checks: true });
  await once(elsewhere.listen(0, "127.0.0.1"), "listening");
  const { port }: AddressInfo = Object(elsewhere.address());
  agentUrl = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  elsewhere.closeAllConnections();
  elsewhere.close();
  await server.close();
});

const code = (page: Page): Locator => page.getByRole("figure").last().locator("code");

test("the lines have this server's address and the agent that was chosen, and a link brings them back", async () => {
  const page = await visit(server.url, { at: "#/connect" });
  await page.getByRole("link", { name: "curl" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "curl" }).waitFor();
  await page.getByLabel("Agent").selectOption("load");
  await page.waitForURL(/with=curl.*agent=load|agent=load.*with=curl/);
  await page.reload();
  await page.getByRole("heading", { name: "curl" }).waitFor();
  const lines = page.getByLabel("run.sh", { exact: true });
  await expect.poll(() => lines.textContent()).toContain(`curl -N ${server.url}/agents/load`);
  expect(await lines.textContent()).not.toContain("authorization");
  await page.getByRole("navigation", { name: "What to connect" }).getByRole("link", { name: "Agents" }).click();
  await page.getByRole("link", { name: "LangGraph" }).click();
  await page.getByRole("heading", { name: "LangGraph" }).waitFor();
  await expect.poll(() => code(page).textContent()).toContain("langGraphAgent({");
});

test("no lines are shown before it is known which agents there are, also where the server fails at first", async () => {
  const page = await visit(server.url, { mayComplain: /503/ });
  await page.getByRole("link", { name: "Connect your own" }).waitFor();
  const { promise: asked, resolve: answer } = Promise.withResolvers<void>();
  let isFailing = true;
  await page.route("**/agents", async (route) => {
    await asked;
    return isFailing ? route.fulfill({ status: 503 }) : route.continue();
  });
  await page.getByRole("link", { name: "Connect your own" }).click();
  await page.getByText("Asking for the agents of this server").first().waitFor();
  expect(await page.locator("pre").count()).toBe(0);
  answer();
  await page.getByRole("alert").getByText("The agents cannot be listed").waitFor();
  expect(await page.locator("pre").count()).toBe(0);
  isFailing = false;
  await page.locator("pre", { hasText: "chat" }).first().waitFor();
});

test("lines are copied as they stand", async () => {
  const page = await visit(server.url, { at: "#/connect?tab=use&with=client" });
  await code(page).waitFor();
  // This browser has no clipboard; what would go there is kept.
  const copied = page.evaluate(
    () =>
      new Promise<string>((resolve) =>
        Object.assign(navigator.clipboard, { writeText: async (text: string) => resolve(text) }),
      ),
  );
  await page.getByRole("figure").last().getByRole("button", { name: "Copy" }).click();
  await page.getByText("talk.ts copied.").waitFor();
  expect(await copied).toBe(await code(page).textContent());
  expect(await copied).toContain(`connect("${server.url}")`);
});

test("an agent that works, one that has to be repaired, one that is none: each is told apart", async () => {
  const page = await visit(server.url, { at: `#/connect?tab=test&url=${encodeURIComponent(`${agentUrl}/fine`)}` });
  const result = page.getByRole("region", { name: "Result" });
  await page.getByLabel("Header (optional)").fill("x-key");
  await page.getByLabel("Its value").fill("secret");
  await page.getByLabel("Message (optional)").fill("a word");
  await page.keyboard.press("Enter");
  await result.getByRole("heading", { name: "It works", exact: true }).waitFor();
  await expect.poll(() => result.locator("blockquote").textContent()).toBe("Heard a word");
  expect(seen.at(-1)).toBe("secret");
  expect(page.url()).not.toContain("secret");
  await result.getByText(`npx heddle serve --agent fine=${agentUrl}/fine`).waitFor();
  await page.getByLabel("Address of the agent").fill(`${agentUrl}/sloppy`);
  await page.getByRole("button", { name: "Test the agent" }).click();
  await result.getByRole("heading", { name: "It works behind Heddle, with repairs" }).waitFor();
  await result.getByText("open-at-finish", { exact: true }).waitFor();
  await page.getByLabel("Address of the agent").fill(`${agentUrl}/page`);
  await page.getByRole("button", { name: "Test the agent" }).click();
  await result.getByRole("heading", { name: "It does not work yet" }).waitFor();
  await expect.poll(() => result.getByRole("listitem").filter({ hasText: "Error" }).count()).toBe(1);
});

test("a test that takes long is given up", async () => {
  answering = Promise.withResolvers();
  onTestFinished(() => answering.resolve());
  const page = await visit(server.url, { at: `#/connect?tab=test&url=${encodeURIComponent(`${agentUrl}/late`)}` });
  const posted: string[] = [];
  page.on("request", (request) => posted.push(...(request.url().endsWith("/checks") ? ["check"] : [])));
  const tester = page.locator("button[type=submit]");
  await tester.focus();
  await tester.press("Enter");
  await page.getByText("waiting for the answer to end").waitFor();
  await page.getByLabel("Address of the agent").press("Enter");
  // The keyboard stays where it was, and asks once.
  await tester.press("Enter");
  const hasFocus = (): Promise<boolean> => tester.evaluate((button) => button === document.activeElement);
  expect(await hasFocus()).toBe(true);
  await page.getByRole("button", { name: "Give up" }).press("Enter");
  await page.getByRole("button", { name: "Test the agent" }).waitFor();
  expect(await hasFocus()).toBe(true);
  expect(posted).toEqual(["check"]);
  expect(await page.getByRole("region", { name: "Result" }).count()).toBe(0);
});

test("with authentication the lines have a place for the token, and only operators test addresses", async () => {
  const guarded = await serving({ agents: [chat], auth: { jwt: { ...JWT, issuer: false } } });
  onTestFinished(() => guarded.close());
  const page = await visit(guarded.url, { at: "#/connect?tab=use&with=curl" });
  await page.getByRole("textbox").fill(await tokenFor({ user: "ada" }));
  await page.keyboard.press("Enter");
  const lines = page.getByLabel("run.sh", { exact: true });
  await expect.poll(() => lines.textContent()).toContain("-H 'authorization: Bearer YOUR_TOKEN'");
  await page.getByRole("link", { name: "Test an agent" }).click();
  await page.getByRole("heading", { name: "You cannot test addresses here" }).waitFor();
  expect(await page.getByRole("button", { name: "Test the agent" }).count()).toBe(0);
});

test.each(["light", "dark"] as const)("axe finds nothing, on a desktop and a phone, %s", async (colorScheme) => {
  const at = `#/connect?tab=test&url=${encodeURIComponent(`${agentUrl}/sloppy`)}`;
  const page = await visit(server.url, { at, colorScheme, width: "phone" });
  await page.getByRole("button", { name: "Test the agent" }).click();
  await page.getByRole("region", { name: "Result" }).waitFor();
  expect([await findings(page), await overflows(page)]).toEqual([[], false]);
  await page.getByRole("link", { name: "Clients" }).click();
  await code(page).waitFor();
  expect([await findings(page), await overflows(page)]).toEqual([[], false]);
  const desktop = await visit(server.url, { at: "#/connect?tab=build&with=openai", colorScheme });
  await code(desktop).waitFor();
  expect(await findings(desktop)).toEqual([]);
});

/** The page Health: what an operator sees of a server at work, what others see, and what is shown when something is wrong. */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connect } from "heddle/client";
import type { HeddleClient } from "heddle/client";
import { defineAgent } from "heddle/agent";
import { load } from "../../examples/agents/load.ts";
import type { Status } from "../../inspector/server/api.ts";
import { serve } from "../../src/server/fastify/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { JWT, tokenFor } from "../tokens.ts";
import { findings, inspecting, overflows, serving } from "./inspected.ts";

const { visit } = inspecting();

/** Speaks, and then waits until it is stopped. */
const patient = defineAgent({
  name: "patient",
  async run({ emit, signal }) {
    await emit.text().write("I wait.");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  },
});

/** Closes nothing of what it opens. */
const sloppy = defineAgent({
  name: "sloppy",
  async *run({ input: { threadId, runId } }) {
    yield { type: "RUN_STARTED", threadId, runId } as const;
    yield { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" } as const;
    yield { type: "RUN_FINISHED", threadId, runId } as const;
  },
});

const agents = [patient, sloppy, load];
let server: Served;
let client: HeddleClient;
beforeAll(async () => {
  server = await serving({ agents });
  client = connect(server.url);
});
afterAll(async () => {
  client.close();
  await server.close();
});

const panel = (page: Page, name: string): Locator => page.getByRole("region", { name });
const fact = (page: Page, panelName: string, name: string): Locator =>
  panel(page, panelName).locator(".health-facts > div", { hasText: name }).locator("dd");

const FIXTURE: Status = {
  version: "0.1.0",
  startedAt: "2026-11-16T12:00:00.000Z",
  now: "2026-11-16T12:10:00.000Z",
  ready: false,
  store: {
    status: "The database cannot be reached: is PostgreSQL running?",
    kind: "postgres",
    threads: 1204,
    runs: 5000,
    events: 1_200_000,
    rawBytes: 80_000_000,
    compactedBytes: 8_000_000,
    snapshotBytes: 2_000_000,
    totalBytes: 91_000_000,
  },
  runs: { running: 3, queued: 2, list: [] },
  viewers: 40,
  slowestLagEvents: 912,
  sockets: 12,
  reconnects: 7,
  commits: { count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0, recent: [] },
  totals: { started: 5000, ended: { finished: 4990, failed: 10 }, events: 1_200_000 },
  repairs: [{ rule: "a-rule-of-tomorrow", count: 2 }],
  rejections: [{ code: "rate-limited", count: 1234 }],
  errors: Array.from({ length: 50 }, (_, index) => ({
    at: "2026-11-16T12:09:00.000Z",
    code: "store-unavailable",
    message: `Commit ${index} failed: ${"a word ".repeat(20)}`,
    threadId: "t".repeat(256),
    runId: "r",
  })),
};

test("an operator sees runs, commits, repairs, refusals and errors as they happen, and stops a run", async () => {
  await client.thread("broken").run("load", { forwardedProps: { tokens: 5, failAt: 3 } }).finished;
  await client.thread("untidy").run("sloppy", "Go").finished;
  await client.agents();
  await fetch(`${server.url}/threads/nowhere`);
  const page = await visit(server.url, { at: "#/health" });
  await page.getByText("Ready").waitFor();
  await panel(page, "Running now").getByText("Nothing runs").waitFor();
  await expect.poll(() => fact(page, "Storage", "Conversations").textContent()).toBe("2");
  await panel(page, "Commits").getByRole("img").waitFor();
  await panel(page, "Repairs").getByText("open-at-finish", { exact: true }).waitFor();
  await panel(page, "Repairs").getByText("Every message, tool call and step is ended before RUN_FINISHED.").waitFor();
  await panel(page, "Refusals").getByText("thread-unknown").waitFor();
  const failure = panel(page, "Recent errors").getByRole("listitem").filter({ hasText: "Failed at word 3" });
  const link = await failure.getByRole("link").getAttribute("href");
  expect(link).toMatch(/^#\/timeline\/broken\?run=/);
  const run = client.thread("waiting").run("patient", "Go");
  await panel(page, "Running now").getByRole("link", { name: "waiting" }).waitFor();
  await panel(page, "Running now").getByRole("button", { name: "Stop the run in waiting" }).click();
  await page.getByText("The run was stopped.").waitFor();
  expect((await run.finished).status).toBe("cancelled");
  await panel(page, "Running now").getByText("Nothing runs").waitFor();
});

test("a server that goes and comes back: the page says so, keeps what it knew, and goes on by itself", async () => {
  const store = memoryStore();
  const first = await serving({ agents, store });
  const page = await visit(first.url, { at: "#/health" });
  await page.getByText("Ready", { exact: true }).waitFor();
  await first.close();
  await page.getByText("Not answering").waitFor();
  await page.getByText("the page keeps asking").waitFor();
  expect(await panel(page, "Storage").count()).toBe(1);
  const { port } = new URL(first.url);
  const second = await serve({ agents, port: Number(port), host: "localhost", logLevel: "silent" });
  onTestFinished(() => second.close());
  await page.getByText("Ready", { exact: true }).waitFor();
  await expect.poll(() => page.getByText("the page keeps asking").count()).toBe(0);
});

test("a server that takes what is asked and never answers is not called ready", async () => {
  const page = await visit(server.url);
  await page.clock.install();
  await page.goto(`${server.url}/#/health`);
  await page.getByText("Ready", { exact: true }).waitFor();
  await page.route("**/status", (route) => route.fulfill({ contentType: "text/html", body: "<p>Wait</p>" }));
  await page.clock.runFor(3000);
  await page.getByText(/Something between here and the server answered in its place/).waitFor();
  await page.unroute("**/status");
  await page.route("**/status", () => undefined);
  const asked = page.waitForRequest("**/status");
  await page.clock.runFor(5000);
  await asked;
  await page.clock.runFor(11_000);
  await page.getByText(/The server has not answered for 10 seconds/).waitFor();
  await page.unroute("**/status");
  await page.getByRole("button", { name: "Ask now" }).click();
  await page.getByText("Ready", { exact: true }).waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
});

test("a store that is down, and fifty errors of long words, on a phone", async () => {
  const page = await visit(server.url, { at: "#/threads", width: "phone" });
  await page.route("**/status", (route) => route.fulfill({ json: FIXTURE }));
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByText("is PostgreSQL running?").first().waitFor();
  await page.getByText("Not ready").waitFor();
  await panel(page, "Refusals").getByText("Too many requests").waitFor();
  await panel(page, "Storage").getByText("10 times smaller").waitFor();
  await expect.poll(() => panel(page, "Recent errors").getByRole("listitem").count()).toBe(50);
  expect(await overflows(page)).toBe(false);
  expect(await findings(page)).toEqual([]);
});

test("a server that never said how it is: why, and how to ask again", async () => {
  const page = await visit(server.url, { at: "#/threads" });
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  const error = { code: "internal-error", message: "Something broke. The log has the cause." };
  await page.route("**/status", (route) => route.fulfill({ status: 500, json: { error } }));
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByRole("alert").getByText(error.message).waitFor();
  await page.unroute("**/status");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Ready", { exact: true }).waitFor();
  await expect.poll(() => page.getByRole("alert").count()).toBe(0);
});

test("who is no operator is told so, and sees how their own conversations are", async () => {
  const guarded = await serving({ agents, auth: { jwt: { ...JWT, issuer: false } } });
  onTestFinished(() => guarded.close());
  const ada = connect(guarded.url, { token: await tokenFor({ user: "ada" }) });
  onTestFinished(() => ada.close());
  await ada.thread("broken").run("load", { forwardedProps: { tokens: 5, failAt: 3 } }).finished;
  const run = ada.thread("mine").run("patient", "Go");
  const page = await visit(guarded.url, { at: "#/health" });
  await page.getByRole("textbox").fill(await tokenFor({ user: "ada" }));
  await page.keyboard.press("Enter");
  await page.getByText("shown to operators").waitFor();
  await panel(page, "Running now").getByRole("link", { name: "mine" }).waitFor();
  await panel(page, "Failed").getByRole("link", { name: "broken" }).waitFor();
  expect(await findings(page)).toEqual([]);
  await run.cancel();
});

test.each(["light", "dark"] as const)("axe finds nothing with real data, %s", async (colorScheme) => {
  const page = await visit(server.url, { at: "#/health", colorScheme });
  await panel(page, "Commits").getByRole("img").waitFor();
  expect(await findings(page)).toEqual([]);
  expect(await overflows(page)).toBe(false);
});

test("a run is named on every width", async () => {
  const thread = client.thread("a-conversation-with-quite-a-long-name");
  const run = thread.run("patient", "Hello");
  onTestFinished(async () => {
    await run.cancel();
    await run.finished;
  });
  const page = await visit(server.url, { at: "#/health", viewport: { width: 760, height: 700 } });
  const link = panel(page, "Running now").getByRole("link", { name: thread.id });
  await link.waitFor();
  expect((await link.boundingBox())?.width).toBeGreaterThan(100);
});

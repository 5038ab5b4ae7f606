/**
 * The inspector far from the demo: on PostgreSQL, as a gateway in front of agents that know nothing of us, with a second server on
 * the same database, and below a prefix of somebody else's application.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { EventType } from "@ag-ui/core";
import { EventEncoder } from "@ag-ui/encoder";
import Fastify from "fastify";
import type { FastifyInstance } from "fastify";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { remoteAgent } from "heddle/adapters/ag-ui";
import type { Agent } from "heddle/agent";
import { heddlePlugin } from "../../src/server/fastify/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { postgresStore } from "../../src/store/postgres/index.ts";
import { realPostgres } from "../real-postgres.ts";
import type { RealPostgres } from "../real-postgres.ts";
import { inspecting, serving } from "./inspected.ts";

const { visit } = inspecting();
let postgres: RealPostgres;
let foreign: Server;
let one: Served;
let two: Served;
let host: FastifyInstance;
let prefixed: string;

/** Runs that ask for it wait here until the test lets them go on. */
let release = Promise.withResolvers<void>();

interface Asked {
  readonly threadId: string;
  readonly runId: string;
  readonly messages: readonly { readonly content: string }[];
}

/** As the encoder of others writes it: a plan, and an answer. */
async function* tidy({ threadId, runId, messages }: Asked): AsyncGenerator<string> {
  const encoder = new EventEncoder();
  const frame = { threadId, runId };
  const said = messages.at(-1)?.content ?? "";
  const id = `answer-${runId}`;
  yield encoder.encode({ type: EventType.RUN_STARTED, ...frame });
  yield encoder.encode({ type: EventType.STATE_SNAPSHOT, snapshot: { shelf: "A", found: 0 } });
  yield encoder.encode({ type: EventType.STATE_DELTA, delta: [{ op: "replace", path: "/found", value: 3 }] });
  yield encoder.encode({ type: EventType.TEXT_MESSAGE_START, messageId: id, role: "assistant" });
  yield encoder.encode({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: id, delta: `Three books about ${said}` });
  if (said === "patience") await release.promise;
  yield encoder.encode({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: id, delta: ", all of them here." });
  yield encoder.encode({ type: EventType.TEXT_MESSAGE_END, messageId: id });
  yield encoder.encode({ type: EventType.RUN_FINISHED, ...frame });
}

/** As nobody should write it: a message never ended, arguments of no call, and talk behind the end. */
async function* untidy({ threadId, runId }: Asked): AsyncGenerator<string> {
  const id = `parcel-${runId}`;
  for (const event of [
    { type: "RUN_STARTED", threadId, runId },
    { type: "TOOL_CALL_ARGS", toolCallId: "c9", delta: "{}" },
    { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: "It arrives on Friday." },
    { type: "RUN_FINISHED", threadId, runId },
    { type: "CUSTOM", name: "goodbye", value: 1 },
  ])
    yield `data: ${JSON.stringify(event)}\n\n`;
}

beforeAll(async () => {
  postgres = await realPostgres({ own: true });
  foreign = createServer(async (request, response) => {
    const asked = Object(await json(request));
    response.setHeader("content-type", "text/event-stream");
    for await (const frame of request.url === "/parcels" ? untidy(asked) : tidy(asked)) response.write(frame);
    response.end();
  }).listen(0, "127.0.0.1");
  await once(foreign, "listening");
  const { port }: AddressInfo = Object(foreign.address());
  const agents = (): readonly Agent[] =>
    ["library", "parcels"].map((name) => remoteAgent({ name, url: `http://127.0.0.1:${port}/${name}` }));
  one = await serving({ agents: agents(), store: postgresStore(postgres.url) });
  two = await serving({ agents: agents(), store: postgresStore(postgres.url) });
  host = Fastify();
  host.get("/", async () => "The application of somebody else.");
  await host.register(heddlePlugin, { prefix: "/ai", agents: agents(), store: postgresStore(postgres.url) });
  prefixed = `${await host.listen({ port: 0, host: "127.0.0.1" })}/ai`;
});
afterAll(async () => {
  release.resolve();
  await Promise.all([one.close(), two.close(), host.close()]);
  foreign.closeAllConnections();
  foreign.close();
  await postgres.stop();
});

const field = (page: Page): Locator => page.getByLabel("Message", { exact: true });
const log = (page: Page): Locator => page.getByRole("log", { name: "Messages" });
const rows = (page: Page): Locator => page.getByRole("treegrid", { name: "Events" }).getByRole("row");

async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.locator("button:enabled", { hasText: /^Send$/ }).waitFor();
  await field(page).press("Enter");
}

test("a tidy agent of elsewhere is talked to, edited, travelled through, and its thread named, put aside and deleted", async () => {
  const page = await visit(one.url, { at: "#/talk/books?agent=library" });
  await say(page, "looms");
  await log(page).getByText("Three books about looms, all of them here.").waitFor();
  await page.getByRole("button", { name: "Edit and ask again" }).click();
  await page.getByLabel("Edit your message").fill("yarn");
  await page.keyboard.press("Enter");
  await log(page).getByText("Three books about yarn, all of them here.").waitFor();
  await page.getByText("2 / 2").waitFor();

  await page.goto(`${one.url}/#/branches/books`);
  await page.getByText("2 runs, 2 branches").waitFor();
  await page.goto(`${one.url}/#/travel/books`);
  await page.getByRole("button", { name: "First event" }).click();
  await page.getByText("The state is empty.").waitFor();
  await page.getByRole("button", { name: "Next state change" }).click();
  await page.getByRole("button", { name: "Next state change" }).click();
  await page.getByRole("list", { name: "What it changed" }).getByText("found").waitFor();

  await page.goto(`${one.url}/#/threads`);
  const row = page.getByRole("list", { name: "Conversations" }).getByRole("listitem");
  await row.hover();
  await page.getByRole("button", { name: /^Rename / }).click();
  await page.keyboard.type("About yarn");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Archive About yarn" }).click();
  await row.waitFor({ state: "detached" });
  await page.getByRole("radio", { name: "Archived" }).click();
  await row.filter({ hasText: "About yarn" }).hover();
  await page.getByRole("button", { name: "Delete About yarn" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await row.waitFor({ state: "detached" });
  expect((await fetch(`${two.url}/threads/books`)).status).toBe(404);
});

test("what an untidy one gets wrong stands in the timeline and in the health of the server, whose store is PostgreSQL", async () => {
  const page = await visit(one.url, { at: "#/talk/parcel?agent=parcels" });
  await say(page, "Where is it?");
  await log(page).getByText("It arrives on Friday.").waitFor();
  await page.goto(`${one.url}/#/timeline/parcel?problems=1`);
  for (const rule of ["not-open", "open-at-finish", "after-finish"]) {
    await rows(page)
      .filter({ hasText: new RegExp(`Repair.*${rule}`) })
      .waitFor();
  }
  expect(await rows(page).filter({ hasText: "RUN_ERROR" }).count()).toBe(0);
  await page.goto(`${one.url}/#/health`);
  await page
    .getByRole("region", { name: "Storage" })
    .getByText(/ in postgres$/)
    .waitFor();
  await page.getByRole("region", { name: "Repairs" }).getByText("after-finish", { exact: true }).waitFor();
});

test("a run that one server executes is seen live in the inspector of the other, from its first word to its last", async () => {
  release = Promise.withResolvers();
  const watching = await visit(two.url, { at: "#/talk/shared?agent=library" });
  await field(watching).waitFor();
  const talking = await visit(one.url, { at: "#/talk/shared?agent=library" });
  await say(talking, "patience");
  await log(watching).getByText("Three books about patience", { exact: true }).waitFor();
  const joined = await visit(two.url, { at: "#/timeline/shared" });
  await rows(joined)
    .filter({ hasText: /^library.*Running/ })
    .waitFor();
  release.resolve();
  for (const page of [watching, talking]) {
    await log(page).getByText("Three books about patience, all of them here.").waitFor();
  }
  await rows(joined)
    .filter({ hasText: /^library.*Finished/ })
    .waitFor();
  const { runs }: { runs: readonly unknown[] } = Object(await (await fetch(`${two.url}/threads/shared`)).json());
  expect(runs).toMatchObject([{ agent: "library", status: "finished" }]);
});

test("below a prefix of a host application it loads, talks, and a link and a reload bring the view back", async () => {
  const page = await visit(prefixed.replace(/\/ai$/, ""), { at: "ai" });
  expect(page.url()).toBe(`${prefixed}/`);
  await page.goto(`${prefixed}/#/talk/hosted?agent=library`);
  await say(page, "prefixes");
  await log(page).getByText("Three books about prefixes, all of them here.").waitFor();
  await page.getByRole("link", { name: "Show its events in the timeline" }).last().click();
  await rows(page).and(page.locator("[aria-selected=true]")).waitFor();
  await page.reload();
  await rows(page).and(page.locator("[aria-selected=true]")).waitFor();
  await page.goto(`${prefixed}/#/health`);
  await page.getByText("Ready", { exact: true }).waitFor();
  expect(await (await fetch(new URL("/", prefixed))).text()).toBe("The application of somebody else.");
});

/** 100,000 events on the page Timeline: all of them are read, reached, searched and opened, and only those in sight are drawn. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Served } from "../../src/server/fastify/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { inspecting, serving } from "./inspected.ts";
import { LARGE_THREAD, importLargeThread } from "./large-thread.ts";

const { visit } = inspecting();
let server: Served;
let count: number;
beforeAll(async () => {
  const store = memoryStore();
  count = (await importLargeThread(store)).events;
  server = await serving({ agents: [], store });
});
afterAll(() => server.close());

test("are loaded with progress, scrolled from end to end, and searched", async () => {
  const page = await visit(server.url, { at: "#/connect" });
  // Looked for from before it begins: it is there for a while only.
  const progress = page.getByText(/^Reading events: [\d,]+ of 100,\d+…$/).waitFor();
  await Promise.all([progress, page.goto(`${server.url}/#/timeline/${LARGE_THREAD}?group=flat`)]);
  const grid = page.getByRole("treegrid", { name: "Events" });
  await grid.waitFor({ timeout: 60_000 });
  await expect.poll(async () => Number(await grid.getAttribute("aria-rowcount"))).toBe(count + 1);
  await grid.press("Home");
  await page.locator('[aria-rowindex="2"]').filter({ hasText: "RUN_STARTED" }).waitFor();
  for (const part of [0.25, 0.5, 0.75]) {
    await grid.evaluate((list, to) => list.scrollTo({ top: list.scrollHeight * to }), part);
    const near = Math.round(count * part) + 10;
    await page.locator(`[aria-rowindex="${near}"]`).waitFor();
    expect(await grid.getByRole("row").count()).toBeLessThan(100);
  }
  await grid.press("End");
  await page
    .locator(`[aria-rowindex="${count + 1}"]`)
    .filter({ hasText: /RUN_(FINISHED|ERROR)/ })
    .waitFor();
  await page.getByLabel("Search events").fill("call-77-search");
  await page.getByText(/^1\d matches$/).waitFor();
  await page.getByLabel("Search events").press("Enter");
  await page.getByText(/^1 of 1\d matches$/).waitFor();
});

test("what a search finds later keeps the newest in sight, and what a link leads to where there is one", async () => {
  const page = await visit(server.url, { at: `#/timeline/${LARGE_THREAD}?group=flat` });
  const grid = page.getByRole("treegrid", { name: "Events" });
  await grid.waitFor({ timeout: 60_000 });
  await page.getByLabel("Search events").fill("shuttle");
  await page.getByText(/^[\d,]+ matches$/).waitFor();
  const rows = (await grid.getAttribute("aria-rowcount")) ?? "none";
  await page.locator(`[aria-rowindex="${rows}"]`).waitFor();
  await expect.poll(() => page.getByRole("button", { name: /Newest/ }).count()).toBe(0);
  await page.goto(`${server.url}/#/timeline/${LARGE_THREAD}?group=flat&q=run_started&event=1`);
  await page.getByText(/^1 of [\d,]+ matches$/).waitFor();
  await page.locator('[aria-rowindex="2"][aria-selected=true]').waitFor();
});

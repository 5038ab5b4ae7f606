/**
 * The inspector in a real browser: what a visitor downloads, how soon something is seen, and how long frames take while a thread
 * of 100,000 events is read and scrolled. The server is a process of its own, on loopback.
 *
 * A frame is the time between two callbacks of `requestAnimationFrame`; this browser draws in software, on the cores that the
 * server uses too.
 */
import { readFileSync, globSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { openBrowser } from "../test/browser.ts";
import { Child } from "./child.ts";
import { figure, median } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";

const BUNDLE_KB = 350;
const PAINT_MS = 1000;
const FRAME_MS = 50;
const VISITS = 5;

/** The rows. */
export async function inspectorRows(effort: Effort): Promise<readonly Row[]> {
  const events = effort.quick ? 20_000 : 100_000;
  const server = await Child.start("./inspector-child.ts", [String(events)]);
  try {
    return [
      figure("what the whole inspector weighs, gzipped", "kB", bundleBytes() / 1000, BUNDLE_KB),
      figure("first paint of the page, on loopback", "ms", median(await firstPaints(server.url)), PAINT_MS),
      ...(await scrolled(server.url, events)),
    ];
  } finally {
    await server.stop();
  }
}

/** All scripts, styles and pictures: a visitor of one page downloads less. */
const bundleBytes = (): number =>
  globSync("dist/inspector/**/*.*").reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);

async function firstPaints(url: string): Promise<number[]> {
  const paints: number[] = [];
  for (let visit = 0; visit < VISITS; visit++) {
    // One for each visit: nothing is kept from the one before.
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(`${url}/#/threads`);
      // The frame of the app, with what the server said: not the word that stands there before.
      await page.getByRole("heading", { name: "Threads" }).waitFor();
      paints.push(await page.evaluate(paintedAt));
    } finally {
      await browser.close();
    }
  }
  return paints;
}

/** When the largest thing that is seen was painted. */
const paintedAt = (): Promise<number> =>
  new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries().at(-1)?.startTime ?? Number.NaN)).observe({
      type: "largest-contentful-paint",
      buffered: true,
    });
  });

/**
 * The inspector in a real browser: what a visitor downloads, how soon something is seen, and how long frames take while a thread
 * of 100,000 events is read and scrolled. The server is a process of its own, on loopback.
 *
 * A frame is the time between two callbacks of `requestAnimationFrame`; this browser draws in software, on the cores that the
 * server uses too.
 */
import { globSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { openBrowser } from "../test/browser.ts";
import { LARGE_THREAD } from "../test/inspector/large-thread.ts";
import { Child } from "./child.ts";
import { figure, median } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";

const BUNDLE_KB = 350;
const PAINT_MS = 1000;
const FRAME_MS = 50;
/** No target was set; what people take for waiting. */
const LOADED_MS = 5000;
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

/** The longest frame while a long thread is scrolled, by a wheel and by jumps, and how long it took to be read. */
async function scrolled(url: string, events: number): Promise<readonly Row[]> {
  const longest: number[] = [];
  const loaded: number[] = [];
  const count = await countOf(url);
  for (let visit = 0; visit < VISITS; visit++) {
    const browser = await openBrowser();
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      const began = performance.now();
      await page.goto(`${url}/#/timeline/${LARGE_THREAD}?group=flat`);
      await page.waitForFunction(hasRows, count, { timeout: 60_000 });
      loaded.push(performance.now() - began);
      longest.push(await page.getByRole("treegrid").evaluate(longestFrame));
    } finally {
      await browser.close();
    }
  }
  const size = `${events / 1000}k events`;
  return [
    figure(`longest frame while ${size} are scrolled`, "ms", median(longest), FRAME_MS),
    figure(`until all of ${size} are read and shown`, "ms", median(loaded), LOADED_MS),
  ];
}

/** How many events the thread has: more than were asked for, since its last run is completed. */
async function countOf(url: string): Promise<number> {
  const answer = await fetch(`${url}/threads/${LARGE_THREAD}`);
  const { events }: { readonly events: number } = JSON.parse(await answer.text());
  return events;
}

const hasRows = (count: number): boolean =>
  Number(document.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")) > count;

/** Scrolls by turns of a wheel, then through everything and back as by a bar that is dragged, a step each frame. */
async function longestFrame(list: Element): Promise<number> {
  if (list.scrollHeight < 100 * list.clientHeight) throw new Error("The list does not scroll.");
  // Functions of a page cannot be brought along.
  // oxlint-disable-next-line unicorn/consistent-function-scoping
  const nextFrame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
  const end = list.scrollHeight - list.clientHeight;
  const steps = [
    ...Array<number>(120).fill(300),
    ...Array<number>(120).fill(end / 120),
    ...Array<number>(120).fill(-end / 120),
  ];
  list.scrollTop = 0;
  // From when all of it is shown and the page has nothing left to do.
  await new Promise((resolve) => requestIdleCallback(resolve));
  for (let frame = 0; frame < 10; frame++) await nextFrame();
  let before = await nextFrame();
  let longest = 0;
  for (const step of steps) {
    list.scrollTop += step;
    const now = await nextFrame();
    longest = Math.max(longest, now - before);
    before = now;
  }
  return longest;
}

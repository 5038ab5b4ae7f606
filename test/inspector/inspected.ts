/**
 * The inspector in a real browser, for tests: one browser a file, a server in the process, and pages that say at the end of each
 * test that they complained about nothing and asked nobody but their server for anything.
 *
 * The page is the one in dist/inspector: build it before (`node scripts/build-inspector.ts`).
 */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, vi } from "vitest";
import { serve } from "../../src/server/fastify/index.ts";
import type { Served, ServeOptions } from "../../src/server/fastify/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { openBrowser } from "../browser.ts";
import { complaintsOf } from "../pages.ts";

export { findings } from "../axe-findings.ts";

/** Widths that pages are tried at. */
export const WIDTHS = { desktop: 1280, phone: 390 } as const;

/** How a page is opened. */
export interface VisitOptions extends BrowserContextOptions {
  /** How wide. Default desktop. */
  readonly width?: keyof typeof WIDTHS;
  /** Where in the inspector, such as `#/threads`. Default: the beginning. */
  readonly at?: string;
  /** What the page may complain about. Default: nothing. */
  readonly mayComplain?: RegExp;
}

/** Sets the file up: a browser for its tests. Gives a function that opens pages. */
export function inspecting(): { visit(url: string, options?: VisitOptions): Promise<Page> } {
  // A browser that draws in software, on cores that others use too, takes its time.
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());
  return { visit: (url, options) => open(browser, url, options) };
}

async function open(browser: Browser, url: string, options: VisitOptions = {}): Promise<Page> {
  const { width = "desktop", at = "", mayComplain, ...others } = options;
  const viewport = { width: WIDTHS[width], height: width === "phone" ? 844 : 800 };
  const context = await browser.newContext({ viewport, ...others });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  const { origin } = new URL(url);
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (asked.origin !== origin && /^https?:$/.test(asked.protocol)) complaints.push(`asked ${asked.origin}`);
  });
  // This browser does not survive that a context is closed; its pages leave, and go with the browser.
  onTestFinished(async ({ task }) => {
    // What a failure on another machine has to be understood from.
    if (task.result?.state === "fail")
      process.stderr.write(`${task.name}\n${page.url()}\n${await page.locator("body").ariaSnapshot()}\n`);
    await page.goto("about:blank");
    expect(complaints.filter((complaint) => mayComplain?.test(complaint) !== true)).toEqual([]);
  });
  await page.goto(`${url}/${at}`);
  return page;
}

/** Starts a server in the process for a test or, called outside of one, for the file. */
export async function serving(options: Partial<ServeOptions> & Pick<ServeOptions, "agents">): Promise<Served> {
  return serve({ store: memoryStore(), port: 0, host: "localhost", logLevel: "silent", ...options });
}

/** Whether anything of the page stands beyond its right edge. */
export const overflows = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

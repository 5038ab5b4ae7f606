/** A render that React throws away loses nothing: what a component read in it reaches its effects nevertheless. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { bundleWith, servePage } from "./pages.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
}, 60_000);
afterAll(() => browser.close());

test.each([18, 19] as const)(
  "React %i: an effect runs for a value that a discarded render saw first",
  async (version) => {
    const script = await bundleWith(version, "test/react-pages/discarded.tsx", "browser");
    const page = await browser.newPage();
    await page.goto(await servePage('<!doctype html><script src="/app.js"></script>', script));
    const seen = await page.evaluate(() => Reflect.get(globalThis, "inVain")());
    await page.goto("about:blank");
    expect(seen).toEqual({ effects: [0, 1], renders: 1, text: "1" });
  },
  60_000,
);

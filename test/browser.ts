/**
 * A real browser for tests, out of an npm package. One browser for each test file; pages are opened by contexts of their own,
 * so nothing that one test leaves behind is seen by the next.
 */
import sparticuz from "@sparticuz/chromium";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

/** Starts a browser. Close it when the file has ended. */
export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await sparticuz.executablePath(), args: sparticuz.args, headless: true });
}

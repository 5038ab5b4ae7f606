/**
 * A real browser for tests, out of an npm package. One browser for each test file; pages are opened by contexts of their own,
 * so nothing that one test leaves behind is seen by the next.
 */
import sparticuz from "@sparticuz/chromium";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

/** Starts a browser, with settings of its own. Close it when the file has ended. */
export async function openBrowser(settings: readonly string[] = []): Promise<Browser> {
  const args = [...sparticuz.args, ...settings];
  return chromium.launch({ executablePath: await sparticuz.executablePath(), args, headless: true });
}

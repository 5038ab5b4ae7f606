/**
 * Takes the pictures of the sample's page in docs/: `node scripts/shoot-sample.ts`, after `npm run build`.
 *
 * The sample runs as a process of its own, on a free port and in memory; each picture has a page of its own, in a browser
 * from npm.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Browser, Page } from "playwright-core";
import { openBrowser } from "../test/browser.ts";

const DESKTOP = { width: 1160, height: 725 };
const PHONE = { width: 390, height: 844 };

interface Shot {
  readonly name: string;
  readonly size?: typeof DESKTOP;
  readonly scheme?: "dark" | "light";
  /** Brings the page to what is to be seen. */
  readonly act: (page: Page, url: string) => Promise<void>;
}

const open = (page: Page, url: string): Promise<unknown> => page.goto(url, { waitUntil: "networkidle" });

async function ask(page: Page, agent: string, text: string): Promise<void> {
  await page.getByRole("radio", { name: agent }).check({ force: true });
  await page.getByLabel("Your message").fill(text);
  await page.getByLabel("Your message").press("Enter");
}

const answered = (page: Page, count = 1): Promise<void> =>
  page
    .locator(".figures")
    .nth(count - 1)
    .waitFor();

const SHOTS: readonly Shot[] = [
  {
    name: "loading",
    async act(page, url) {
      await page.route("**/endpoints.json", () => undefined);
      await page.goto(url, { waitUntil: "domcontentloaded" });
    },
  },
  { name: "empty", act: async (page, url) => void (await open(page, url)) },
  {
    name: "busy",
    async act(page, url) {
      await open(page, url);
      await ask(page, "Reasoning", "What are the factors of 5040?");
      await page.getByText("of 8").waitFor();
      await page.getByText("2520 is left").waitFor();
    },
  },
  {
    name: "error",
    async act(page, url) {
      await open(page, url);
      await ask(page, "Chat", "My name is Ada");
      await answered(page);
      await ask(page, "Chat", "Fail, please");
      await page.locator(".failure").waitFor();
    },
  },
  {
    name: "tools",
    async act(page, url) {
      await open(page, url);
      await ask(page, "Tools", "What is the weather in Paris and Atlantis, and what is 17*23?");
      await answered(page);
      await page.locator("[data-type=tool-result-chunk] summary").first().click();
    },
  },
  {
    name: "phone",
    size: PHONE,
    async act(page, url) {
      await open(page, url);
      await ask(page, "Tools", "What is the weather in Rome, and what is 17*23?");
      await answered(page);
    },
  },
  {
    name: "dark",
    scheme: "dark",
    async act(page, url) {
      await open(page, url);
      await ask(page, "Reasoning", "Is 221 prime?");
      await answered(page);
    },
  },
];

async function shoot(
  browser: Browser,
  url: string,
  { name, size = DESKTOP, scheme = "light", act }: Shot,
): Promise<void> {
  const context = await browser.newContext({ viewport: size, colorScheme: scheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  await act(page, url);
  const path = `docs/sample-${name}.png`;
  await page.screenshot({ path });
  console.log(path);
  // Left open: this browser is one process, and closing a context takes it along.
}

const env = { ...process.env, HEDDLE_PORT: "0", HEDDLE_STORE: "memory:" };
const sample = spawn(process.execPath, ["examples/sample/main.ts"], { env, stdio: ["ignore", "pipe", "inherit"] });
const [line]: unknown[] = await once(sample.stdout, "data");
const url = /http:\S+/.exec(String(line))?.[0] ?? "";
try {
  const browser = await openBrowser();
  for (const shot of SHOTS) await shoot(browser, url, shot);
  await browser.close();
} finally {
  sample.kill();
}

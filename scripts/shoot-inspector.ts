/**
 * Takes the pictures of the inspector in docs/: `node scripts/shoot-inspector.ts [name …]`, after `npm run build`.
 *
 * A server in this process, in memory, is filled by real runs; each picture has a page of its own, in a browser from npm. Every
 * page is taken light and dark, wide and narrow; what is empty, on its way or broken once each.
 */
import type { Browser, Page } from "playwright-core";
import { connect } from "heddle/client";
import { serve } from "heddle/server/fastify";
import { memoryStore } from "heddle/store";
import { openBrowser } from "../test/browser.ts";
import { SHOWN, fillShowcase, showcaseAgents } from "../test/inspector/showcase.ts";

const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;
const SCHEMES = ["light", "dark"] as const;

type Size = keyof typeof SIZES;
type Scheme = (typeof SCHEMES)[number];

interface Servers {
  /** One that is full of conversations. */
  readonly full: string;
  /** One that nothing was said to. */
  readonly empty: string;
  /** One that wants a token. */
  readonly guarded: string;
  /** An agent of elsewhere. */
  readonly foreign: string;
}

interface Shot {
  readonly name: string;
  /** Brings the page to what is to be seen. */
  readonly act: (page: Page, servers: Servers, size: Size) => Promise<void>;
  /** Taken in all four ways, or only these. */
  readonly only?: readonly (readonly [Size, Scheme])[];
}

const ONCE = [["desktop", "light"]] as const;

/** Opens a place, and waits until nothing moves any more. */
async function open(page: Page, url: string, at: string): Promise<void> {
  await page.goto(`${url}/${at}`);
  await page.locator("main h1, main h2").first().waitFor();
  await settle(page);
}

let visits = 0;

const settle = (page: Page): Promise<void> => page.waitForTimeout(900);

const SHOTS: readonly Shot[] = [
  { name: "talk", act: (page, { full }) => open(page, full, `#/talk/${SHOWN.branches}`) },
  { name: "talk-question", act: (page, { full }) => open(page, full, `#/talk/${SHOWN.question}`), only: ONCE },
  { name: "talk-subagents", act: (page, { full }) => open(page, full, `#/talk/${SHOWN.subagents}`), only: ONCE },
  { name: "talk-empty", act: (page, { empty }) => open(page, empty, "#/talk") },
  { name: "talk-error", act: (page, { full }) => open(page, full, `#/talk/${SHOWN.failure}`), only: ONCE },
  { name: "timeline", act: (page, { full }) => open(page, full, `#/timeline/${SHOWN.branches}`) },
  { name: "timeline-repairs", act: (page, { full }) => open(page, full, `#/timeline/${SHOWN.repairs}`), only: ONCE },
  {
    name: "timeline-loading",
    async act(page, { full }) {
      await page.route("**/events?*", () => undefined);
      await page.goto(`${full}/#/timeline/${SHOWN.branches}`);
      await settle(page);
    },
    only: ONCE,
  },
  { name: "timeline-empty", act: (page, { empty }) => open(page, empty, "#/timeline"), only: ONCE },
  {
    name: "travel",
    async act(page, { full }) {
      await open(page, full, `#/travel/${SHOWN.plan}?at=16`);
    },
  },
  {
    name: "travel-compare",
    act: (page, { full }) => open(page, full, `#/travel/${SHOWN.plan}?from=3&at=30`),
    only: ONCE,
  },
  {
    name: "timeline-details",
    async act(page, { full }) {
      await open(page, full, `#/timeline/${SHOWN.repairs}?problems=1`);
      await page.getByRole("row").filter({ hasText: "patch-unappliable" }).click();
      await settle(page);
    },
    only: [["desktop", "dark"]],
  },
  {
    name: "branches-compare",
    async act(page, { full }) {
      const answer = await fetch(`${full}/threads/${SHOWN.branches}`);
      const { heads }: { readonly heads: readonly string[] } = JSON.parse(await answer.text());
      await open(page, full, `#/branches/${SHOWN.branches}?a=${heads[0]}&b=${heads.at(-1)}`);
    },
    only: [["desktop", "dark"]],
  },
  { name: "branches", act: (page, { full }) => open(page, full, `#/branches/${SHOWN.branches}`) },
  { name: "threads", act: (page, { full }) => open(page, full, "#/threads") },
  { name: "threads-empty", act: (page, { empty }) => open(page, empty, "#/threads"), only: ONCE },
  {
    name: "health",
    async act(page, { full }) {
      // Each way that the picture is taken has runs of its own, which end by themselves.
      const client = connect(full);
      for (const what of ["nightly-import", "weekly-report"]) {
        client.thread(`${what}-${++visits}`).run("load", { forwardedProps: { tokens: 700, intervalMs: 20 } });
      }
      await open(page, full, "#/health");
      // Lines need a while until there is something to draw.
      await page.waitForTimeout(9000);
    },
  },
  { name: "connect", act: (page, { full }) => open(page, full, "#/connect") },
  {
    name: "connect-check",
    async act(page, { full, foreign }) {
      await open(page, full, `#/connect?tab=test&url=${encodeURIComponent(foreign)}`);
      await page.getByRole("button", { name: /test/i }).last().click();
      await page.getByText("patch-unappliable").first().waitFor();
      await settle(page);
    },
    only: ONCE,
  },
  { name: "sign-in", act: (page, { guarded }) => open(page, guarded, "") },
  {
    name: "unreachable",
    async act(page, { full }) {
      await page.route("**/me", (route) => route.abort());
      await open(page, full, "");
    },
    only: ONCE,
  },
  {
    name: "loading",
    async act(page, { full }) {
      await page.route("**/me", () => undefined);
      await page.goto(`${full}/`);
      await settle(page);
    },
    only: ONCE,
  },
];

const chosen = process.argv.slice(2);
const showcase = await showcaseAgents();
const options = { agents: showcase.agents, port: 0, host: "localhost", logLevel: "silent" } as const;
const [full, empty, guarded] = await Promise.all([
  serve({ ...options, store: memoryStore() }),
  serve({ ...options, store: memoryStore() }),
  serve({
    ...options,
    store: memoryStore(),
    auth: { keys: { ada: { key: "a-key-of-sixteen", tenant: "acme", roles: ["operator"] } } },
  }),
]);
await fillShowcase(full.url);
const browser = await openBrowser();
for (const shot of SHOTS) {
  if (chosen.length > 0 && !chosen.includes(shot.name)) continue;
  for (const [size, scheme] of shot.only ?? everyWay()) {
    await take(
      browser,
      shot,
      { full: full.url, empty: empty.url, guarded: guarded.url, foreign: showcase.url },
      size,
      scheme,
    );
  }
}
await browser.close();
await Promise.all([full.close(), empty.close(), guarded.close()]);
showcase.close();

function everyWay(): readonly (readonly [Size, Scheme])[] {
  return (["desktop", "phone"] as const).flatMap((size) => SCHEMES.map((scheme) => [size, scheme] as const));
}

async function take(browser: Browser, shot: Shot, servers: Servers, size: Size, scheme: Scheme): Promise<void> {
  const page = await browser.newPage({ viewport: SIZES[size], colorScheme: scheme });
  page.setDefaultTimeout(15_000);
  const way = shot.only === undefined ? `-${size}-${scheme}` : "";
  const path = `docs/inspector-${shot.name}${way}.png`;
  await shot.act(page, servers, size);
  await page.screenshot({ path });
  // This browser does not survive that a context is closed.
  await page.goto("about:blank");
  console.log(path);
}

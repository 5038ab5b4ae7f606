/**
 * A page in a real browser that follows a long answer in a long thread: how long its longest task is, from when the thread is
 * there to the end of the run. The page reads the whole text whenever something is new, and draws its end.
 */
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { openBrowser } from "../test/browser.ts";
import type { Child } from "./child.ts";
import { figure, median } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { asking, bodyOf, newId, ours } from "./server-runs.ts";
import { postToEnd } from "./post.ts";
import { history } from "./workloads.ts";

const PAGE = `
import { connect } from "heddle/client";
const [, threadId, deltas] = location.hash.split("/");
const thread = connect(location.origin).thread(decodeURIComponent(threadId));
const shown = document.querySelector("#shown");
let draws = 0;
const draw = () => {
  const text = String(thread.messages.at(-1)?.content ?? "");
  shown.textContent = thread.messages.length + ": " + text.length + " " + text.slice(-200);
  draws += 1;
};
await thread.restore();
const held = thread.messages.length;
draw();
await new Promise((resolve) => setTimeout(resolve, 300));
draws = 0;
const tasks = [];
const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)));
observer.observe({ type: "longtask" });
thread.subscribe(draw);
const began = performance.now();
const run = thread.run("words", { messages: [{ id: crypto.randomUUID(), role: "user", content: "Go on" }], forwardedProps: { deltas: Number(deltas) } });
const { status } = await run.finished;
const tookMs = performance.now() - began;
await new Promise((resolve) => setTimeout(resolve, 300));
window.result = { status, held, chars: thread.messages.at(-1).content.length, longest: Math.max(0, ...tasks), tasks: tasks.length, draws, tookMs };
`;

/** What the page found. */
interface Found {
  readonly status: string;
  readonly held: number;
  readonly longest: number;
  readonly draws: number;
}

/** The longest task of the page, the middle of three visits; 0 where none took 50 ms, the least that browsers tell of. */
export async function longestTask(server: Child, effort: Effort): Promise<Row> {
  const deltas = effort.quick ? 10_000 : 50_000;
  const script = await bundled();
  const longest: number[] = [];
  for (let visit = 0; visit < 3; visit++) {
    const threadId = newId("thread");
    await postToEnd(ours(server), bodyOf(threadId, [...history(498), asking()], { deltas: 1 }));
    // One for each visit: it ends with its page.
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      longest.push((await visited(page, server.url, script, `/${threadId}/${deltas}`)).longest);
    } finally {
      await browser.close();
    }
  }
  return figure(`longest task, ${deltas / 1000}k deltas, 500 messages, in a browser`, "ms", median(longest), 50);
}

async function visited(page: Page, origin: string, script: string, hash: string): Promise<Found> {
  await page.route(`${origin}/page*`, (route) => {
    const isScript = route.request().url().endsWith(".js");
    return route.fulfill(
      isScript
        ? { contentType: "text/javascript", body: script }
        : { contentType: "text/html", body: '<p id="shown"></p><script type="module" src="/page.js"></script>' },
    );
  });
  await page.goto(`${origin}/page#${hash}`);
  await page.waitForFunction(() => "result" in globalThis, undefined, { timeout: 120_000 });
  const found: Found = await page.evaluate("window.result");
  if (found.status !== "finished" || found.held !== 500) throw new Error(`Unexpected: ${JSON.stringify(found)}`);
  return found;
}

async function bundled(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: PAGE, resolveDir: ".", loader: "js" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}

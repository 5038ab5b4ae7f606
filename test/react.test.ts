/**
 * The hooks and parts of heddle/react in a real browser, in StrictMode, with React 18 and 19, against a server in this process
 * whose agent goes on when the test says so.
 */
import { createRequire } from "node:module";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, toolLoop } from "heddle/agent";
import type { Model, RunContext } from "heddle/agent";
import { connect } from "heddle/client";
import { serve } from "heddle/server/fastify";
import type { Served } from "heddle/server/fastify";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { REACTS, bundleWith, complaintsOf, servePage } from "./pages.ts";
import type { Hooks } from "./react-pages/app.tsx";

declare const hooks: Hooks;
declare const renders: string[];
declare const unmount: () => void;
declare const setMode: (mode: "visible" | "hidden") => void;
declare const axe: typeof import("axe-core");
declare const first: Element | null;

const TOKENS = 200;
const BURST = 10;

/** What the agent does in each thread, by the name of the thread up to its first dash. */
const SCRIPTS: Readonly<Record<string, (context: RunContext) => Promise<void>>> = {
  async tokens({ emit, input }) {
    const reply = emit.text();
    for (let token = 1; token <= TOKENS; token++) {
      await reply.write(`t${token} `);
      if (token % BURST === 0) await gates.get(input.threadId)?.(token);
    }
  },
  async asks({ emit }) {
    const [a, b] = await Promise.all([
      emit.interrupt<string>({ id: "a", reason: "input_required", message: "A?" }),
      emit.interrupt<string>({ id: "b", reason: "input_required", message: "B?" }),
    ]);
    await emit.text().write(`a: ${JSON.stringify(a)}, b: ${JSON.stringify(b)}`);
  },
  async picky({ emit }) {
    const responseSchema = { type: "object", properties: { size: { enum: [1, 2] } }, required: ["size"] };
    const { status } = await emit.interrupt({ id: "size", reason: "input_required", message: "Size?", responseSchema });
    await emit.text().write(`It is ${status}.`);
  },
  async counts({ emit }) {
    const { count = 0 }: { count?: number } = Object(emit.state.value);
    await emit.state.set({ count: count + 1 });
  },
  async says({ emit, input }) {
    await emit.text().write(`You said ${String(input.messages.at(-1)?.content)}.`);
  },
  async shouts(context) {
    await toolLoop({ ...context, model: shouting });
  },
};

const shouting: Model = async function* ({ messages }) {
  const last = messages.at(-1);
  const messageId = `said-${crypto.randomUUID()}`;
  const delta = last?.role === "tool" ? `It says ${String(last.content)}.` : "I ask the page.";
  yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta };
  if (last?.role === "tool") return;
  const toolCallId = `call-${crypto.randomUUID()}`;
  yield { type: "TOOL_CALL_START", toolCallId, toolCallName: "shout", parentMessageId: messageId };
  yield { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify({ word: last?.content }) };
  yield { type: "TOOL_CALL_END", toolCallId };
};

/** Waits behind each burst of tokens, by thread. */
const gates = new Map<string, (token: number) => Promise<void>>();

const agent = defineAgent({
  name: "test",
  run: async (context) => SCRIPTS[context.input.threadId.split("-")[0] ?? ""]?.(context),
});

let server: Served;
let browser: Browser;
let folder: string;
beforeAll(async () => {
  [server, browser, folder] = await Promise.all([
    serve({ agents: [agent], port: 0, host: "127.0.0.1" }),
    openBrowser(),
    mkdtemp(join(tmpdir(), "heddle-react-")),
  ]);
});
afterAll(async () => {
  await browser.close();
  await server.close();
  await rm(folder, { recursive: true });
});

const HTML = (inner: string): string =>
  `<!doctype html><meta charset="utf-8"><title>Heddle</title><main id="root">${inner}</main><script src="app.js"></script>`;

/** Opens a page in a browser of its own, without complaints. */
async function open(address: string, query: Readonly<Record<string, string>>): Promise<Page> {
  const context = await browser.newContext();
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  // This browser does not survive that a context is closed; its pages leave, and go with the browser.
  onTestFinished(async () => {
    await page.goto("about:blank");
    expect(complaints).toEqual([]);
  });
  await page.goto(`${address}?${new URLSearchParams({ server: server.url, ...query })}`);
  return page;
}

const shows = (page: Page, text: string): Promise<void> => page.getByText(text, { exact: true }).first().waitFor();
const ids = { next: 0 };
const named = (kind: string): string => `${kind}-${++ids.next}`;

/** A thread of so many messages, said in one run. */
async function told(threadId: string, messages: number): Promise<void> {
  const thread = connect(server.url).thread(threadId);
  const history = Array.from({ length: messages - 1 }, (_, index) => {
    const role: "user" | "assistant" = index % 2 === 0 ? "user" : "assistant";
    return { id: `m${index}`, role, content: `Message ${index}.` };
  });
  await thread.run("test", { messages: history }).finished;
}

describe.each(REACTS)("React %i", (react) => {
  let address: string;
  beforeAll(async () => {
    address = await servePage(HTML(""), await bundleWith(react, "test/react-pages/client.tsx", "browser"));
  });

  test("of a thread of 20 messages, 200 tokens of an answer render that answer and nothing else", async () => {
    const thread = named("tokens");
    await told(thread, 20);
    const reached = new Map(
      Array.from({ length: TOKENS / BURST }, (_, index) => [(index + 1) * BURST, Promise.withResolvers<void>()]),
    );
    const page = await open(address, { thread });
    await page.getByText("Message 18.").waitFor();
    gates.set(thread, async (token) => reached.get(token)?.promise);
    await page.evaluate(() => void hooks.thread.run("Go"));
    const answer = page.locator("article").last().locator("p");
    await answer.getByText(`t${BURST} `).waitFor();
    await shows(page, "status running");
    // The tree of runs is fetched when a run begins, and lists tell of it.
    await page.waitForFunction(() => hooks.branches.runs.length === 2);
    await page.waitForFunction(() => hooks.threads.threads?.[0]?.status === "running");
    await page.evaluate(() => void renders.splice(0));
    for (const [token, gate] of reached) {
      await answer.getByText(`t${token} `).waitFor();
      if (token < TOKENS) gate.resolve();
    }
    const rendered = await page.evaluate(() => [...renders]);
    const id = await answer.getAttribute("id");
    reached.get(TOKENS)?.resolve();
    await shows(page, "status finished");
    expect(await page.locator("article").count()).toBe(22);
    expect(new Set(rendered)).toEqual(
      new Set(["Message", "Said", "Text", "Footer", "BranchSwitcher"].map((name) => `${name} ${id}`)),
    );
    const times = rendered.filter((name) => name === `Text ${id}`).length;
    expect(times).toBeGreaterThanOrEqual(TOKENS / BURST - 1);
    expect(times).toBeLessThanOrEqual(TOKENS);
  });

  test("answers are kept until every question has one, and sent together", async () => {
    const page = await open(address, { thread: named("asks") });
    await page.evaluate(() => void hooks.thread.run("Go"));
    await shows(page, "questions 2 answered 0");
    await page.evaluate(() => hooks.interrupts.answer("a", "one"));
    await shows(page, "questions 2 answered 1");
    expect(await page.evaluate(() => hooks.interrupts.isSending)).toBe(false);
    expect(await page.evaluate(async () => (await hooks.thread.thread.details()).runs.length)).toBe(1);
    await page.evaluate(() => hooks.interrupts.decline("b"));
    await shows(page, 'a: {"status":"resolved","payload":"one"}, b: {"status":"cancelled"}');
    await shows(page, "questions 0 answered 0");
    expect(await page.evaluate(async () => (await hooks.thread.thread.details()).runs.length)).toBe(2);
  });

  test("an answer that is refused says why, and may be given again", async () => {
    const page = await open(address, { thread: named("picky") });
    await page.evaluate(() => void hooks.thread.run("Go"));
    await shows(page, "questions 1 answered 0");
    await page.evaluate(() => hooks.interrupts.answer("size", { size: 3 }));
    await page.getByRole("alert").waitFor();
    expect(await page.evaluate(() => hooks.interrupts.error?.code)).toBe("resume-invalid");
    await shows(page, "questions 1 answered 0");
    await page.getByLabel("size").selectOption("2");
    await page.getByRole("button", { name: "Answer" }).click();
    await shows(page, "It is resolved.");
    expect(await page.evaluate(() => hooks.interrupts.error)).toBeUndefined();
  });

  test("a run that is refused says why", async () => {
    const page = await open(address, { thread: named("asks") });
    await page.evaluate(() => void hooks.thread.run("Go"));
    await shows(page, "questions 2 answered 0");
    await page.evaluate(() => void hooks.thread.run("And?"));
    await page.waitForFunction(() => hooks.run.error !== undefined);
    expect(await page.evaluate(() => hooks.run.error?.code)).toBe("answers-missing");
  });

  test("a tool of the page is executed once", async () => {
    const page = await open(address, { thread: named("shouts") });
    await page.evaluate(() => void hooks.thread.run("hey"));
    await shows(page, "It says HEY.");
    expect(await page.evaluate(() => hooks.executions.length)).toBe(1);
    await page.reload();
    await shows(page, "It says HEY.");
    expect(await page.evaluate(() => hooks.executions.length)).toBe(0);
  });

  test("state goes both ways", async () => {
    const page = await open(address, { thread: named("counts") });
    await shows(page, "count none");
    await page.evaluate(() => void hooks.thread.run("Go"));
    await shows(page, "count 1");
    await shows(page, "status finished");
    await page.evaluate(() => hooks.state[1](({ count = 0 }) => ({ count: count + 40 })));
    await shows(page, "count 41");
    await page.evaluate(() => void hooks.thread.run("Go"));
    await shows(page, "count 42");
    expect(await page.evaluate(() => hooks.state[0])).toEqual({ count: 42 });
  });

  test("the list of threads is live", async () => {
    const thread = named("says");
    const page = await open(address, { thread });
    await shows(page, "threads");
    await page.evaluate(() => void hooks.thread.run("Hello"));
    await shows(page, `threads ${thread}`);
    await page.evaluate((id) => hooks.threads.rename(id, "A title"), thread);
    await shows(page, "threads A title");
    await page.evaluate((id) => hooks.threads.archive(id), thread);
    await shows(page, "threads");
    await page.evaluate((id) => hooks.threads.archive(id, false), thread);
    await shows(page, "threads A title");
    await page.evaluate((id) => hooks.threads.remove(id), thread);
    await shows(page, "threads");
    expect((await connect(server.url).threads.list({ q: thread })).threads).toEqual([]);
  });

  test("a branch point says where branches differ, and leads to the newest run of each", async () => {
    const page = await open(address, { thread: named("says") });
    for (const text of ["one", "two", "three"]) {
      await page.evaluate((said) => void hooks.thread.run(said), text);
      await shows(page, `You said ${text}.`);
      await shows(page, "status finished");
    }
    await page.waitForFunction(() => hooks.branches.runs.length === 3);
    expect(await page.evaluate(() => hooks.branches.points)).toEqual([]);
    await page.evaluate(() => void hooks.thread.edit(hooks.thread.messages[2]?.id ?? "", "other"));
    await shows(page, "runs 4 forks 1");
    const point = await page.evaluate(() => ({ ...hooks.branches.points[0], shown: hooks.thread.messages[2]?.id }));
    expect(point).toMatchObject({ messageId: point.shown, index: 1, siblings: [expect.any(String), point.runId] });
    await page.evaluate((to) => hooks.branches.switchTo(to), point.siblings?.[0] ?? "");
    // The run beside was followed by another: that is where its branch is.
    await shows(page, "You said three.");
    await page.waitForFunction(() => hooks.branches.points[0]?.index === 0);
    expect(await page.evaluate(() => hooks.thread.messages.length)).toBe(6);
  });

  test("what is taken off the page lets go of its thread and its client", async () => {
    const page = await open(address, { thread: named("says") });
    await page.evaluate(() => void hooks.thread.run("Hello"));
    await shows(page, "You said Hello.");
    await page.evaluate(() => unmount());
    await page.waitForFunction(() => hooks.thread.thread.connection === "ended");
    expect(await page.locator("#root").innerHTML()).toBe("");
  });

  describe("on a server", () => {
    let server: { html(thread: string): string; astray(lacks: "client" | "thread"): string };
    beforeAll(async () => {
      const file = join(folder, `server-${react}.cjs`);
      await writeFile(file, await bundleWith(react, "test/react-pages/server.tsx", "node"));
      server = createRequire(import.meta.url)(file);
    });

    test.each([{}, { restored: "true" }])("the page is drawn empty, and taken over as it is (%j)", async (more) => {
      const thread = named("says");
      await told(thread, 4);
      const html = server.html(thread);
      expect(html).toContain("Nothing was said.");
      const script = await bundleWith(react, "test/react-pages/client.tsx", "browser");
      const marked = `${html}</main><script>var first = document.querySelector("form")</script><main>`;
      const page = await open(await servePage(HTML(marked), script), { thread, ...more });
      await shows(page, "Message 2.");
      expect(await page.evaluate(() => first !== null && first === document.querySelector("form"))).toBe(true);
    });

    test("a part that stands nowhere says what it lacks", () => {
      expect(() => server.astray("client")).toThrow("Put a <HeddleProvider url=…> around your app.");
      expect(() => server.astray("thread")).toThrow("There is no <ThreadRoot> around this component.");
    });
  });
});

test("what was hidden for a while goes on where it is shown again", async () => {
  const script = await bundleWith(19, "test/react-pages/client.tsx", "browser");
  const page = await open(await servePage(HTML(""), script), { thread: named("says") });
  await page.evaluate(() => void hooks.thread.run("one"));
  await shows(page, "You said one.");
  const hidden = await page.evaluateHandle(() => hooks.thread.thread);
  await page.evaluate(() => setMode("hidden"));
  await page.waitForFunction((thread) => thread.connection === "ended", hidden);
  await page.evaluate(() => setMode("visible"));
  await page.waitForFunction((thread) => hooks.thread.thread !== thread, hidden);
  await page.evaluate(() => void hooks.thread.run("two"));
  await shows(page, "You said two.");
  expect(await page.evaluate(() => hooks.thread.messages.length)).toBe(4);
});

test("a page with messages, questions and a composer is accessible", async () => {
  const script = await bundleWith(19, "test/react-pages/client.tsx", "browser");
  const page = await open(await servePage(HTML("").replace("<meta", '<html lang="en"><meta'), script), {
    thread: named("picky"),
  });
  await page.evaluate(() => void hooks.thread.run("Go"));
  await page.getByLabel("size").waitFor();
  await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core") });
  const found = await page.evaluate(async () => {
    const { violations } = await axe.run("#root");
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
  });
  expect(found).toEqual([]);
});

/**
 * Talk while things move: Stop in the middle, a reload in the middle, one question in two tabs, files that are pasted and dropped,
 * a server that is slow, refuses, or fails now and then.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defineAgent } from "../../src/agent/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { inspecting, serving } from "./inspected.ts";

/** Says a word every 50 ms, for longer than any test takes. */
const slow = defineAgent({
  name: "slow",
  async run({ emit, signal }) {
    const reply = emit.text();
    for (let word = 0; ; word++) {
      await reply.write(`w${word} `);
      await pause(50, undefined, { signal });
    }
  },
});

const asking = defineAgent({
  name: "asking",
  capabilities: { custom: { examples: ["Ask me something"] } },
  async run({ emit }) {
    const answer = await emit.interrupt<{ readonly colour: string }>({
      id: "question",
      reason: "input_required",
      message: "Which colour?",
      responseSchema: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] },
    });
    await emit.text().write(answer.status === "cancelled" ? "None then." : `It is ${answer.payload.colour}.`);
  },
});

const { visit } = inspecting();
let server: Served;
beforeAll(async () => {
  server = await serving({ agents: [slow, asking] });
});
afterAll(() => server.close());

const field = (page: Page): Locator => page.getByRole("textbox", { name: /^Message/ });

const answer = (page: Page): Locator => page.getByText(/^It is (red|blue)\.$/);

/** Presses buttons of a page as they are there now, without waiting for any. */
const press = (buttons: readonly (HTMLElement | SVGElement)[]): void => {
  for (const button of buttons) if (button instanceof HTMLElement) button.click();
};

async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.keyboard.press("Enter");
}

test("a reload in the middle of an answer goes on with it, and Stop ends it", async () => {
  const page = await visit(server.url, { at: "#/talk/slowly?agent=slow" });
  await say(page, "Go");
  await page.getByText(/w0 w1 w2/).waitFor();
  await page.reload();
  await page.getByText(/w0 w1 .*w20/).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped.", { exact: true }).waitFor();
  const thread: { readonly runs: readonly { readonly status: string }[] } = await (
    await fetch(`${server.url}/threads/slowly`)
  ).json();
  expect(thread.runs.map(({ status }) => status)).toEqual(["cancelled"]);
  await expect.poll(() => field(page).isEnabled()).toBe(true);
});

test("what is sent before the conversation is open goes out once it is, unless it is changed until then", async () => {
  const page = await visit(server.url, { at: "#/health" });
  const { promise: open, resolve: letOpen } = Promise.withResolvers<void>();
  await page.routeWebSocket(/.*/, async (socket) => {
    await open;
    socket.connectToServer();
  });
  await page.goto(`${server.url}/#/talk/early?agent=asking`);
  await page.reload();
  const send = page.getByRole("button", { name: /^Send/ });
  await say(page, "Not yet");
  await expect.poll(() => send.textContent()).toBe("Sending…");
  await field(page).fill("Ask me");
  await expect.poll(() => send.textContent()).toBe("Send");
  await page.keyboard.press("Enter");
  letOpen();
  await page.getByText("Which colour?").waitFor();
  expect(await page.getByRole("article", { name: "You" }).getByRole("paragraph").allTextContents()).toEqual(["Ask me"]);
  await expect.poll(() => field(page).inputValue()).toBe("");
});

test("a question that is answered in two tabs has one answer, which both show", async () => {
  const page = await visit(server.url, { at: "#/talk/asked?agent=asking" });
  await say(page, "Ask me");
  const other = await page.context().newPage();
  await other.goto(`${server.url}/#/talk/asked`);
  const tabs = [page, other];
  for (const [index, tab] of tabs.entries())
    await tab.getByRole("textbox", { name: "Colour" }).fill(["red", "blue"][index] ?? "");
  // Where the other one was quicker, the question is gone before it can be answered here.
  await Promise.all(tabs.map((tab) => tab.getByRole("button", { name: "Answer", exact: true }).evaluateAll(press)));
  for (const tab of tabs) await answer(tab).waitFor();
  const [one, two] = await Promise.all(tabs.map((tab) => answer(tab).allTextContents()));
  expect(one).toHaveLength(1);
  expect(two).toEqual(one);
  await other.goto("about:blank");
});

test("files are attached by pasting and by dropping them", async () => {
  const page = await visit(server.url, { at: "#/talk/files?agent=slow" });
  await field(page).evaluate((area) => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(["pasted"], "pasted.txt", { type: "text/plain" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  await page.getByText("pasted.txt").waitFor();
  await field(page).evaluate((area) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["dropped"], "dropped.txt", { type: "text/plain" }));
    for (const type of ["dragover", "drop"]) {
      area.closest("form")?.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }
  });
  await page.getByText("dropped.txt").waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Send" }).isEnabled()).toBe(true);
});

/** What becomes of runs that a page asks for: they wait, are refused, or go on their way. */
interface Gate {
  mode: "wait" | "refuse" | "pass";
  /** Does it with those that wait, from now on. */
  open(mode: "refuse" | "pass"): void;
}

/** Puts a gate before the server, for the runs of a page that is loaded from here on. */
async function gated(page: Page): Promise<Gate> {
  const waiting: (() => void)[] = [];
  const gate: Gate = {
    mode: "wait",
    open: (mode) => {
      gate.mode = mode;
      for (const take of waiting.splice(0)) take();
    },
  };
  await page.routeWebSocket(/.*/, (socket) => {
    const far = socket.connectToServer();
    const take = (data: string | Buffer): void => {
      const { type, ref }: { readonly type?: string; readonly ref?: string } = JSON.parse(String(data));
      if (type !== "run" || gate.mode === "pass") return far.send(data);
      if (gate.mode === "wait") return void waiting.push(() => take(data));
      const error = { code: "queue-full", message: "Too much at once.", details: {} };
      socket.send(JSON.stringify({ type: "error", ref, error }));
    };
    socket.onMessage(take);
  });
  return gate;
}

test("what was asked for and has not begun is said, and is asked for once; what is refused comes back, also after leaving", async () => {
  const page = await visit(server.url, { at: "#/health" });
  const gate = await gated(page);
  await page.goto(`${server.url}/#/talk/gated?agent=asking`);
  await page.reload();
  await page.getByRole("button", { name: "Ask me something" }).dblclick();
  await page.getByRole("status").getByText("Sending").waitFor();
  await say(page, "Another thing");
  expect(await field(page).inputValue()).toBe("Another thing");
  gate.open("pass");
  await page.getByRole("button", { name: "Decline" }).click();
  await page.getByText("None then.").waitFor();
  gate.mode = "refuse";
  await page.getByRole("button", { name: "Edit and ask again" }).click();
  await page.getByLabel("Edit your message").fill("Ask me otherwise");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("Too much at once.").waitFor();
  expect(await page.getByLabel("Edit your message").inputValue()).toBe("Ask me otherwise");
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(await field(page).inputValue()).toBe("Another thing");
  gate.mode = "wait";
  await say(page, "Said and left");
  await page.getByRole("status").getByText("Sending").waitFor();
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByRole("heading", { name: "Health" }).waitFor();
  gate.open("refuse");
  await page.goto(`${server.url}/#/talk/gated?agent=asking`);
  await page.getByText("Said and left").waitFor();
  expect(await field(page).inputValue()).toBe("Said and left");
  expect(await page.getByRole("article", { name: "You" }).count()).toBe(1);
});

test("a conversation opens though the server fails at first, and says nothing of it before it knows", async () => {
  const page = await visit(server.url, { at: "#/talk/opened?agent=asking" });
  await say(page, "Ask me");
  await page.getByText("Which colour?").waitFor();
  const { promise: listed, resolve: list } = Promise.withResolvers<void>();
  const failed = new Set<string>();
  let isFailing = true;
  await page.route(/\/(threads\/opened|agents)$/, async (route) => {
    if (!isFailing) return route.continue();
    failed.add(route.request().url());
    return route.fulfill({ status: 503, body: "later" });
  });
  await page.route(/\/threads\?/, async (route) => {
    await listed;
    await route.continue();
  });
  await page.goto(`${server.url}/#/talk/opened?state=open`);
  await page.reload();
  await page.getByRole("region", { name: "Recent conversations" }).getByText("Looking…").waitFor();
  await page.getByRole("alert").getByText("The agents cannot be listed").waitFor();
  await page.getByRole("heading", { name: "opened" }).waitFor();
  await expect.poll(() => failed.size).toBe(2);
  isFailing = false;
  await page.getByText("Which colour?").waitFor();
  await page.getByRole("heading", { name: "Ask me" }).waitFor();
  expect(await page.getByRole("combobox", { name: "Agent" }).inputValue()).toBe("asking");
  list();
  await page
    .getByRole("region", { name: "Recent conversations" })
    .getByRole("link", { name: "Ask me" })
    .first()
    .waitFor();
});

test("a message that is sent while its file is read goes out with it", async () => {
  const page = await visit(server.url, { at: "#/talk/reading?agent=asking" });
  await page.getByPlaceholder("Message asking").waitFor();
  await page.evaluate(() => {
    const read = Blob.prototype.arrayBuffer;
    const { promise, resolve } = Promise.withResolvers<void>();
    Reflect.set(globalThis, "letRead", resolve);
    Blob.prototype.arrayBuffer = async function () {
      await promise;
      return read.call(this);
    };
  });
  await page
    .locator("[data-part=files]")
    .setInputFiles({ name: "slow.txt", mimeType: "text/plain", buffer: Buffer.from("slowly") });
  await say(page, "Look at this");
  await page.getByRole("button", { name: "Sending…" }).waitFor();
  await page.evaluate(() => Reflect.get(globalThis, "letRead")());
  await page.getByRole("article", { name: "You" }).getByText("slow.txt").waitFor();
  expect(await page.getByRole("list", { name: "Files to send" }).count()).toBe(0);
});

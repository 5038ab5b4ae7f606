/** Talk while things move: Stop in the middle, a reload in the middle, one question in two tabs, files that are pasted and dropped. */
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
  await Promise.any(tabs.map((tab) => tab.getByRole("button", { name: "Answer", exact: true }).click()));
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

/** Talk with agents that nobody had in mind: huge results, names that every object has, calls left open, subagents that say nothing. */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defineAgent } from "../../src/agent/index.ts";
import { connect } from "../../src/client/index.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { findings, inspecting, serving } from "./inspected.ts";

const LINES = 20_000;

/** Gets more than a page holds, as text and within JSON. */
const dumping = defineAgent({
  name: "dumping",
  async run({ emit }) {
    for (const content of ["line\n".repeat(LINES), JSON.stringify({ log: "line\n".repeat(LINES) })]) {
      const call = emit.toolCall("dump");
      await call.end();
      await emit.toolResult(call.id, content);
    }
    await emit.text().write("That is all of it.");
  },
});

/** Uses names that every object has, and none that turns it into text. */
const naming = defineAgent({
  name: "naming",
  async run({ emit }) {
    const own = { toString: "mine", constructor: "too" };
    emit.activity("PLAN", { steps: [{ title: "Odd step", status: own }] });
    emit.activity("a2ui", {
      a2ui_operations: [
        { updateComponents: { surfaceId: own, components: [{ id: "root", component: "TextField", label: own }] } },
      ],
    });
    const { status } = await emit.interrupt({
      id: "constructor",
      reason: "input_required",
      message: "Which names?",
      responseSchema: {
        type: "object",
        properties: { toString: { type: "string" }, constructor: { type: "string" }, valueOf: { type: "number" } },
      },
    });
    await emit.text().write(`It was ${status}.`);
  },
});

/** Asks for an object of which it says nothing. */
const asking = defineAgent({
  name: "asking",
  async run({ emit }) {
    const answer = await emit.interrupt({
      id: "q",
      reason: "input_required",
      message: "Shall I go on?",
      responseSchema: { type: "object" },
    });
    await emit.text().write(`I asked, and got \`${JSON.stringify(answer)}\``);
  },
});

/** Leaves a call open and fails; before that, a subagent fails without a word, and another one thinks. */
const breaking = defineAgent({
  name: "breaking",
  async run({ emit }) {
    await emit.subagent("mute", { description: "Says nothing." }).fail(new Error("Not even begun."));
    const thinker = emit.subagent("thinker", { description: "Thinks." });
    const thought = thinker.emit.reasoning();
    await thought.write("Deep thought");
    await thought.end();
    await thinker.end();
    await emit.toolCall("half").args('{"path":"/a');
    throw new Error("Broke in the middle of a call.");
  },
});

/** Answers when it is let go. */
let release = Promise.withResolvers<void>();
const waiting = defineAgent({
  name: "waiting",
  async run({ emit }) {
    await emit.text().write("Under way");
    await release.promise;
  },
});

/** Leaves a call to its client, under the same id each time; says something where nothing was asked. */
const leaving = defineAgent({
  name: "leaving",
  capabilities: { tools: { supported: true, clientProvided: true } },
  async run({ input, emit }) {
    const last = input.messages.at(-1);
    if (last === undefined) return void (await emit.text().write("Hello unasked."));
    if (last.role === "tool") return void (await emit.text().write(`I got ${String(last.content)}.`));
    await emit.toolCall("locate", { id: "call_1" }).end();
  },
});

const { visit } = inspecting();
let server: Served;
beforeAll(async () => {
  server = await serving({ agents: [dumping, naming, asking, breaking, waiting, leaving] });
  await connect(server.url).thread("unasked").run("leaving", { messages: [] }).finished;
});
afterAll(async () => {
  release.resolve();
  await server.close();
});

const field = (page: Page): Locator => page.getByLabel("Message", { exact: true });
const log = (page: Page): Locator => page.getByRole("log", { name: "Messages" });
const choose = (page: Page, agent: string): Promise<unknown> =>
  page.getByRole("combobox", { name: "Agent" }).selectOption(agent);

async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.locator("button:enabled", { hasText: /^Send$/ }).waitFor();
  await field(page).press("Enter");
}

test("results of any length scroll within their call, also by keyboard", async () => {
  const page = await visit(server.url, { at: "#/talk/dump?agent=dumping" });
  await say(page, "Go");
  await log(page).getByText("That is all of it.").waitFor();
  for (const call of await page.locator(".talk-call > summary").all()) await call.click();
  const texts = log(page).getByRole("group", { name: "A long text" });
  expect(await texts.count()).toBe(2);
  expect(await log(page).evaluate(({ scrollHeight }) => scrollHeight)).toBeLessThan(2000);
  await texts.first().focus();
  await page.keyboard.press("End");
  await expect.poll(() => texts.first().evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThan(LINES);
  expect(await findings(page)).toEqual([]);
});

test("names that every object has are names like others", async () => {
  const page = await visit(server.url, { at: "#/talk/names?agent=naming" });
  await say(page, "Go");
  await log(page).getByText("Odd step").waitFor();
  await page.getByRole("region", { name: "Interface" }).getByText('"toString":"mine"').waitFor();
  const form = page.locator("form", { hasText: "Which names?" });
  for (const label of ["To string", "Constructor", "Value of"]) {
    const control = form.getByLabel(label);
    expect([await control.inputValue(), await control.getAttribute("aria-invalid")]).toEqual(["", "false"]);
  }
  await form.getByRole("button", { name: "Answer" }).click();
  await log(page).getByText("It was resolved.").waitFor();
});

test("a question for just any object needs no JSON, and whoever asked gets the answer", async () => {
  const page = await visit(server.url, { at: "#/talk/bare?agent=asking" });
  await say(page, "Go");
  await page.getByText("Shall I go on?").waitFor();
  await choose(page, "dumping");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await log(page).getByText('I asked, and got {"status":"resolved","payload":{}}').waitFor();
  expect(await page.getByRole("combobox", { name: "Agent" }).inputValue()).toBe("dumping");
});

test("what a run left open is not at work in the next; a subagent that failed without a word is shown", async () => {
  release = Promise.withResolvers();
  const page = await visit(server.url, { at: "#/talk/broken?agent=breaking" });
  await say(page, "Go");
  await page.getByText("The run failed").waitFor();
  await log(page).locator("details", { hasText: "mute" }).getByText("Not even begun.").waitFor();
  const call = page.locator("summary", { hasText: "half" });
  await call.getByText("No result").waitFor();
  await choose(page, "waiting");
  await say(page, "Go on");
  await log(page).getByText("Under way").waitFor();
  expect(await call.getByText("No result").count()).toBe(1);
  expect(await log(page).getByText("Thinking…").count()).toBe(0);
  release.resolve();
});

test("a call of another run is another call, also under the same id, and can be answered; the tour waits for it", async () => {
  // The server lets nobody claim what has a result, and the browser tells of the refusal.
  const page = await visit(server.url, { at: "#/talk/calls?agent=leaving&tour=on", mayComplain: /409/ });
  await page.getByRole("button", { name: "Tools", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Tools you offer" });
  await dialog.getByLabel("Name").fill("locate");
  await dialog.getByLabel("What it does").fill("Locates.");
  await dialog.getByRole("button", { name: "Offer this tool" }).click();
  await page.keyboard.press("Escape");
  await say(page, "Go");
  await page.getByLabel("Result").fill("here");
  expect(await page.getByRole("button", { name: /^Say “/ }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Send result" }).click();
  await log(page).getByText("I got here.").waitFor();
  await say(page, "Again");
  await page.getByRole("button", { name: "Send result", disabled: false }).waitFor();
});

test("what was said before anybody asked cannot be answered again", async () => {
  const page = await visit(server.url, { at: "#/talk/unasked" });
  await log(page).getByText("Hello unasked.").waitFor();
  await page.getByRole("button", { name: "Good answer" }).waitFor();
  expect(await page.getByRole("button", { name: "Answer again" }).count()).toBe(0);
});

test("a long line is seen as a whole while it is written", async () => {
  const page = await visit(server.url, { at: "#/talk/wrapped?agent=dumping" });
  await field(page).fill("word ".repeat(60));
  expect(await field(page).evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)).toBe(0);
});

/** The page Talk in a real browser: everything that one can do in a conversation, and everything that an agent can show there. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Page } from "playwright-core";
import { approval } from "../../examples/agents/approval.ts";
import { chat } from "../../examples/agents/chat.ts";
import { reasoning } from "../../examples/agents/reasoning.ts";
import { state } from "../../examples/agents/state.ts";
import { tools } from "../../examples/agents/tools.ts";
import type { Served } from "../../src/server/fastify/index.ts";
import { connect } from "../../src/client/index.ts";
import { startServer } from "../server-process.ts";
import { findings, inspecting, overflows, serving } from "./inspected.ts";
import { PIXEL, all as ours } from "./talk-agents.ts";

const { visit } = inspecting();
let server: Served;
beforeAll(async () => {
  server = await serving({ agents: [chat, reasoning, approval, state, ...ours] });
  // The store is not empty, so nobody is shown around.
  await connect(server.url).thread("before").run("chat", "Hello").finished;
});
afterAll(() => server.close());

const field = (page: Page) => page.getByLabel("Message", { exact: true });
const log = (page: Page) => page.getByRole("log", { name: "Messages" });

/** Says something, by the keyboard. */
async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.locator("button:enabled", { hasText: /^Send$/ }).waitFor();
  await field(page).press("Enter");
}

let count = 0;
/** Opens a new conversation with an agent. */
const talkTo = (agent: string, options: Parameters<typeof visit>[1] = {}, query = ""): Promise<Page> =>
  visit(server.url, { at: `#/talk/t${++count}?agent=${agent}${query}`, ...options });

test("a conversation: said, answered, edited, regenerated, branches switched, by the keyboard alone", async () => {
  const page = await talkTo("chat");
  await say(page, "First words");
  await page.getByRole("heading", { name: "First words" }).waitFor();
  // While it is answered nothing can be edited, and a button that is disabled takes no focus.
  await page.getByRole("button", { name: "Edit and ask again", disabled: false }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Edit your message").fill("Other words");
  await page.keyboard.press("Enter");
  await page.getByText("2 / 2").waitFor();
  await log(page).getByText("Other words", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Previous branch", disabled: false }).focus();
  await page.keyboard.press("Enter");
  await log(page).getByText("First words", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Answer again" }).click();
  await page.getByText("3 / 3").or(page.getByText("2 / 2")).first().waitFor();
  await page.getByRole("button", { name: "Good answer" }).click();
  await page.getByText("Noted as a good answer.").waitFor();
  const events = page.getByRole("link", { name: "Show its events in the timeline" }).last();
  expect(await events.getAttribute("href")).toMatch(/^#\/timeline\/t\d+\?message=/);
});

test("files are attached by the button, shown, taken back, sent and seen; others are links, and HTML stays text", async () => {
  const page = await talkTo("attaching");
  await page.locator("input[type=file]").setInputFiles([
    { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") },
    { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("hello") },
    { name: "film.mp4", mimeType: "video/mp4", buffer: Buffer.alloc(4_100_000) },
  ]);
  await page.getByText("film.mp4 is 4.1 MB. Files up to 4.0 MB can be attached: send a link instead.").waitFor();
  await page.getByRole("button", { name: "Remove note.txt" }).click();
  await say(page, "Look");
  await page.getByText("You sent: text, image image/png.").waitFor();
  await log(page).getByRole("img", { name: "dot.png" }).first().waitFor();
  await page.getByText("<b>no html</b>").waitFor();
  expect(await page.getByRole("link", { name: "Image: far" }).getAttribute("href")).toContain("example.invalid");
  await page.locator("summary", { hasText: "draw" }).click();
  expect(await page.getByRole("link", { name: "a.txt" }).getAttribute("download")).toBe("a.txt");
});

test("as many files as a server takes are sent in one message, and no more are attached", async () => {
  const page = await talkTo("attaching");
  const files = ["one", "two", "three", "four"].map((name) => ({
    name: `${name}.bin`,
    mimeType: "application/octet-stream",
    buffer: Buffer.alloc(3_600_000),
  }));
  await page.locator("input[type=file]").setInputFiles(files);
  await page.getByText("With four.bin there would be more than 11 MB in one message: send it in another.").waitFor();
  await page.getByRole("button", { name: "Remove three.bin" }).waitFor();
  expect(await page.getByRole("button", { name: "Remove four.bin" }).count()).toBe(0);
  await say(page, "Keep these");
  const each = "document application/octet-stream";
  // Fourteen megabytes to the log and back take a busy machine a while.
  await page.getByText(`You sent: text, ${each}, ${each}, ${each}.`).waitFor({ timeout: 60_000 });
});

test("questions of every form are answered together, when all are", async () => {
  const page = await talkTo("asking");
  await say(page, "Go");
  await page.getByText("0 of 2 answered. The run goes on when all of them are.").waitFor();
  const form = page.locator("form", { hasText: "Where do you want to stay?" });
  await form.getByRole("button", { name: "Answer" }).click();
  await form.getByText("Full name is needed.").waitFor();
  await form.getByLabel("Full name").fill("Ada");
  await form.getByLabel("Nights").fill("2");
  await form.getByLabel("Breakfast").check();
  await form.getByLabel("Room").selectOption("3");
  await form.getByLabel("View").selectOption("The sea");
  await form.getByLabel("Guests").fill('["Bob"]');
  await form.getByRole("button", { name: "Answer" }).click();
  await page.getByText("1 of 2 answered.").waitFor();
  const sure = page.locator("form", { hasText: "Are you sure?" });
  await sure.getByText(/^Expires in 59 min/).waitFor();
  await sure.getByRole("button", { name: "Yes" }).click();
  const answer = await page.locator(".markdown code").textContent();
  expect(JSON.parse(answer ?? "")).toMatchObject({
    form: {
      status: "resolved",
      payload: { name: "Ada", nights: 2, breakfast: true, room: 3, view: "sea", guests: ["Bob"] },
    },
    plain: { status: "resolved", payload: true },
  });
});

test("a call is approved with other arguments, and another is declined", async () => {
  const page = await talkTo("approval");
  await say(page, "Delete /tmp/a.txt");
  await page.getByLabel("Path").fill("/tmp/b.txt");
  await page.getByRole("button", { name: "Approve" }).click();
  await log(page).getByText("Deleted /tmp/b.txt. Anything else?").waitFor();
  await say(page, "Delete /tmp/c.txt");
  await page.getByRole("button", { name: "Decline" }).click();
  await log(page).getByText("All right, I leave it alone.").waitFor();
  const denied = page.locator("summary", { hasText: "delete_file" }).last();
  await denied.getByText("Failed").waitFor();
  await expect.poll(() => denied.getByText("/tmp/c.txt").count()).toBe(1);
});

test("a question that has expired can be declined, so that the conversation goes on; long words stay within it", async () => {
  const page = await talkTo("late", { width: "phone" });
  await say(page, "Go");
  await page.getByText("Expired: it can only be declined.").waitFor();
  await page.getByText('"Odd one"').waitFor();
  expect(await page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
  const view = page.getByRole("region", { name: "What was said" });
  expect(await view.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  await page.getByRole("button", { name: "Decline" }).click();
  await log(page).getByText("It was cancelled.").waitFor();
});

test("long words stay within what they stand in, and quotes of quotes are text", async () => {
  const page = await talkTo("wordy", { width: "phone" });
  await say(page, "Go");
  await page.getByText(/>>> quoted$/).waitFor();
  await page.locator(".talk-call > summary").click();
  const view = page.getByRole("region", { name: "What was said" });
  expect(await view.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
});

test("a message of files only is said anew without a text", async () => {
  const page = await talkTo("attaching");
  await page
    .locator("input[type=file]")
    .setInputFiles([{ name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("hello") }]);
  await page.getByRole("button", { name: "Send", disabled: false }).click();
  await page.getByText("You sent: document text/plain.").waitFor();
  await page.getByRole("button", { name: "Edit and ask again", disabled: false }).click();
  await page.getByLabel("Edit your message").press("Enter");
  await page.getByText("2 / 2").waitFor();
  await expect.poll(() => log(page).getByText("You sent: document text/plain.").count()).toBe(1);
});

test("calls left to the client are answered by hand: those of an agent, and those of a tool that is offered here", async () => {
  const page = await talkTo("leaving");
  await say(page, "Go");
  const card = (name: string) => page.locator("form", { hasText: `The agent calls ${name}` });
  await card("locate").getByLabel("Result").fill("here");
  await card("locate").getByRole("button", { name: "Send result" }).click();
  await page.getByText("1 of 2 answered.").waitFor();
  await card("measure").getByLabel("Result").fill("no ruler");
  await card("measure").getByRole("button", { name: "Report failure" }).click();
  await page.getByText("I got here and failed with no ruler.").waitFor();

  await page.getByRole("button", { name: "Tools", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Tools you offer" });
  await dialog.getByLabel("Name").fill("pick_colour");
  await dialog.getByLabel("What it does").fill("Picks a colour.");
  await dialog.getByRole("button", { name: "Offer this tool" }).click();
  await dialog.getByRole("button", { name: "Take pick_colour back" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "1 tool" }).waitFor();
  await say(page, "Again");
  await card("pick_colour").getByLabel("Result").fill("teal");
  await card("pick_colour").getByRole("button", { name: "Send result" }).click();
  await page.getByText("I got teal.").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "1 tool" }).waitFor();
  expect(await page.getByRole("button", { name: "Send result" }).count()).toBe(0);
});

test("activities are checklists, progress, surfaces or names and values; subagents are nested, also after a reload", async () => {
  const page = await talkTo("showing");
  await say(page, "Go");
  await page.getByRole("region", { name: "The trip" }).getByRole("img", { name: "Under way" }).waitFor();
  const progress = page.getByRole("progressbar", { name: "Booking" });
  await expect.poll(() => progress.getAttribute("aria-valuetext")).toBe("3 of 12");
  const surface = page.getByRole("region", { name: "Interface" });
  await surface.getByText("Train to Cologne").waitFor();
  await surface.getByText("TrainMap").waitFor();
  await page.getByRole("region", { name: "Weather report" }).getByText("Cologne").waitFor();
  await page.getByRole("table").waitFor();
  await page.getByRole("combobox", { name: "Agent" }).selectOption("nesting");
  await say(page, "Go on");
  const planner = page.locator("details", { hasText: "planner" }).first();
  await planner.locator("details", { hasText: "Reads one book." }).getByText("I read.").waitFor();
  await page.reload();
  await planner.locator("details", { hasText: "Reads one book." }).getByText("I read.").waitFor();
});

test("the state is live at the side, is changed as JSON, and goes with the next run; the address restores all of it", async () => {
  const page = await talkTo("state", {}, "&state=open");
  await say(page, "Bake");
  const panel = page.getByRole("complementary", { name: "Shared state" });
  await panel.getByText('"Check the result"').waitFor();
  // What is changed while the run goes on is changed by the run too.
  await log(page).getByText("“Bake” is done, in 4 steps.").waitFor();
  await panel.getByRole("button", { name: "Edit" }).click();
  const json = panel.getByLabel("The state as JSON");
  await json.fill("{");
  await panel.getByRole("button", { name: "Save" }).click();
  await panel.getByText("This is not JSON yet.").waitFor();
  await json.fill('{"title":"Trip","steps":[{"title":"Pack","done":false}]}');
  await panel.getByRole("button", { name: "Save" }).click();
  await say(page, "Go on");
  await log(page).getByText("“Trip” is done, in 1 steps.").waitFor();
  await page.reload();
  await panel.getByText('"Trip"').waitFor();
  await page.getByPlaceholder("Message state").waitFor();
  expect(await page.getByRole("combobox", { name: "Agent" }).inputValue()).toBe("state");
});

test("what fails is said: a run, an agent that is not there, one that is gone", async () => {
  const page = await talkTo("nobody");
  await page.getByText("This server has no agent “nobody”. Choose another below.").waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  await page.getByRole("combobox", { name: "Agent" }).selectOption("failing");
  await say(page, "Go");
  await page.getByRole("alert").getByText("The run failed").waitFor();
});

test("what is written stays when another page is looked at; a thread that is deleted meanwhile says so, and takes no more", async () => {
  const page = await talkTo("chat");
  const id = `t${count}`;
  await say(page, "First words");
  await page.getByRole("heading", { name: "First words" }).waitFor();
  await field(page).fill("Not sent yet");
  await page.getByRole("link", { name: "Timeline", exact: true }).click();
  await page.getByText("RUN_STARTED").first().waitFor();
  await page.getByRole("link", { name: "Talk", exact: true }).click();
  await expect.poll(() => field(page).inputValue()).toBe("Not sent yet");
  await connect(server.url).threads.delete(id);
  await page.getByText("This conversation was deleted. What you see is what was here before.").waitFor();
  await page.getByRole("note").getByText("nothing more can be said in it").waitFor();
  await expect.poll(() => field(page).count()).toBe(0);
  expect(await page.getByRole("textbox", { name: "What you wrote" }).inputValue()).toBe("Not sent yet");
  await page.getByRole("link", { name: "Start another" }).click();
  await expect.poll(() => field(page).inputValue()).toBe("");
});

test("a long conversation shows its end first, and more when asked", async () => {
  const messages = Array.from({ length: 2000 }, (_, index) => ({
    id: `m${index}`,
    role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: `Message ${index}`,
  }));
  await connect(server.url)
    .thread("long")
    .run("chat", { messages: [...messages, { id: "end", role: "user", content: "End" }] }).finished;
  const page = await visit(server.url, { at: "#/talk/long" });
  await log(page).getByText("Message 1999", { exact: true }).waitFor();
  await expect.poll(() => page.locator(".talk-message").count()).toBe(100);
  await page.getByRole("region", { name: "What was said" }).evaluate((view) => view.scrollTo(0, 0));
  await page.getByRole("button", { name: "Newest" }).waitFor();
  await page.getByRole("button", { name: /^Show earlier/ }).click();
  await log(page).getByText("Message 1850", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Newest" }).click();
  await page.getByRole("button", { name: "Newest" }).waitFor({ state: "detached" });
});

describe("who is shown around", () => {
  test("sees tools, reasoning, state and approval in real runs, branches, and is not asked again", async () => {
    const own = await serving({ agents: [chat, tools, reasoning, approval, state] });
    onTestFinished(() => own.close());
    const page = await visit(own.url);
    const tour = page.getByRole("region", { name: "Show me around" });
    const next = () => tour.getByRole("button", { name: "Next" }).click();
    for (const title of [
      "An agent calls tools",
      "An agent thinks first",
      "An agent shares its state",
      "An agent asks you first",
    ]) {
      await tour.getByRole("heading", { name: title }).waitFor();
      await tour.getByRole("button", { name: /^Say/ }).click();
      if (title === "An agent asks you first") await page.getByRole("button", { name: "Approve" }).click();
      await next();
    }
    await tour.getByRole("button", { name: "Edit my last message" }).click();
    await page.getByLabel("Edit your message").fill("Sign in");
    await page.keyboard.press("Enter");
    await page.getByLabel("Name").fill("Ada");
    await page.keyboard.press("Enter");
    await page.getByText("2 / 2").waitFor();
    await next();
    await tour.getByRole("link", { name: "Show me" }).click();
    await page.goBack();
    await tour.getByRole("heading", { name: "See every event" }).waitFor();
    await tour.getByRole("button", { name: "End the tour" }).click();
    await page.reload();
    await log(page).getByText("You are signed in as Ada.").waitFor();
    expect(await tour.count()).toBe(0);
  });
});

test("a server without agents shows what was said, and says why nothing more can be", async () => {
  const file = await (await fetch(`${server.url}/threads/before/export`)).text();
  const own = await serving({ agents: [] });
  onTestFinished(() => own.close());
  const page = await visit(own.url, { at: "#/talk/before" });
  await page.getByRole("heading", { name: "This server has no agents" }).waitFor();
  const headers = { "content-type": "application/x-ndjson" };
  const imported = await fetch(`${own.url}/threads/import`, { method: "POST", headers, body: file });
  expect(imported.status).toBe(201);
  await page.reload();
  await log(page).getByText("Hello", { exact: true }).waitFor();
  await page.getByRole("note").getByText("This server has no agents").waitFor();
  expect(await field(page).count()).toBe(0);
});

test("whoever may only watch reads, and nothing else", async () => {
  const keys = {
    owner: { key: "owner-key-0123456789", tenant: "acme", user: "ada", roles: ["operator"] },
    watcher: { key: "watcher-key-0123456789", tenant: "acme", user: "eve", roles: ["observer"] },
  } as const;
  const own = await serving({ agents: [approval], auth: { keys } });
  onTestFinished(() => own.close());
  const page = await visit(own.url, { at: "#/talk/t", mayComplain: /401/ });
  await page.evaluate(() => sessionStorage.setItem("heddle-token", "watcher-key-0123456789"));
  await page.reload();
  // Nobody is shown around who could do nothing of it.
  await page.getByRole("heading", { name: "approval" }).waitFor();
  expect(await page.getByText("Show me around").count()).toBe(0);
  const told = connect(own.url, { token: "owner-key-0123456789" }).thread("t");
  await told.run("approval", "Delete /tmp/a.txt").finished;
  await page.reload();
  await page.getByRole("note").getByText("You may read this conversation, but not write in it.").waitFor();
  await page.getByRole("button", { name: "Approve", disabled: true }).waitFor();
  expect(await page.getByRole("button", { name: "Edit and ask again" }).count()).toBe(0);
});

test("a server that dies in the middle of a run and comes back is found again", async () => {
  const store = `sqlite:/tmp/heddle-talk-${crypto.randomUUID()}.db`;
  const files = ["test/react-agents.ts"];
  const first = await startServer({ files, store });
  const page = await visit(first.url, { at: "#/talk/t?agent=endless", mayComplain: /ERR_|Failed to load|net::/ });
  await say(page, "Go");
  await log(page).getByText("I never stop").waitFor();
  await first.kill();
  await page.getByText("The connection is lost.").waitFor();
  const again = await startServer({ files, store, port: Number(new URL(first.url).port) });
  await page.getByText("The connection is lost.").waitFor({ state: "detached" });
  await page.getByRole("alert").getByText("The run failed").waitFor();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await log(page).getByText("I never stop").waitFor();
  await expect.poll(() => page.getByRole("alert").count()).toBe(0);
  await again.stop();
});

test.each([
  ["light", "desktop"],
  ["dark", "phone"],
] as const)("axe finds nothing, and nothing stands beyond the edge: %s, %s", async (colorScheme, width) => {
  const page = await talkTo("showing", { colorScheme, width }, "&state=open");
  await page.getByRole("heading", { name: "showing" }).waitFor();
  expect(await findings(page)).toEqual([]);
  await page.getByRole("button", { name: "Close the state" }).click();
  await say(page, "Go");
  await page.getByRole("table").waitFor();
  await page.getByRole("combobox", { name: "Agent" }).selectOption("asking");
  await say(page, "Ask");
  await page.getByText("Are you sure?").waitFor();
  expect(await findings(page)).toEqual([]);
  expect(await overflows(page)).toBe(false);
});

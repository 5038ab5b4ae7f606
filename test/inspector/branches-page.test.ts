/** Branches in a browser: the graph, one run, what can be done from it, two branches side by side, on a phone, read only. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connect } from "heddle/client";
import type { Served } from "../../src/server/fastify/index.ts";
import { AGENTS, branchedThread } from "./branched-thread.ts";
import type { Made } from "./branched-thread.ts";
import { findings, inspecting, overflows, serving } from "./inspected.ts";

const { visit } = inspecting();
const KEYS = {
  al: { key: "owner-key-0123456789", tenant: "acme", user: "al" },
  eve: { key: "watch-key-0123456789", tenant: "acme", user: "eve", roles: ["observer"] },
} as const;
let server: Served;
let guarded: Served;
let made: Made;
beforeAll(async () => {
  server = await serving({ agents: [...AGENTS] });
  guarded = await serving({ agents: [...AGENTS], auth: { keys: KEYS } });
  made = await branchedThread(server.url);
  await branchedThread(guarded.url, "owner-key-0123456789");
});
afterAll(async () => {
  await server.close();
  await guarded.close();
});

test("the graph has every run, the keyboard goes through it, and a link brings the run back", async () => {
  const page = await visit(server.url, { at: "#/branches/cake" });
  const tree = page.getByRole("tree", { name: "Runs" });
  await tree.getByRole("treeitem", { name: /Bake two cakes/ }).waitFor();
  await expect.poll(() => tree.getByRole("treeitem").count()).toBe(4);
  await page.getByText("4 runs, 2 branches").waitFor();
  const selected = tree.getByRole("treeitem", { selected: true });
  await expect.poll(() => selected.textContent()).toContain("Bake two cakescurrent");
  await tree.focus();
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("heading", { name: "Bake a cake" }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("heading", { name: "How long does it rest?" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("heading", { name: "Delete /tmp/old.txt" }).waitFor();
  await expect.poll(() => page.url()).toContain(`run=${made.asks}`);
  await page.reload();
  await page.getByRole("heading", { name: "Delete /tmp/old.txt" }).waitFor();
  await page.getByLabel("The run").getByText("I am going to delete /tmp/old.txt.").waitFor();
  const timeline = page.getByRole("link", { name: "Timeline", exact: true }).last();
  await expect.poll(() => timeline.getAttribute("href")).toContain(made.asks);
});

test("two branches stand side by side, in the address", async () => {
  const page = await visit(server.url, { at: `#/branches/cake?run=${made.rest}` });
  await page.getByRole("link", { name: "Compare" }).click();
  await page.getByText("1 run in common, up to “Bake a cake”").waitFor();
  await expect.poll(() => page.url()).toContain(`a=${made.fork}`);
  const messages = page.getByLabel("Messages of both branches");
  await messages.getByRole("article", { name: "User, differs" }).waitFor();
  await messages.getByText("Bake two cakes", { exact: true }).waitFor();
  await page.getByText("Both have the same state.").waitFor();
  await page.getByLabel("Branch B").selectOption(made.asks);
  await messages.getByRole("article", { name: "Agent, only here" }).waitFor();
  await page.reload();
  await page.getByRole("row", { name: "Branch B 2 1" }).waitFor();
  expect(await findings(page)).toEqual([]);
  await page.getByRole("link", { name: "Back to the graph" }).click();
  await page.getByRole("tree", { name: "Runs" }).waitFor();
});

test("of branches of hundreds of messages the first are drawn, and more on demand", async () => {
  const client = connect(server.url);
  onTestFinished(() => client.close());
  const thread = client.thread("wide");
  const say = async (name: string): Promise<string> => {
    const messages = Array.from({ length: 450 }, (_, place) => ({
      id: `${name}-${place}`,
      role: "user" as const,
      content: `${name} ${place}`,
    }));
    const run = thread.run("chat", { messages });
    await run.finished;
    return run.runId;
  };
  const [first, second] = [await say("first"), await say("second")];
  const page = await visit(server.url, { at: `#/branches/wide?a=${first}&b=${second}` });
  const messages = page.getByLabel("Messages of both branches");
  await messages.getByText("second 199", { exact: true }).waitFor();
  expect(await messages.getByText("second 200", { exact: true }).count()).toBe(0);
  await messages.getByRole("button", { name: /^Show 200 more of 25\d$/ }).click();
  await messages.getByText("second 399", { exact: true }).waitFor();
  await messages.getByRole("button", { name: /^Show (5\d) more of \1$/ }).click();
  await messages.getByText("second 449", { exact: true }).waitFor();
  await page.getByText(/^1 run in common/).click();
  await page.getByText("first 199", { exact: true }).waitFor();
  expect(await page.getByText("first 200", { exact: true }).count()).toBe(0);
});

test("a run that waits for an answer is neither forked nor answered again", async () => {
  const page = await visit(server.url, { at: `#/branches/cake?run=${made.asks}` });
  const fork = page.getByRole("button", { name: "Fork", exact: true });
  await page.getByRole("heading", { name: "Delete /tmp/old.txt" }).waitFor();
  expect(await fork.isDisabled()).toBe(true);
  expect(await page.getByRole("button", { name: "Answer again" }).isDisabled()).toBe(true);
  expect(await fork.getAttribute("title")).toMatch(/^The run waits for an answer/);
  await page.goto(`${server.url}/#/travel/cake?head=${made.asks}`);
  await expect.poll(() => page.getByRole("button", { name: "Fork from here" }).isDisabled()).toBe(true);
});

test("a run is forked, answered again, noted, and made the current one; the graph follows", async () => {
  const page = await visit(server.url, { at: `#/branches/cake?run=${made.rest}` });
  const tree = page.getByRole("tree", { name: "Runs" });
  await page.getByRole("button", { name: "Answer again" }).click();
  await page.getByText("5 runs, 3 branches").waitFor();
  await page
    .getByLabel("The run")
    .getByText(/You said 5 words/)
    .waitFor();
  await page.getByRole("button", { name: "Fork" }).click();
  const dialog = page.getByRole("dialog", { name: "Fork from here" });
  await dialog.getByLabel("Message").fill("For twelve people");
  await dialog.getByRole("button", { name: "Start the branch" }).click();
  await page.getByRole("heading", { name: "For twelve people" }).waitFor();
  await page.getByRole("button", { name: "Note" }).click();
  await page.getByRole("dialog").getByLabel("Text").fill("Too many");
  await page.getByRole("dialog").getByRole("button", { name: "Keep" }).click();
  await page.getByText("note: Too many").waitFor();
  await tree.getByRole("treeitem", { name: /Bake two cakes/ }).click();
  await page.getByRole("button", { name: "Make current" }).click();
  await page.getByRole("button", { name: "Is current" }).waitFor();
  await tree.getByRole("treeitem", { name: /Bake two cakescurrent|Bake two cakes current/ }).waitFor();
  await expect.poll(() => tree.getByRole("treeitem").count()).toBe(6);
});

test("a conversation that is archived, and so in no list, is live all the same", async () => {
  const client = connect(server.url);
  onTestFinished(() => client.close());
  const thread = client.thread("aside");
  await thread.run("chat", "One").finished;
  await client.threads.archive("aside");
  const page = await visit(server.url, { at: "#/branches/aside" });
  await page.getByText("1 run, 1 branch").waitFor();
  await thread.run("chat", "Two").finished;
  await page.getByText("2 runs, 1 branch").waitFor();
  await page.getByLabel("The run").getByText("Finished").waitFor();
  expect((await thread.details()).archived).toBe(true);
});

test("what is written about a run stays when the head moves; who leaves while a run begins is left alone", async () => {
  const client = connect(server.url);
  onTestFinished(() => client.close());
  const thread = client.thread("moving");
  await thread.run("chat", "Where is it?").finished;
  const page = await visit(server.url, { at: "#/branches/moving" });
  await page.getByRole("button", { name: "Note" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Text").fill("Half a");
  await thread.run("chat", "It moved").finished;
  await page.getByText("2 runs, 1 branch").waitFor();
  expect(await dialog.getByLabel("Text").inputValue()).toBe("Half a");
  await dialog.getByRole("button", { name: "Keep" }).click();
  await page.getByText("note: Half a").waitFor();
  const answers = Promise.withResolvers<void>();
  await page.route("**/threads/moving/snapshot*", (route) => answers.promise.then(() => route.continue()));
  await page.getByRole("button", { name: "Answer again" }).click();
  expect(await page.getByRole("button", { name: "Answer again" }).isDisabled()).toBe(true);
  await page.getByRole("navigation").getByRole("link", { name: "Timeline" }).click();
  await page.getByRole("treegrid").waitFor();
  answers.resolve();
  await page.getByText("The new branch runs.").waitFor();
  expect(new URL(page.url()).hash).toBe("#/timeline/moving");
});

test.each(["light", "dark"] as const)(
  "axe finds nothing, and a phone has nothing beyond its edge, %s",
  async (colorScheme) => {
    const page = await visit(server.url, { colorScheme, at: "#/branches/cake" });
    await page.getByRole("log").or(page.getByText("Messages at its end")).waitFor();
    expect(await findings(page)).toEqual([]);
    const phone = await visit(server.url, {
      width: "phone",
      colorScheme,
      at: `#/branches/cake?a=${made.asks}&b=${made.fork}`,
    });
    await phone.getByText(/runs? in common/).waitFor();
    expect(await overflows(phone)).toBe(false);
    expect(await findings(phone)).toEqual([]);
    await phone.getByRole("link", { name: "Back to the graph" }).click();
    await phone.getByRole("tree", { name: "Runs" }).waitFor();
    expect(await overflows(phone)).toBe(false);
  },
);

test("who may only watch sees everything and can change nothing", async () => {
  const page = await visit(guarded.url, { at: "#/branches/cake", mayComplain: /401/ });
  await page.getByLabel("Token").fill("watch-key-0123456789");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("treeitem", { name: /Bake two cakes/ }).waitFor();
  for (const name of ["Fork", "Answer again", "Note"]) {
    const button = page.getByRole("button", { name, exact: true });
    await expect.poll(() => button.getAttribute("title")).toBe("You may only watch this conversation.");
    expect(await button.isDisabled()).toBe(true);
  }
  await page.goto(`${guarded.url}/#/travel/cake`);
  await page.getByRole("slider", { name: "Event" }).waitFor();
  expect(await page.getByRole("button", { name: "Fork from here" }).count()).toBe(0);
});

test("no runs, and a server that does not answer, are said", async () => {
  const page = await visit(server.url, { at: "#/branches/nothing-here", mayComplain: /404|500/ });
  await page.getByRole("heading", { name: "No runs yet" }).waitFor();
  await page.route("**/threads/cake", (route) =>
    route.fulfill({ status: 500, json: { error: { code: "internal", message: "Something broke here." } } }),
  );
  await page.goto(`${server.url}/#/branches/cake`);
  await page.getByRole("heading", { name: "The runs cannot be shown" }).waitFor();
  await page.unroute("**/threads/cake");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("treeitem", { name: /Bake two cakes/ }).waitFor();
  await expect.poll(() => page.getByRole("alert").count()).toBe(0);
});

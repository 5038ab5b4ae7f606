/**
 * The stock `@ag-ui/client`, 0.0.59 and 1.0.0 as published, on a real server process with a log in a file: every sample
 * agent, several runs on a thread, questions and frontend tools answered, runs joined by posting again, connections cut,
 * and what comes of several clients, stale clients and a server that died. Nothing is rejected and nothing is doubled.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startGates } from "./gate.ts";
import type { Gates } from "./gate.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { expectNothingDoubled, expectSameOnConnect, heldBy, seesSubagents, stock, textsOf } from "./stock-client.ts";
import type { Stock, Version } from "./stock-client.ts";
import { ANSWER, everything } from "./stock-client-agents.ts";

const SAMPLES = ["chat", "tools", "reasoning", "approval", "state", "subagents", "load"] as const;
const FILES = [...SAMPLES.map((name) => `examples/agents/${name}.ts`), "test/stock-client-agents.ts"];

const folder = mkdtempSync(join(tmpdir(), "heddle-stock-"));
let server: ServerProcess;

beforeAll(async () => {
  server = await startServer({ files: FILES, store: `sqlite:${join(folder, "log.db")}` });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

let threads = 0;

/** A client of a version on a thread of its own. */
function clientOf(version: Version, agent: string): { readonly client: Stock; readonly threadId: string } {
  const threadId = `thread ${++threads}`;
  return { client: stock(version, server.url, agent, threadId), threadId };
}

const typesOf = ({ events }: Stock): ReadonlySet<string> => new Set(events.map(({ type }) => type));

const resolved = (payload: object): object => ({ status: "resolved", payload });

/** Nothing is doubled, and a fresh client that connects holds the same. */
async function expectWhole(client: Stock, version: Version, threadId: string): Promise<void> {
  expectNothingDoubled(client);
  await expectSameOnConnect(client, version, server.url, threadId);
}

/** What is said to each sample, and what it answers, word by word. */
const TALKS: Readonly<Record<(typeof SAMPLES)[number], readonly [string, string, object?]>> = {
  chat: ["I like looms", "You said 3 words: “I like looms”. Tell me more."],
  tools: [
    "Weather in Ulm and Rome, and 2 * (3 + 4)?",
    "In Ulm it is windy, 14 °C. In Rome it is sunny, 24 °C. The result is 14.",
  ],
  reasoning: ["Is 91 prime?", "91 is 7 × 13, so it is not prime."],
  approval: ["Delete /tmp/a", "I am going to delete /tmp/a."],
  state: ["Weave a scarf", "“Weave a scarf” is done, in 4 steps."],
  subagents: ["dyeing", "That is what they found."],
  load: ["", Array.from({ length: 40 }, (_, index) => `t${index + 1}`).join(" "), { tokens: 40, intervalMs: 2 }],
};

describe.each<Version>(["1.0.0", "0.0.59"])("a stock client of %s", (version) => {
  test.each(SAMPLES)("runs %s; others join it by posting again, as it runs and after", async (sample) => {
    const { client, threadId } = clientOf(version, sample);
    const [said, answer, forwardedProps = {}] = TALKS[sample];
    const runId = "the run";
    const running = client.say(said, { runId, forwardedProps });
    await client.answered();
    const during = stock(version, server.url, sample, threadId);
    await Promise.all([running, during.run({ runId })]);
    const after = stock(version, server.url, sample, threadId);
    await after.run({ runId });
    expect(textsOf(client).at(-1)).toBe(answer);
    for (const other of [during, after]) expect(heldBy(other)).toEqual(heldBy(client));
    await expectWhole(client, version, threadId);
  });

  test("has several runs on a thread, each with its whole history", async () => {
    const { client, threadId } = clientOf(version, "chat");
    for (const said of ["Hello", "one two", "three four five"]) await client.say(said);
    expect(client.agent.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(textsOf(client)).toEqual([
      "Hello! What would you like to talk about?",
      "You said 2 words: “one two”. Tell me more.",
      "You said 3 words: “three four five”. Tell me more.",
    ]);
    await expectWhole(client, version, threadId);
  });

  test("gets tool calls and their results, in several runs", async () => {
    const { client, threadId } = clientOf(version, "tools");
    await client.say("Weather in Ulm and Rome?");
    await client.say("2 * 21");
    const calls = client.agent.messages.flatMap(({ toolCalls = [] }) => toolCalls);
    expect(calls.map((call) => call.function.name)).toEqual(["get_weather", "get_weather", "calculate"]);
    expect(textsOf(client, "tool")).toEqual([expect.stringContaining("Ulm"), expect.stringContaining("Rome"), "42"]);
    expect(textsOf(client).at(-1)).toBe("The result is 42.");
    await expectWhole(client, version, threadId);
  });

  test("gets reasoning, and sends it back without its being doubled", async () => {
    const { client, threadId } = clientOf(version, "reasoning");
    await client.say("Is 9 prime?");
    await client.say("Is 7 prime?");
    expect(textsOf(client, "reasoning")).toEqual([
      "Is 9 prime? I try every number whose square is not larger. 2 leaves 1. 3 divides it. That settles it.",
      "Is 7 prime? I try every number whose square is not larger. 2 leaves 1. None divides it.",
    ]);
    expect(textsOf(client)).toEqual(["9 is 3 × 3, so it is not prime.", "7 is prime."]);
    await expectWhole(client, version, threadId);
  });

  test("shares state, edits it, and gets activities", async () => {
    const { client, threadId } = clientOf(version, "state");
    await client.say("Weave a scarf");
    const titles = ["Gather what is needed", "Prepare", "Do it", "Check the result"];
    const plan = { title: "Weave a scarf", steps: titles.map((title) => ({ title, done: true })) };
    expect(client.agent.state).toEqual(plan);
    expect(textsOf(client, "activity")).toEqual(titles.map((title) => ({ title, part: 4, of: 4 })));
    await client.say("Again");
    expect(client.agent.state).toEqual(plan);
    client.agent.setState({ ...plan, steps: [...plan.steps, { title: "Wear it", done: false }] });
    await client.say("One more");
    expect(client.agent.state).toEqual({ ...plan, steps: [...plan.steps, { title: "Wear it", done: true }] });
    expect(textsOf(client, "activity")).toHaveLength(5);
    await expectWhole(client, version, threadId);
  });

  test("is asked, and approves, denies, edits and cancels", async () => {
    const { client, threadId } = clientOf(version, "approval");
    const answered = async (answer: object): Promise<unknown> => {
      await client.say("Delete /tmp/a");
      const [question] = client.agent.pendingInterrupts;
      expect(question?.reason).toBe("tool_call");
      await expectSameOnConnect(client, version, server.url, threadId);
      await client.run({ resume: [{ interruptId: question?.id, ...answer }] });
      expect(client.agent.pendingInterrupts).toEqual([]);
      return textsOf(client).at(-1);
    };
    expect(await answered(resolved({ approved: true }))).toBe("Deleted /tmp/a. Anything else?");
    expect(await answered(resolved({ approved: false }))).toBe("All right, I leave it alone.");
    expect(await answered(resolved({ approved: true, editedArgs: { path: "/tmp/b" } }))).toBe(
      "Deleted /tmp/b. Anything else?",
    );
    expect(await answered({ status: "cancelled" })).toBe("All right, I leave it alone.");
    await expectWhole(client, version, threadId);
  });

  test("gets the same failure for the same answer after a run that failed to make use of it, and goes on by taking it back", async () => {
    const { client, threadId } = clientOf(version, "approval");
    await client.say("Delete /tmp/a");
    const [question] = client.agent.pendingInterrupts;
    const resume = [{ interruptId: question?.id, ...resolved({ approved: true }) }];
    client.agent.url = client.agent.url.replace("approval", "load");
    await client.run({ resume, forwardedProps: { tokens: 2, failAt: 1 } });
    expect(client.ends.at(-1)).toMatchObject({ outcome: "error", code: "agent-failed" });
    expect(client.agent.pendingInterrupts).toEqual([question]);
    await expectSameOnConnect(client, version, server.url, threadId);
    client.agent.url = client.agent.url.replace("load", "approval");
    // What was approved may have been done: the same answer again gets what came of it, and nothing is started.
    await client.run({ resume });
    expect(client.ends.at(-1)).toMatchObject({ outcome: "error", code: "agent-failed" });
    await client.run({ resume: [{ interruptId: question?.id, status: "cancelled" }] });
    expect(client.ends.at(-1)).not.toMatchObject({ outcome: "error" });
    await expectWhole(client, version, threadId);
  });

  test("is asked for what only people know, and answers from another client that has connected", async () => {
    const { client, threadId } = clientOf(version, "approval");
    await client.say("Sign in");
    const other = stock(version, server.url, "approval", threadId, "/connect");
    await other.run();
    expect(other.agent.pendingInterrupts).toEqual(client.agent.pendingInterrupts);
    other.agent.url = client.agent.url;
    await other.run({ resume: [{ interruptId: "user-name", status: "resolved", payload: { response: "Ada" } }] });
    expect(textsOf(other)).toEqual(["You are signed in as Ada."]);
    await expectWhole(other, version, threadId);
  });

  test("answers a call of its own tool", async () => {
    const { client, threadId } = clientOf(version, "frontend");
    const tools = [{ name: "pick_colour", description: "Picks a colour.", parameters: { type: "object" } }];
    await client.say("Colour?", { tools });
    const call = client.agent.messages.flatMap(({ toolCalls = [] }) => toolCalls).at(-1);
    client.agent.addMessage({ id: "picked", role: "tool", toolCallId: call?.id, content: "blue" });
    await client.run({ tools });
    expect(textsOf(client)).toEqual(["Pick one.", "You picked blue."]);
    await expectWhole(client, version, threadId);
  });

  test("is told of a failure, and goes on", async () => {
    const { client, threadId } = clientOf(version, "load");
    await client.say("", { forwardedProps: { tokens: 9, failAt: 4 } });
    expect(client.ends).toEqual([{ outcome: "error", code: "agent-failed", message: "Failed at word 4, as asked." }]);
    await client.say("", { forwardedProps: { tokens: 3 } });
    expect(textsOf(client)).toEqual(["t1 t2 t3", "t1 t2 t3"]);
    await expectWhole(client, version, threadId);
  });

  test("goes away in the middle without stopping the run, and gets the rest by posting again", async () => {
    const gates = await startGates();
    const { client, threadId } = clientOf(version, "stepped");
    const place = heldAt(gates, threadId, 20);
    const running = client.say("Go", { forwardedProps: { gates: gates.url, key: threadId } });
    await place.reached();
    await client.saw(({ type }) => type === "TEXT_MESSAGE_START");
    client.agent.abortRun();
    await running;
    expect(client.ends).toMatchObject([{ outcome: "error", code: "abort" }]);
    const runId = client.events.find(({ type }) => type === "RUN_STARTED")?.["runId"];
    const again = client.run({ runId });
    await client.answered(2);
    place.open();
    await again;
    expect(client.ends.at(-1)).toMatchObject({ outcome: "success" });
    expect(textsOf(client)).toContain(ANSWER);
    expect(gates.visits(`${threadId} started`)).toBe(1);
    await expectWhole(client, version, threadId);
  });

  test("is cut off in the middle, and gets the rest by posting again or by connecting", async () => {
    const gates = await startGates();
    const proxy = await cuttingProxy(server.url);
    vi.spyOn(console, "error").mockReturnValue();
    const { client, threadId } = clientOf(version, "stepped");
    const place = heldAt(gates, threadId, 26);
    client.agent.url = client.agent.url.replace(server.url, proxy.url);
    const posting = { runId: "the run", forwardedProps: { gates: gates.url, key: threadId } };
    const running = client.say("Go", posting);
    await place.reached();
    await client.saw(({ type }) => type === "TOOL_CALL_ARGS");
    proxy.cut();
    await expect(running).rejects.toThrow("terminated");
    const again = client.run(posting);
    await client.answered(2);
    proxy.cut();
    await expect(again).rejects.toThrow("terminated");
    client.agent.url = client.agent.url.replace("stepped", "stepped/connect");
    const rest = client.run();
    await client.answered(3);
    place.open();
    await rest;
    expect(textsOf(client)).toContain(ANSWER);
    expect(gates.visits(`${threadId} started`)).toBe(1);
    await expectWhole(client, version, threadId);
  });

  test("finds a thread whose run died with its server, and goes on", async () => {
    const gates = await startGates();
    const store = `sqlite:${join(folder, `died ${version}.db`)}`;
    const dying = await startServer({ files: FILES, store });
    vi.spyOn(console, "error").mockReturnValue();
    const client = stock(version, dying.url, "stepped", "died");
    const place = heldAt(gates, "died", 26);
    const posting = { runId: "the run", forwardedProps: { gates: gates.url, key: "died" } };
    const running = client.say("Go", posting);
    await place.reached();
    await client.saw(({ type }) => type === "TOOL_CALL_ARGS");
    const [, outcome] = await Promise.allSettled([dying.kill(), running]);
    expect(outcome.status).toBe("rejected");
    const { url, stop } = await startServer({ files: FILES, store });
    const connected = stock(version, url, "stepped", "died", "/connect");
    await connected.run();
    expect(connected.ends).toMatchObject([{ outcome: "error", code: "worker-lost" }]);
    client.agent.url = client.agent.url.replace(dying.url, url);
    await client.run(posting);
    expect(client.ends).toEqual(connected.ends);
    expect(heldBy(client)).toEqual(heldBy(connected));
    expect(gates.visits("died started")).toBe(1);
    await client.say("And now?");
    expect(client.ends.at(-1)).toMatchObject({ outcome: "success" });
    expect(textsOf(client)).toContain(ANSWER);
    expectNothingDoubled(client);
    await expectSameOnConnect(client, version, url, "died");
    await stop();
  });

  test("posts what it holds of a thread that others have continued: a branch, and nothing of theirs is lost", async () => {
    const { client, threadId } = clientOf(version, "chat");
    await client.say("Hello");
    const other = stock(version, server.url, "chat", threadId, "/connect");
    await other.run();
    other.agent.url = client.agent.url;
    await other.say("one");
    await client.say("two words");
    expect(textsOf(client).at(-1)).toBe("You said 2 words: “two words”. Tell me more.");
    const whole = stock(version, server.url, "chat", threadId, "/connect");
    await whole.run();
    expect(textsOf(whole, "user")).toEqual(["Hello", "two words"]);
    expect(textsOf(whole)).toEqual([
      "Hello! What would you like to talk about?",
      "You said 2 words: “two words”. Tell me more.",
    ]);
    expectNothingDoubled(whole);
    const log = await (await fetch(`${server.url}/threads/${threadId}/events?all=true&follow=false`)).text();
    expect(log).toContain('"content":"one"');
  });
});

test.each<Version>(["1.0.0", "0.0.59"])(
  "a client of %s that missed runs has all in order by connecting",
  async (version) => {
    const { client, threadId } = clientOf(version, "reasoning");
    await client.say("Is 9 prime?");
    const other = stock(version, server.url, "reasoning", threadId, "/connect");
    await other.run();
    other.agent.url = other.agent.url.replace("reasoning/connect", "state");
    await other.say("Weave");
    other.agent.url = client.agent.url;
    await other.say("Is 7 prime?");
    client.agent.url += "/connect";
    await client.run();
    expect(textsOf(client, "user")).toEqual(["Is 9 prime?", "Weave", "Is 7 prime?"]);
    await expectWhole(client, version, threadId);
  },
);

test("subagents are seen by clients that know them, the old one where it says how old it is", async () => {
  for (const version of ["1.0.0", "0.0.59", "0.0.59 that says so"] as const) {
    const { client, threadId } = clientOf(version, "subagents");
    await client.say("dyeing");
    const tagged = client.agent.messages.filter((message) => "subagentRunId" in message);
    expect(tagged).toHaveLength(seesSubagents(version) ? 3 : 0);
    expect(typesOf(client).has("SUBAGENT_STARTED")).toBe(seesSubagents(version));
    expect(textsOf(client)).toEqual([
      "I have “dyeing” looked into. ",
      "On dyeing: the history says where it comes from.",
      "On dyeing: the practice says how it is done.",
      "On dyeing: the history says where it comes from. On dyeing: the practice says how it is done. ",
      "That is what they found.",
    ]);
    await expectWhole(client, version, threadId);
  }
});

test("a client of 0.0.57 runs everything too, and is not told of subagents", async () => {
  const { client, threadId } = clientOf("0.0.57", "stepped");
  await client.say("Go", { runId: "the run" });
  await client.say("Go on");
  expect(client.ends).toMatchObject([{ outcome: "success" }, { outcome: "success" }]);
  expect([...typesOf(client)].filter((type) => type.startsWith("SUBAGENT"))).toEqual([]);
  await expectWhole(client, "0.0.57", threadId);
});

test("clients of several versions on one thread: they watch one run, and a second one has to wait", async () => {
  const gates = await startGates();
  const { client: one, threadId } = clientOf("1.0.0", "stepped");
  const place = heldAt(gates, threadId, 20);
  const posting = { runId: "the run", forwardedProps: { gates: gates.url, key: threadId } };
  const running = one.say("Go", posting);
  await place.reached();
  const two = stock("0.0.59 that says so", server.url, "stepped", threadId);
  const joined = two.run(posting);
  await two.answered();
  vi.spyOn(console, "error").mockReturnValue();
  const three = stock("0.0.59", server.url, "stepped", threadId);
  await expect(three.say("Me too")).rejects.toThrow("thread-busy");
  place.open();
  await Promise.all([running, joined]);
  expect(heldBy(two)).toEqual(heldBy(one));
  expect(textsOf(one)).toContain(ANSWER);
  // What was refused is still unsaid, and is heard now.
  await three.run();
  const whole = stock("1.0.0", server.url, "stepped", threadId, "/connect");
  await whole.run();
  expect(textsOf(whole, "user")).toEqual(["Go", "Me too"]);
  expectNothingDoubled(whole);
});

test("a thread that nobody has begun connects to nothing", async () => {
  const { client } = clientOf("1.0.0", "chat");
  client.agent.url += "/connect";
  await client.run();
  expect(client.events).toEqual([]);
  expect(client.agent.messages).toEqual([]);
});

/** Holds `stepped` before an event of its, by its number, and lets it pass everywhere else. */
function heldAt(gates: Gates, key: string, number: number): { reached(): Promise<void>; open(): void } {
  gates.open(`${key} started`);
  for (let index = 1; index <= everything("").length + 1; index++) if (index !== number) gates.open(`${key} ${index}`);
  return { reached: () => gates.reached(`${key} ${number}`), open: () => gates.open(`${key} ${number}`) };
}

/** A proxy before a server that cuts all its connections when told to. */
async function cuttingProxy(target: string): Promise<{ readonly url: string; cut(): void }> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = createConnection(Number(port), hostname);
    for (const socket of [near, far]) sockets.add(socket.on("error", () => undefined));
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  onTestFinished(() => {
    cut();
    proxy.close();
  });
  const address: AddressInfo = Object(proxy.address());
  return { url: `http://127.0.0.1:${address.port}`, cut };
}

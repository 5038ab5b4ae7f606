/** The sample of seed 003 as a process, over real sockets: its endpoints, its settings, its files. Its page is in sample-page.test.ts. */
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentsOf } from "../examples/sample/agents/agents-of.ts";
import { readSettings } from "../examples/sample/settings.ts";
import { calculate } from "../examples/sample/tools/calculator-tool.ts";
import { agentContract } from "../src/testing/agent-contract.ts";
import { MAIN, settingsFile, startSample } from "./sample-process.ts";
import type { Changes } from "./sample-process.ts";
import { runNode, startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { openSession } from "./session-client.ts";
import type { SessionClientEvent } from "./session-client.ts";

const read = (name: string): string => readFileSync(join("examples/sample", name), "utf8");

const textOf = (events: readonly SessionClientEvent[]): string =>
  events.flatMap(({ type, data }) => (type === "text-chunk" ? [data.text] : [])).join("");

const dataOf = (events: readonly SessionClientEvent[], type: string): readonly unknown[] =>
  events.flatMap((event) => (event.type === type ? [event.data] : []));

const saying = (content: string) => ({ messages: [{ id: "u", role: "user" as const, content }] });

/** What one question gets at a path; a name alone is an endpoint of the sample as it is. */
async function answer(url: string, endpoint: string, question: string): Promise<readonly SessionClientEvent[]> {
  const session = await openSession(url, endpoint.startsWith("/") ? endpoint : `/api/ag-ui/${endpoint}`);
  const events = await session.ask(question);
  await session.close();
  return events;
}

/** Everything that a file can say otherwise, except where a session ends. */
const OTHERWISE: Changes = {
  middleware: [],
  agUi: {
    endpointPath: "/talk",
    sessionTimeout: "00:00:03",
    maxMessageHistorySize: 2,
    endpoints: {
      tools: { enableTools: false, middleware: ["timing"] },
      reasoning: { enableReasoning: false },
      thinker: { path: "/think", agentType: "ReasoningAgent", modelId: "m" },
    },
  },
};

/** The sample as it is, and with other settings. */
let sample: ServerProcess;
let other: ServerProcess;

beforeAll(async () => {
  const files = [settingsFile({ logLevel: "info" }), settingsFile(OTHERWISE)] as const;
  [sample, other] = await Promise.all([startSample(files[0]), startSample(files[1])]);
});

afterAll(() => Promise.all([sample.stop(), other.stop()]));

describe("the chat endpoint", () => {
  test("003 REQ-SA-1.1, REQ-SA-1.2, REQ-SA-1.3: it is at /api/ag-ui/chat, starts a session, and answers with text", async () => {
    const session = await openSession(sample.url, "/api/ag-ui/chat");
    expect(session.events).toMatchObject([{ type: "session-started", sessionId: session.sessionId }]);
    const events = await session.ask("My name is Ada");
    expect(textOf(events)).toContain("Nice to meet you, Ada.");
    expect(dataOf(events, "text-chunk").length).toBeGreaterThan(5);
    expect(events.at(-1)?.type).toBe("agent-response-complete");
    // The client sends only what is new: the server has the rest.
    expect(textOf(await session.ask("What is my name?"))).toContain("Your name is Ada.");
    expect(textOf(await session.ask("What did I say so far?"))).toBe(
      "So far you said “My name is Ada”, then “What is my name?”.",
    );
    await session.close();
  });

  test("003 REQ-SA-1.4: a session is cleaned up when its client disconnects, and its conversation is kept", async () => {
    const session = await openSession(sample.url, "/api/ag-ui/chat");
    await session.ask("My name is Grace");
    await session.close();
    const ended = new RegExp(`${session.sessionId}[^\\n]*a session ended|a session ended[^\\n]*${session.sessionId}`);
    while (!ended.test(sample.printed.err)) {
      if (sample.child.stderr === null) throw new Error("no stderr");
      await once(sample.child.stderr, "data");
    }
    const again = await openSession(sample.url, `/api/ag-ui/chat?sessionId=${session.sessionId}`);
    expect(again.events[0]?.data).toMatchObject({ isResumed: true });
    expect(textOf(await again.ask("Who am I?"))).toContain("Your name is Grace.");
    await again.close();
  });

  test("an error of the agent is told, and the session goes on", async () => {
    const session = await openSession(sample.url, "/api/ag-ui/chat");
    const failed = await session.ask("Fail, please");
    expect(failed.at(-1)).toMatchObject({
      type: "agent-error",
      data: { error: { code: "agent-failed", message: "You asked me to fail, so I did. Nothing else is wrong." } },
    });
    expect(textOf(await session.ask("Hello"))).toContain("Hello!");
    await session.close();
  });
});

describe("the tools endpoint", () => {
  test("003 REQ-SA-2.1, REQ-SA-2.2, REQ-SA-2.3, REQ-SA-2.4: tools are called side by side, seen, and made use of", async () => {
    const events = await answer(sample.url, "tools", "What is the weather in Paris, and what is 17*23?");
    expect(dataOf(events, "tool-call-chunk")).toMatchObject([
      { toolName: "get_weather", arguments: { city: "Paris" } },
      { toolName: "calculate", arguments: { expression: "17*23" } },
    ]);
    expect(dataOf(events, "tool-result-chunk")).toMatchObject([
      { isError: false, result: expect.stringContaining("invented figures") },
      { isError: false, result: expect.stringContaining("391") },
    ]);
    const types = events.map(({ type }) => type);
    expect(types.lastIndexOf("tool-call-chunk")).toBeLessThan(types.indexOf("tool-result-chunk"));
    expect(textOf(events)).toContain("In Paris it is partly cloudy, 19 °C. 17*23 is 391.");
  });

  test("a tool that fails is seen, and the answer tells of it", async () => {
    const events = await answer(sample.url, "tools", "Weather in Atlantis and Rome? And 1 / 0?");
    expect(dataOf(events, "tool-result-chunk")).toMatchObject([
      { isError: true, error: expect.stringContaining("I have no weather for Atlantis. I know Berlin") },
      { isError: false },
      { isError: true, error: "1 / 0 has no value." },
    ]);
    expect(textOf(events)).toMatch(/One thing did not work\. I have no weather for Atlantis\..*In Rome it is sunny/);
    expect(events.at(-1)?.data).toMatchObject({ outcome: "success" });
  });

  test.each([
    ["2 + 3 * 4", 14],
    ["(2 + 3) * 4", 20],
    ["-2^2", -4],
    ["2^3^2", 512],
    ["10 % 4 ÷ 2 × 3", 3],
    ["0.1 + 0.2", 0.3],
    ["-(4 - 6)", 2],
  ])("the calculator makes of %s %d", (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  test.each(["2 +", "(1", "1)", "process.exit()", "1 2", "1..2", "9^999", "constructor"])(
    "the calculator refuses %s",
    (expression) => {
      expect(() => calculate(expression)).toThrow(/\.$/);
    },
  );

  test.each([
    ["what is 17 times 23?", ["17 * 23"]],
    ["12 divided by 4 plus 1", ["12 / 4 + 1"]],
    ["(1 + 2) * 3 and 7-5", ["(1 + 2) * 3", "7-5"]],
    ["I was born in 1990", []],
  ])("the agent understands %j", async (question, expressions) => {
    const events = await answer(sample.url, "tools", question);
    expect(dataOf(events, "tool-call-chunk")).toMatchObject(
      expressions.map((expression) => ({ arguments: { expression } })),
    );
  });
});

describe("the reasoning endpoint", () => {
  test("003 REQ-SA-3.1, REQ-SA-3.2, REQ-SA-3.3: thoughts come first, are complete, and the answer follows", async () => {
    const events = await answer(sample.url, "reasoning", "Is 221 prime?");
    const types = events.map(({ type }) => type);
    expect(types.filter((type) => type === "thought-chunk").length).toBeGreaterThan(5);
    expect(types.filter((type) => type === "thought-complete")).toHaveLength(1);
    expect(types.indexOf("thought-complete")).toBeLessThan(types.indexOf("text-chunk"));
    expect(textOf(events)).toBe("221 is not prime: it is 13 × 17.");
    expect(types).toEqual(expect.arrayContaining(["status-update", "progress-update"]));
  });

  test("003 REQ-SA-3.4: with reasoning switched off in the settings there are no thoughts, and the answer is the same", async () => {
    const events = await answer(other.url, "/talk/reasoning", "Is 221 prime?");
    expect(events.filter(({ type }) => type.startsWith("thought"))).toEqual([]);
    expect(textOf(events)).toBe("221 is not prime: it is 13 × 17.");
  });
});

test("the same agents answer AG-UI's own HTTP", async () => {
  const messages = [{ id: "u1", role: "user", content: "(2 + 3) * 4" }];
  const run = await fetch(`${sample.url}/agents/tools`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId: "over-http", runId: "r1", messages, tools: [], context: [] }),
  });
  expect(await run.text()).toMatch(/TOOL_CALL_RESULT[^]*RUN_FINISHED/);
});

describe("the agents keep the contract of agents", () => {
  const agents = agentsOf(readSettings(settingsFile(), {}));
  const cases = agents.flatMap((agent) =>
    agentContract(agent, {
      inputs: { hello: saying("Hello"), work: saying("Weather in Rome, and is 15 * 17 prime?") },
    }).map(({ title, run }) => [`${agent.name}: ${title}`, run] as const),
  );

  test.each(cases)("%s", async (_, run) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

describe("settings", () => {
  const settings = readSettings("examples/sample/settings.json", {});

  test("003 sample/config.common: base path, session timeout and history limit are set for all endpoints", async () => {
    expect(settings).toMatchObject({
      endpointPath: "/api/ag-ui",
      sessionTimeoutMs: 30 * 60_000,
      maxMessageHistorySize: 100,
    });
    const session = await openSession(other.url, "/talk/chat");
    await session.ask("My name is Ada");
    await session.ask("I like looms");
    expect(textOf(await session.ask("What is my name?"))).toContain("You have not told me");
    expect((await session.next("session-ended")).data).toMatchObject({ reason: "timeout" });
    expect(await (await fetch(`${other.url}/endpoints.json`)).json()).toMatchObject([
      { path: "/talk/chat" },
      { path: "/talk/tools" },
      { path: "/talk/reasoning" },
      { path: "/talk/think" },
    ]);
  });

  test("003 sample/config.chat: the simple agent is at /chat, with its model", async () => {
    expect(settings.endpoints[0]).toMatchObject({ path: "/chat", agentType: "SimpleAgent", modelId: "scripted/chat" });
    expect(dataOf(await answer(sample.url, "chat", "Hello"), "metadata-update")).toContainEqual(
      expect.objectContaining({ model: "scripted/chat", usage: expect.objectContaining({ promptTokens: 1 }) }),
    );
  });

  test("003 sample/config.tools: the agent with tools is at /tools, with tools enabled; without them it says so", async () => {
    expect(settings.endpoints[1]).toMatchObject({ path: "/tools", agentType: "ToolsAgent", enableTools: true });
    const events = await answer(other.url, "/talk/tools", "What is 17*23?");
    expect(dataOf(events, "tool-call-chunk")).toEqual([]);
    expect(textOf(events)).toContain("My tools are switched off");
  });

  test("003 sample/config.reasoning: the reasoning agent is at /reasoning, with reasoning enabled", () => {
    expect(settings.endpoints[2]).toMatchObject({
      path: "/reasoning",
      agentType: "ReasoningAgent",
      modelId: "scripted/reasoning",
      enableReasoning: true,
    });
  });

  test("003 REQ-SA-4.1, REQ-SA-4.2: one file says which agent is at which endpoint, also twice the same kind", async () => {
    const events = await answer(other.url, "/talk/think", "Is 7 prime?");
    expect(events.some(({ type }) => type === "thought-chunk")).toBe(true);
    expect(textOf(events)).toBe("7 is prime.");
  });

  test("003 REQ-SA-4.3: the settings say what stands around the agents, and in which order", async () => {
    const hidden = await answer(sample.url, "chat", "I am ada@example.com, card 4111 1111 1111 1111");
    expect(textOf(hidden)).toContain("“I am [e-mail hidden], card [number hidden]”");
    expect(dataOf(hidden, "metadata-update")).toContainEqual({
      custom: { name: "sample.timing", value: { durationMs: expect.any(Number) } },
    });
    const plain = await answer(other.url, "/talk/chat", "I am ada@example.com");
    expect(textOf(plain)).toContain("ada@example.com");
    expect(JSON.stringify(plain)).not.toContain("sample.timing");
    expect(JSON.stringify(await answer(other.url, "/talk/tools", "1+1"))).toContain("sample.timing");
  });

  test("003 REQ-SA-4.4: the settings say how sessions are kept", async () => {
    const own = await startSample(settingsFile({ agUi: { endAfterResponse: true } }));
    const session = await openSession(own.url, "/api/ag-ui/chat");
    await session.ask("Hello");
    expect((await session.next("session-ended")).data).toMatchObject({ reason: "completed" });
    await session.closed;
    await own.stop();
  });

  test("003 REQ-SA-4.5: HEDDLE_ENV, else NODE_ENV, lays a file over the settings; the environment wins over both", () => {
    expect(readSettings("examples/sample/settings.json", { NODE_ENV: "development" })).toMatchObject({
      store: "memory:",
      logLevel: "info",
      sessionTimeoutMs: 5 * 60_000,
      maxMessageHistorySize: 100,
      endpoints: [{ middleware: ["log", "timing", "redact"] }, {}, {}],
    });
    const overlay = { name: "staging", changes: { port: 7000, agUi: { endpoints: { chat: { modelId: "other" } } } } };
    const file = settingsFile({}, overlay);
    expect(readSettings(file, { HEDDLE_ENV: "staging", NODE_ENV: "development" })).toMatchObject({
      port: 7000,
      endpoints: [{ path: "/chat", modelId: "other" }, {}, {}],
    });
    expect(readSettings(file, { HEDDLE_ENV: "nowhere" }).port).toBe(5000);
    expect(readSettings(file, { HEDDLE_ENV: "staging", HEDDLE_PORT: "8000", HEDDLE_HOST: "::1" })).toMatchObject({
      port: 8000,
      host: "::1",
    });
  });

  const WRONG: readonly (readonly [place: string, changes: Changes, expected: string])[] = [
    ["#/port", { port: "5000" }, "a whole number from 0 to 65535"],
    ["#/store", { store: "redis://x" }, "memory: or sqlite:<file>"],
    ["#/logLevel", { logLevel: "loud" }, "one of debug, info"],
    ["#/paceMs", { paceMs: -1 }, "a whole number from 0"],
    ["#/middleware", { middleware: ["timing", "magic"] }, "a list of words among timing, redact, log"],
    ["#/colour", { colour: "red" }, "nothing: there is port, host"],
    ["#/agUi", { agUi: [] }, "an object"],
    ["#/agUi/endpointPath", { agUi: { endpointPath: "api" } }, "a path such as /api/ag-ui"],
    ["#/agUi/sessionTimeout", { agUi: { sessionTimeout: "soon" } }, "hours, minutes and seconds"],
    ["#/agUi/sessionTimeout", { agUi: { sessionTimeout: "00:00:00" } }, "and not zero"],
    ["#/agUi/maxMessageHistorySize", { agUi: { maxMessageHistorySize: 0 } }, "a whole number from 1"],
    ["#/agUi/concurrency", { agUi: { concurrency: "all" } }, "one of queue, concurrent"],
    ["#/agUi/endAfterResponse", { agUi: { endAfterResponse: "no" } }, "true or false"],
    ["#/agUi/endpoints/chat/path", { agUi: { endpoints: { chat: { path: "chat" } } } }, "a path such as /chat"],
    ["#/agUi/endpoints/tools/path", { agUi: { endpoints: { tools: { path: "/chat" } } } }, "no other endpoint has"],
    ["#/agUi/endpoints/tools/agentType", { agUi: { endpoints: { tools: { agentType: "Magic" } } } }, "SimpleAgent"],
    [
      "#/agUi/endpoints/chat/enableReasoning",
      { agUi: { endpoints: { chat: { enableReasoning: 1 } } } },
      "true or false",
    ],
    ["#/agUi/endpoints/new/path", { agUi: { endpoints: { new: {} } } }, "a path such as /chat"],
    ["#/agUi/endpoints/chat/speed", { agUi: { endpoints: { chat: { speed: 1 } } } }, "nothing: there is path"],
  ];

  test.each(WRONG)("003 sample/config.4: a wrong value at %s is refused with its place", (place, changes, expected) => {
    const reading = (): unknown => readSettings(settingsFile(changes), {});
    expect(reading).toThrow(`settings.json${place} is `);
    expect(reading).toThrow(expected);
  });

  test("003 sample/config.4: the start stops with a sentence and exit code 2", async () => {
    const file = settingsFile({}, { name: "broken", changes: { agUi: { sessionTimeout: "soon" } } });
    const started = runNode([MAIN, file], { HEDDLE_ENV: "broken" });
    expect(await started.ended).toBe(2);
    expect(started.printed.err).toBe(
      'sample: settings.broken.json#/agUi/sessionTimeout is "soon": ' +
        'expected hours, minutes and seconds, such as "00:30:00", and not zero. (config-invalid)\n',
    );
    expect(started.printed.out).toBe("");
    const missing = runNode([MAIN, "/nowhere/settings.json"]);
    expect([await missing.ended, missing.printed.err]).toMatchObject([2, expect.stringContaining("expected a file")]);
    const taken = runNode([MAIN, settingsFile()], { HEDDLE_PORT: new URL(sample.url).port });
    expect([await taken.ended, taken.printed.err]).toMatchObject([2, expect.stringContaining("is taken")]);
  });
});

describe("files", () => {
  test("003 sample/structure.1, structure.page, structure.entry: the folders are those of the seed, in the manner of Node", () => {
    const files = readdirSync("examples/sample", { recursive: true, encoding: "utf8" });
    expect(files).toEqual(
      expect.arrayContaining([
        "public/index.html",
        "public/js/agui-client.js",
        "agents/simple-agent.ts",
        "agents/tools-agent.ts",
        "agents/reasoning-agent.ts",
        "tools/weather-tool.ts",
        "tools/calculator-tool.ts",
        "main.ts",
        "settings.json",
        "settings.development.json",
        "README.md",
      ]),
    );
  });

  test("003 sample/structure.2, structure.3: it needs no build, and listens on port 5000 unless set otherwise", () => {
    expect(readSettings("examples/sample/settings.json", {}).port).toBe(5000);
    expect(sample.printed.out).toBe(`The sample is ready at ${sample.url}\n`);
  });

  test("003 deps.sample: it imports published subpaths of Heddle and Node itself, and no model provider", () => {
    const files = readdirSync("examples/sample", { recursive: true, encoding: "utf8" });
    const sources = files.filter((name) => /\.(ts|js)$/.test(name)).map(read);
    const imported = sources.flatMap((source) => [...source.matchAll(/from "([^."][^"]*)"/g)].map(([, name]) => name));
    expect([...new Set(imported)].toSorted()).toEqual([
      "heddle/agent",
      "heddle/protocol",
      "heddle/server/fastify",
      "heddle/store",
      "heddle/store/sqlite",
      "node:fs",
      "node:path",
      "node:timers/promises",
      "node:url",
    ]);
  });

  test.each(["main.ts", "agents/simple-agent.ts", "agents/tools-agent.ts", "agents/reasoning-agent.ts"])(
    "003 REQ-SA-1.5, REQ-SA-2.5, REQ-SA-3.5: %s explains its steps",
    (name) => {
      const steps = [...read(name).matchAll(/\/\/ Step (\d):/g)].map(([, step]) => Number(step));
      expect(steps.length).toBeGreaterThanOrEqual(3);
      expect(steps.filter((step) => step > 0)).toEqual(expect.arrayContaining([1, 2, 3]));
    },
  );

  test("003 REQ-SA-6.1, REQ-SA-6.2, REQ-SA-6.3, REQ-SA-6.4, REQ-SA-6.5: the README says how to start, what is where, and what may go wrong", () => {
    const readme = read("README.md");
    const scripts: unknown = JSON.parse(readFileSync("package.json", "utf8")).scripts;
    expect(scripts).toMatchObject({ sample: `node ${MAIN}` });
    for (const said of ["npm run sample", `node ${MAIN}`, "https://docs.ag-ui.com", "## Troubles"]) {
      expect(readme).toContain(said);
    }
    for (const { path } of readSettings("examples/sample/settings.json", {}).endpoints) {
      expect(readme).toContain(`\`/api/ag-ui${path}\``);
    }
    for (const name of Object.keys(JSON.parse(read("settings.json")))) expect(readme).toContain(name);
    const links = [...readme.matchAll(/\]\((?!https?:|#)([^)]+)\)/g)].map(([, target]) => target ?? "");
    expect(links.filter((link) => !existsSync(join("examples/sample", link)))).toEqual([]);
  });
});

test("npm start mounts the same endpoints, and the page at /sample", async () => {
  const { start }: { start: string } = JSON.parse(readFileSync("package.json", "utf8")).scripts;
  const [, args = ""] = start.split("heddle.js serve ");
  const server = await startServer({ args: args.split(" ") });
  for (const endpoint of ["chat", "tools", "reasoning"]) {
    const session = await openSession(server.url, `/api/ag-ui/${endpoint}`);
    await session.close();
  }
  const page = await fetch(`${server.url}/sample`);
  expect([page.status, page.url]).toEqual([200, `${server.url}/sample/`]);
  expect(await page.text()).toContain("<title>Heddle sample</title>");
  expect(await (await fetch(`${server.url}/sample/endpoints.json`)).json()).toMatchObject([
    { path: "/api/ag-ui/chat" },
    { path: "/api/ag-ui/tools" },
    { path: "/api/ag-ui/reasoning" },
  ]);
  expect(await (await fetch(server.url)).text()).toContain('<div id="root">');
  await server.stop();
});

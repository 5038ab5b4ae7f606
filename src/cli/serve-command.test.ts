/** `heddle serve` as users run it, from source: configuration, the gateway, watching, and its end. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { oldSessionServer } from "../../test/old-session-server.ts";
import { openSession } from "../../test/session-client.ts";

const COMMAND = resolve("src/cli/heddle.ts");
const LOAD = resolve("examples/agents/load.ts");
const AGENT_MODULE = JSON.stringify(pathToFileURL("src/agent/index.ts").href);

let folder = "";
const running = new Set<ChildProcess>();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-serve-"));
});

afterEach(async () => {
  for (const child of running) child.kill("SIGKILL");
  await Promise.all([...running].map((child) => once(child, "close")));
  await rm(folder, { recursive: true });
});

/** All at once: a file that is written in place is empty for a moment, and a watcher may load that. */
async function put(name: string, contents: string | object): Promise<void> {
  await writeFile(`${folder}.part`, typeof contents === "string" ? contents : JSON.stringify(contents));
  await rename(`${folder}.part`, join(folder, name));
}

interface Running {
  readonly child: ChildProcess;
  readonly printed: { out: string; err: string };
  readonly ended: Promise<number | NodeJS.Signals | null>;
  /** Waits until a text was printed. */
  said(wanted: string | RegExp): Promise<void>;
}

/** Runs the command in the folder, with nothing of Heddle's or a model's in its environment. */
function heddle(args: readonly string[], env: Record<string, string> = {}): Running {
  const clean = Object.entries(process.env).filter(([name]) => !/^(HEDDLE|OPENAI|NODE_ENV)/.test(name));
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: folder,
    env: { ...Object.fromEntries(clean), HEDDLE_STORE: "memory:", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const printed = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (printed.out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (printed.err += chunk));
  const ended = once(child, "close").then(([code, signal]: (number | NodeJS.Signals | null)[]) => {
    running.delete(child);
    return code ?? signal ?? null;
  });
  const said = async (wanted: string | RegExp): Promise<void> => {
    const over = ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${printed.out}${printed.err}`)));
    over.catch(() => {});
    while (!(typeof wanted === "string" ? printed.out.includes(wanted) : wanted.test(printed.out))) {
      await Promise.race([once(child.stdout, "data"), over]);
    }
  };
  return { child, printed, ended, said };
}

/** Waits for the line that names the URL. */
async function ready(command: Running): Promise<string> {
  await command.said(/Heddle is ready at .*\n/);
  return /http:\S+/.exec(command.printed.out)?.[0] ?? "";
}

async function stop({ child, ended }: Running, signal: NodeJS.Signals = "SIGTERM"): Promise<unknown> {
  child.kill(signal);
  return ended;
}

const post = (
  url: string,
  agent: string,
  fields: object = {},
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${url}/agents/${agent}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ threadId: "t", runId: "r", messages: [], protocolVersion: "1.0", ...fields }),
  });

const agentNamed = (name: string): string =>
  `import { defineAgent } from ${AGENT_MODULE};
   export const agent = defineAgent({ name: "${name}", run: ({ emit }) => void emit.text().write("I am ${name}") });`;

describe("configuration", () => {
  test("from files, under the environment, under flags", async () => {
    await put("agent.ts", agentNamed("mine"));
    await put("heddle.config.json", { files: ["agent.ts"], port: 1, host: "localhost", store: "sqlite:own.db" });
    await put("heddle.config.test.json", { host: "127.0.0.1" });
    const command = heddle(["serve", "--port", "0"], { NODE_ENV: "test", HEDDLE_STORE: "memory:" });
    const url = await ready(command);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await (await post(url, "mine")).text()).toContain("I am mine");
    expect(await stop(command)).toBe(0);
  });

  test("003 REQ-AC-4.3: endpoints and timeout of sessions", async () => {
    await put("agent.ts", agentNamed("mine"));
    await put("heddle.config.json", { files: ["agent.ts"], sessions: { endpoints: { hello: { agent: "mine" } } } });
    const command = heddle(["serve", "--port", "0"], { HEDDLE_SESSION_TIMEOUT_MS: "1500" });
    const client = await openSession(await ready(command), "/api/ag-ui/hello");
    expect((await client.ask("Hi"))[0]?.data.text).toBe("I am mine");
    await client.closed;
    expect(client.events.at(-1)).toMatchObject({ type: "session-ended", data: { reason: "timeout" } });
    expect(await stop(command)).toBe(0);
  });

  test("what agents log is said where it is asked for", async () => {
    await put(
      "agent.ts",
      `import { defineAgent } from ${AGENT_MODULE};
       export const chatty = defineAgent({ name: "chatty", run: ({ log }) => log.warn("odd", { of: "note" }) });`,
    );
    for (const [level, said] of [
      ["warn", 1],
      ["error", 0],
    ] as const) {
      const command = heddle(["serve", "agent.ts", "--port", "0", "--log-level", level]);
      await (await post(await ready(command), "chatty")).text();
      expect(await stop(command)).toBe(0);
      const lines = command.printed.err.split("\n").filter((line) => line.includes('"odd"'));
      expect(lines.map((line) => JSON.parse(line))).toMatchObject(
        Array.from({ length: said }, () => ({ msg: "odd", of: "note", agent: "chatty", threadId: "t", runId: "r" })),
      );
    }
  });

  test.each<[string, readonly string[], Record<string, string>, string | object | undefined, string]>([
    ["a wrong level of the log", ["--log-level", "loud"], {}, undefined, '--log-level is "loud": expected one of'],
    ["a wrong value", [], {}, { port: "80" }, 'heddle.config.json#/port is "80": expected a whole number'],
    ["an unknown setting", [], {}, { colour: 1 }, "heddle.config.json#/colour is 1: expected nothing"],
    ["a file that is no JSON", [], {}, "{", "heddle.config.json cannot be read"],
    ["a slip beside a key", [], {}, '{"authKey": secret-0123456789}', "cannot be read"],
    [
      "a key of no header",
      [],
      { HEDDLE_AUTH_KEY: "my secret" },
      undefined,
      "HEDDLE_AUTH_KEY is a text of 9 characters",
    ],
    ["a key by a flag", ["--auth-key=secret"], {}, undefined, "Unknown option '--auth-key'"],
    [
      "tokens for nobody",
      ["--jwks-url", "https://x/", "--jwt-issuer", "x"],
      {},
      undefined,
      "HEDDLE_JWT_AUDIENCE is not set",
    ],
    ["a rate that is none", [], { HEDDLE_RATE_LIMIT: "often" }, undefined, 'HEDDLE_RATE_LIMIT is "often"'],
    ["a wrong variable", [], { HEDDLE_LEASE_MS: "soon" }, undefined, 'HEDDLE_LEASE_MS is "soon"'],
    ["a wrong agent", ["--agent", "x"], {}, undefined, '--agent is "x": expected name=url.'],
    ["a name that no agent can have", ["--agent", "a b=http://x"], {}, undefined, 'The agent\'s name is "a b"'],
    ["a host that others can reach", ["--host", "0.0.0.0"], {}, undefined, "--no-auth"],
    ["a folder that is not there", ["--store", "sqlite:no/such/heddle.db"], {}, undefined, "its folder must exist"],
    ["a database that is away", ["--store", "postgres://a:secret@127.0.0.1:1/x"], {}, undefined, "check that it runs"],
  ])("%s ends it with a sentence and 2", async (_, args, env, config, sentence) => {
    if (config !== undefined) await put("heddle.config.json", config);
    const command = heddle(["serve", "--port", "0", ...args], env);
    expect(await command.ended).toBe(2);
    expect(command.printed.err).toMatch(/^heddle: [^\n]+\n$/);
    expect(command.printed.err).toContain(sentence);
    expect(command.printed.err).not.toContain("secret");
    expect(command.printed.out).toBe("");
  });

  test("who may ask, and how often, is taken from everywhere", async () => {
    await put("heddle.config.json", { auth: { keys: { ci: { key: "0123456789abcdef" } } }, maxRunsPerPrincipal: 3 });
    const flags = ["--jwks-url", "https://issuer.example/keys", "--jwt-issuer", "us", "--jwt-audience", "heddle"];
    const env = { HEDDLE_AUTH_KEY: "another-0123456789", HEDDLE_RATE_LIMIT: "600/60000" };
    const command = heddle(["serve", "--port", "0", ...flags], env);
    await ready(command);
    expect(await stop(command)).toBe(0);
    expect(command.printed.out + command.printed.err).not.toMatch(/0123456789/);
  });

  test("whether agents are tried from here is a setting, and a flag wins over it", async () => {
    for (const [flags, mayCheck] of [
      [[], false],
      [["--checks"], true],
    ] as const) {
      const command = heddle(["serve", "--port", "0", ...flags], { HEDDLE_CHECKS: "false" });
      const url = await ready(command);
      expect(await (await fetch(`${url}/me`)).json()).toMatchObject({ authenticated: false, mayCheck });
      expect(await stop(command)).toBe(0);
    }
  });

  test("--help names settings, and shows none", async () => {
    const command = heddle(["serve", "--help"], { HEDDLE_AUTH_KEY: "secret-0123456789", HEDDLE_JWT_SECRET: "secret" });
    expect(await command.ended).toBe(0);
    expect(command.printed.out).toMatch(/--jwks-url U [^]*--jwt-issuer I [^]*--jwt-audience A[^]*HEDDLE_AUTH_KEY/);
    expect(command.printed.out).toMatch(/auth,\s+authKey,\s+jwtSecret,\s+jwksUrl,\s+jwtIssuer/);
    expect(command.printed.out).not.toContain("0123456789");
  });

  test("a port that is taken ends it with a sentence and 2", async () => {
    const taken = createTcpServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port }: AddressInfo = Object(taken.address());
    const command = heddle(["serve", "--port", String(port), "--host", "127.0.0.1"]);
    expect(await command.ended).toBe(2);
    expect(command.printed.err).toContain(`Port ${port} of 127.0.0.1 is taken: stop what uses it, or ask for another.`);
    taken.close();
  });
});

describe("agents from elsewhere", () => {
  const EVENTS = [
    { type: "RUN_STARTED", threadId: "far", runId: "far" },
    { type: "TEXT_MESSAGE_START", messageId: "m1" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "from afar" },
    { type: "TEXT_MESSAGE_END", messageId: "m1" },
    { type: "RUN_FINISHED", threadId: "far", runId: "far" },
  ];

  /** An agent that any language could have written. */
  async function far() {
    const asked: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      asked.push(request);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port }: AddressInfo = Object(server.address());
    return { asked, url: `http://127.0.0.1:${port}/agui`, close: () => server.close() };
  }

  test("are served by name, with the chosen headers and no others", async () => {
    const agent = await far();
    const command = heddle([
      "serve",
      "--agent",
      `support=${agent.url}`,
      "--forward-header",
      "Authorization",
      "--port",
      "0",
    ]);
    const url = await ready(command);
    const run = await post(url, "support", {}, { authorization: "Bearer mine", cookie: "secret", "x-user": "ada" });
    expect(await run.text()).toMatch(/"RUN_STARTED","threadId":"t"[^]*from afar[^]*"RUN_FINISHED"/);
    expect(agent.asked).toHaveLength(1);
    expect(agent.asked[0]?.headers).toMatchObject({ authorization: "Bearer mine" });
    expect(agent.asked[0]?.headers).not.toHaveProperty("cookie");
    expect(agent.asked[0]?.headers).not.toHaveProperty("x-user");
    const log = await (await fetch(`${url}/threads/t/events?run=r`)).text();
    expect(log).toContain("from afar");
    expect(log).not.toContain("Bearer");
    expect(await stop(command)).toBe(0);
    agent.close();
  });

  test("speak the session dialect where their address is a WebSocket's, with the chosen headers", async () => {
    const asked: unknown[] = [];
    await using old = await oldSessionServer(({ say, headers, request }) => {
      asked.push([headers.authorization, headers.cookie, request.data["messages"]]);
      say("text-chunk", { text: "from the past", role: "assistant", isComplete: false }, "g1");
      say("agent-response-complete");
    });
    const command = heddle(["serve", "--agent", `past=${old.url}`, "--forward-header", "Authorization", "--port", "0"]);
    const url = await ready(command);
    const run = await post(url, "past", {}, { authorization: "Bearer mine", cookie: "secret" });
    expect(await run.text()).toMatch(/"RUN_STARTED","threadId":"t"[^]*from the past[^]*"RUN_FINISHED"/);
    expect(asked).toEqual([["Bearer mine", undefined, []]]);
    expect(await stop(command)).toBe(0);
  });

  test("have headers of their own in the configuration; one that is down is an honest failure of the run", async () => {
    const agent = await far();
    await put("heddle.config.json", {
      agents: { support: { url: agent.url, headers: { "x-key": "42" } }, gone: "http://127.0.0.1:1/" },
    });
    const command = heddle(["serve", "--port", "0"]);
    const url = await ready(command);
    await (await post(url, "support")).text();
    expect(agent.asked[0]?.headers).toMatchObject({ "x-key": "42" });
    expect(await (await post(url, "gone", { threadId: "t2" })).text()).toContain('"code":"agent-unreachable"');
    expect(await stop(command)).toBe(0);
    agent.close();
  });

  test("a model of the environment is served as assistant, said so, unless the name is taken", async () => {
    const env = { OPENAI_BASE_URL: "http://127.0.0.1:1/v1", OPENAI_MODEL: "llama" };
    const command = heddle(["serve", "--port", "0"], env);
    await ready(command);
    await command.said("assistant is the model llama, since OPENAI_BASE_URL is set.\n");
    expect(command.printed.out).toContain("with assistant\n");
    expect(await stop(command)).toBe(0);
    await put("agent.ts", agentNamed("assistant"));
    const own = heddle(["serve", "agent.ts", "--port", "0"], env);
    expect(await (await post(await ready(own), "assistant")).text()).toContain("I am assistant");
    expect(await stop(own)).toBe(0);
    const nameless = heddle(["serve", "--port", "0"], { OPENAI_API_KEY: "sk-secret" });
    await nameless.said("OPENAI_API_KEY is set and OPENAI_MODEL is not");
    expect(nameless.printed.out).not.toContain("sk-secret");
    expect(await stop(nameless)).toBe(0);
  });
});

describe("the end", () => {
  test.each(["SIGINT", "SIGTERM"] as const)("%s: runs are ended, who follows is told to come back", async (signal) => {
    const command = heddle(["serve", LOAD, "--port", "0"], { HEDDLE_SHUTDOWN_GRACE_MS: "10" });
    const url = await ready(command);
    const run = await post(url, "load", { forwardedProps: { tokens: 1000, intervalMs: 999 } });
    const following = await fetch(`${url}/threads/t/events`);
    expect(await stop(command, signal)).toBe(0);
    expect(await run.text()).toMatch(/"code":"server-closing"[^\n]*\n\n$/);
    expect(await following.text()).toMatch(/"code":"server-closing"[^\n]*\n\nretry: \d+\n\n$/);
    expect(command.printed.err).toBe("");
  });

  test("a second signal ends it at once", async () => {
    await put(
      "agent.ts",
      `import { defineAgent } from ${AGENT_MODULE};
       export const deaf = defineAgent({ name: "deaf", async run({ emit, signal }) {
         signal.addEventListener("abort", () => console.log("asked to stop"));
         await emit.text().write("busy");
         await new Promise((resolve) => setTimeout(resolve, 3_600_000));
       } });`,
    );
    const command = heddle(["serve", "agent.ts", "--port", "0"], {
      HEDDLE_CANCEL_GRACE_MS: "3600000",
      HEDDLE_SHUTDOWN_GRACE_MS: "10",
    });
    const url = await ready(command);
    await post(url, "deaf");
    command.child.kill("SIGTERM");
    await command.said("asked to stop");
    expect(await stop(command, "SIGTERM")).toBe("SIGTERM");
  });
});

describe("--watch", () => {
  test("starts anew when an agent, or the configuration, changes", async () => {
    await put("agent.ts", agentNamed("before"));
    await put("heddle.config.json", { files: ["agent.ts"], port: 0 });
    const command = heddle(["serve", "--watch"]);
    await command.said("with before\n");
    await put("agent.ts", agentNamed("after"));
    await command.said("with after\n");
    await put("second.ts", agentNamed("second"));
    await put("heddle.config.json", { files: ["agent.ts", "second.ts"], port: 0 });
    await command.said("with after, second\n");
    expect(await stop(command)).toBe(0);
    expect(command.printed.out).not.toContain("has ended");
  });

  test("what is saved while the server starts counts, and so does what an agent imports", async () => {
    await put("name.ts", `export const name = "imported";`);
    await put("later.ts", agentNamed("$").replace('"$"', "name").replace(/^/, 'import { name } from "./name.ts";'));
    await put(
      "agent.ts",
      `import { copyFileSync } from "node:fs";
       copyFileSync(new URL("later.ts", import.meta.url), new URL("agent.ts", import.meta.url));
       ${agentNamed("early")}`,
    );
    const command = heddle(["serve", "agent.ts", "--port", "0", "--watch"]);
    await command.said("with imported\n");
    await put("name.ts", `export const name = "renamed";`);
    await command.said("with renamed\n");
    expect(await stop(command, "SIGINT")).toBe(0);
  });

  test("a file that is missing or broken is waited for", async () => {
    const command = heddle(["serve", "agent.ts", "--port", "0", "--watch"]);
    await command.said("it starts again when a file changes.\n");
    await expect.poll(() => command.printed.err).toContain("There is no file agent.ts");
    await put("agent.ts", "throw new Error('not yet');");
    await command.said(/(.*starts again when a file changes\.\n){2}/);
    await expect.poll(() => command.printed.err).toContain("not yet");
    await put("agent.ts", agentNamed("mended"));
    await command.said("with mended\n");
    expect(await stop(command)).toBe(0);
  });

  test("the server ends with the command, even if that is killed, and as it would by itself", async () => {
    await put("late.ts", `console.log("loaded late");`);
    await put(
      "agent.ts",
      `import { once } from "node:events";
       import { defineAgent } from ${AGENT_MODULE};
       export const orphan = defineAgent({ name: "orphan", async run({ emit, signal }) {
         await emit.text().write("busy");
         await once(signal, "abort");
         await import("./late.ts");
       } });`,
    );
    const command = heddle(["serve", "agent.ts", "--port", "0", "--watch"], { HEDDLE_SHUTDOWN_GRACE_MS: "10" });
    const url = await ready(command);
    const run = await post(url, "orphan");
    command.child.kill("SIGKILL");
    // Its output is closed once nobody can write to it any more.
    expect(await command.ended).toBe("SIGKILL");
    expect(await run.text()).toContain('"code":"server-closing"');
    expect(command.printed).toMatchObject({ out: expect.stringContaining("loaded late\n"), err: "" });
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });
});

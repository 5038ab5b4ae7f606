/**
 * The real command, as a process: what it prints, how it ends, and that the stock client can use what it serves.
 * Needs dist/, which `npm test` builds first.
 */
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { HttpAgent } from "@ag-ui/client";
import { describe, expect, test } from "vitest";
import { COMMAND, heddle, readyUrl, runNode } from "./server-process.ts";
import type { Running } from "./server-process.ts";

const LOAD = "examples/agents/load.ts";

/** Runs the command as if Node were of another version. */
const onNode = (version: string, ...args: string[]): Running => {
  const code = `Object.defineProperty(process, "version", { value: ${JSON.stringify(version)} })`;
  return runNode(["--import", `data:text/javascript,${encodeURIComponent(code)}`, COMMAND, ...args]);
};

async function listenAnywhere() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port }: AddressInfo = Object(server.address());
  return { server, port };
}

const post = (url: string, runId: string, forwardedProps: object): Promise<Response> =>
  fetch(`${url}/agents/load`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId: "t", runId, messages: [], protocolVersion: "1.0", forwardedProps }),
  });

describe("heddle serve", () => {
  test("serves the load agent to the stock HttpAgent: 500 tokens, the exact text", async () => {
    const command = heddle(["serve", LOAD, "--port", "0"]);
    const url = await readyUrl(command);
    const agent = new HttpAgent({ url: `${url}/agents/load`, threadId: "t1" });
    const { newMessages } = await agent.runAgent({ runId: "r1", forwardedProps: { tokens: 500 } });
    const words = Array.from({ length: 500 }, (_, index) => `t${index + 1}`).join(" ");
    expect(newMessages).toMatchObject([{ role: "assistant", content: words }]);
    command.child.kill("SIGTERM");
    expect(await command.ended).toBe(0);
    expect(command.printed).toEqual({ out: `Heddle is ready at ${url} with load\n`, err: "" });
  });

  test.each(["SIGINT", "SIGTERM"] as const)("%s closes cleanly, also while a run is watched", async (signal) => {
    const command = heddle(["serve", LOAD], {
      HEDDLE_PORT: "0",
      HEDDLE_HOST: "127.0.0.1",
      HEDDLE_SHUTDOWN_GRACE_MS: "10",
    });
    const url = await readyUrl(command);
    const response = await post(url, "r", { tokens: 1000, intervalMs: 999 });
    command.child.kill(signal);
    expect(await response.text()).toMatch(/"code":"server-closing"[^}]*\}\n\n$/);
    expect(await command.ended).toBe(0);
    expect(command.printed.err).toBe("");
  });

  test("keeps the log in a file: after kill -9 everything that was shown is there, and the thread goes on", async () => {
    const folder = await mkdtemp(join(tmpdir(), "heddle-cli-"));
    const env = { HEDDLE_STORE: `sqlite:${join(folder, "heddle.db")}` };
    const killed = heddle(["serve", LOAD, "--port", "0"], env);
    const url = await readyUrl(killed);
    await (await post(url, "r1", { tokens: 200 })).text();
    const cut = await post(url, "r2", { tokens: 1000, intervalMs: 2 });
    let seen = "";
    const reading = (async (): Promise<void> => {
      for await (const chunk of cut.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        seen += chunk;
        if (seen.includes('"delta":" t20"')) killed.child.kill("SIGKILL");
      }
    })();
    await expect(reading).rejects.toThrow("terminated");
    await killed.ended;
    const again = heddle(["serve", LOAD, "--port", "0"], env);
    const back = await readyUrl(again);
    const log = await (await fetch(`${back}/threads/t/events?run=r2`)).text();
    // Whoever posts nothing of what was before is told that first, in frames without a cursor but for the last.
    const live = seen.slice(seen.indexOf("\nid: ", seen.indexOf("\nid: ") + 1) + 1, seen.lastIndexOf("\n\n") + 2);
    expect(live).toContain('"delta":" t20"');
    expect(log).toContain(live);
    expect(log).toMatch(/"code":"worker-lost"[^\n]*\n\n$/);
    expect(await (await post(back, "r3", { tokens: 3 })).text()).toContain('"type":"RUN_FINISHED"');
    const second = heddle(["serve", LOAD, "--port", "0"], env);
    expect(await second.ended).toBe(2);
    expect(second.printed.err).toContain("store-locked");
    again.child.kill("SIGTERM");
    expect(await again.ended).toBe(0);
    await rm(folder, { recursive: true });
  });

  test("takes the next port where 5000 is taken and was not asked for, and says so", async () => {
    const taken = createServer().listen(5000, "127.0.0.1");
    // Whoever has it, it is taken. No other test may use it: it would be free again in between.
    await Promise.race([once(taken, "listening"), new Promise((resolve) => taken.once("error", resolve))]);
    const command = heddle(["serve", LOAD]);
    const url = await readyUrl(command);
    expect(Number(new URL(url).port)).toBeGreaterThan(5000);
    expect(command.printed.out).toContain("(port 5000 is taken)");
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    taken.close();
    command.child.kill("SIGTERM");
    expect(await command.ended).toBe(0);
  });

  test("fails where the port that was asked for is taken", async () => {
    const { server, port } = await listenAnywhere();
    const command = heddle(["serve", LOAD, "--port", String(port)]);
    expect(await command.ended).toBe(2);
    expect(command.printed.err).toContain(`Port ${port} of localhost is taken`);
    expect(command.printed.out).toBe("");
    server.close();
  });

  test("a flag wins over the environment, whatever that holds", async () => {
    const command = heddle(["serve", LOAD, "--port", "0"], { HEDDLE_PORT: "nonsense" });
    await readyUrl(command);
    command.child.kill("SIGTERM");
    expect(await command.ended).toBe(0);
  });

  test("serves beyond this machine only where --no-auth says so", async () => {
    const refused = heddle(["serve", LOAD, "--port", "0"], { HEDDLE_HOST: "0.0.0.0" });
    expect(await refused.ended).toBe(2);
    expect(refused.printed.err).toContain("--no-auth");
    const meant = heddle(["serve", LOAD, "--port", "0", "--host", "0.0.0.0", "--no-auth"]);
    expect(await readyUrl(meant)).toMatch(/^http:\/\/localhost:\d+$/);
    meant.child.kill("SIGTERM");
    expect(await meant.ended).toBe(0);
  });

  test("serves several agents of several files, and none where no file is named", async () => {
    const folder = await mkdtemp(join(tmpdir(), "heddle-cli-"));
    const file = join(folder, "agents.ts");
    const agentModule = JSON.stringify(pathToFileURL("dist/agent/index.js").href);
    await writeFile(
      file,
      `import { defineAgent } from ${agentModule};
       type Name = string;
       const named = (name: Name) => defineAgent({ name, run() {} });
       export const one = named("one");
       export const two = named("two");`,
    );
    const command = heddle(["serve", LOAD, file, "--port", "0"]);
    expect(await (await fetch(`${await readyUrl(command)}/agents`)).json()).toMatchObject({
      agents: [{ name: "load" }, { name: "one" }, { name: "two" }],
    });
    const empty = heddle(["serve", "--port", "0"]);
    await readyUrl(empty);
    expect(empty.printed.out).toContain("without agents");
    for (const { child, ended } of [command, empty]) {
      child.kill("SIGTERM");
      expect(await ended).toBe(0);
    }
    await rm(folder, { recursive: true });
  });
});

describe("heddle", () => {
  test("helps, tells its version, and exits with 2 on misuse", async () => {
    for (const [args, code] of [
      [["--help"], 0],
      [["serve", "--help"], 0],
      [["--version"], 0],
      [[], 2],
      [["weave"], 2],
      [["serve", "--colour"], 2],
      [["serve", "--port", "abc"], 2],
    ] as const) {
      const command = heddle(args);
      expect([args, await command.ended]).toEqual([args, code]);
      const { out, err } = command.printed;
      expect(code === 0 ? err : out).toBe("");
      expect(code === 0 ? out : err).not.toBe("");
    }
  });

  test("says in one sentence what to do where Node is too old", async () => {
    for (const version of ["v22.17.9", "v20.20.2", "v12.22.0"]) {
      const command = onNode(version, "serve", LOAD);
      expect(await command.ended).toBe(1);
      expect(command.printed.out).toBe("");
      expect(command.printed.err).toMatch(
        /^Heddle needs Node 22\.18 or newer, and this is v[\d.]+: install [^\n]+\.\n$/,
      );
    }
  });

  test("asks for the Node that package.json asks for", async () => {
    const { engines }: { engines: { node: string } } = JSON.parse(await readFile("package.json", "utf8"));
    expect(engines.node).toBe(">=22.18");
    for (const version of ["v22.18.0", "v23.0.0"]) expect(await onNode(version, "--version").ended).toBe(0);
  });

  test("begins with a file that an old Node can parse", async () => {
    const code = await readFile(COMMAND, "utf8");
    expect(code.startsWith("#!/usr/bin/env node\n")).toBe(true);
    const statements = code.replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "");
    expect(statements).not.toMatch(/=>|`|\?\.|\?\?|\b(const|let|class|async|await)\b|^\s*import\s+["{*\w]/m);
  });
});

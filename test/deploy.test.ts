/**
 * What is committed for running Heddle elsewhere: the files of deploy/ fit the package, as far as that can be seen without a
 * container engine, and the guide on backups is right, for its commands are run here.
 *
 * What stands in front of servers is tried for real by scripts/test-nginx.ts.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startGates } from "./gate.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { attachTo, framesOf, postRun } from "./sse-client.ts";
import type { Frame } from "./sse-client.ts";

const read = (file: string): string => readFileSync(file, "utf8");
const all = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, found]) => found ?? "");

const dockerfile = read("deploy/Dockerfile");
const compose = read("deploy/compose.yaml");
const caddyfile = read("deploy/Caddyfile");
const service = read("deploy/heddle.service");

const manifest: { readonly bin: Readonly<Record<string, string>>; readonly engines: { readonly node: string } } =
  JSON.parse(read("package.json"));

/** Instructions of the Dockerfile, each on one line. */
const instructions = dockerfile
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => /^[A-Z]/.test(line));
const argumentsOf = (name: string): readonly string[] =>
  instructions.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));

describe("the image", () => {
  const copied = argumentsOf("COPY").filter((line) => !line.startsWith("--from"));
  const sources = copied.flatMap((line) => line.split(" ").slice(0, -1));

  test("copies what is there, and the context holds that and nothing else", () => {
    expect(sources.length).toBeGreaterThan(4);
    expect(sources.filter((source) => !existsSync(source))).toEqual([]);
    const context = read("deploy/Dockerfile.dockerignore")
      .split("\n")
      .filter((line) => /^[^#]/.test(line));
    expect(context[0]).toBe("*");
    expect(context.slice(1).toSorted()).toEqual(sources.map((source) => `!${source}`).toSorted());
  });

  test("takes from the build what the package needs to run", () => {
    const taken = argumentsOf("COPY").flatMap((line) => /^--from=build \/app\/(\S+) /.exec(line)?.[1] ?? []);
    expect(taken.toSorted()).toEqual(["dist", "node_modules", "package.json"]);
    expect(argumentsOf("RUN").join("\n")).toContain("npm prune --omit=dev");
  });

  test("runs the command of the package, as a process that is told to stop, not as root", () => {
    const [entry = ""] = argumentsOf("ENTRYPOINT");
    expect(JSON.parse(entry)).toEqual(["node", manifest.bin["heddle"]]);
    expect(argumentsOf("CMD")).toEqual(['["serve"]']);
    expect(argumentsOf("USER")).toEqual(["node"]);
    expect(instructions.findLastIndex((line) => line.startsWith("USER"))).toBeLessThan(
      instructions.findIndex((line) => line.startsWith("ENTRYPOINT")),
    );
  });

  test("is on a Node that the package runs on", () => {
    const versions = argumentsOf("FROM").map((line) => Number(/^node:(\d+)-/.exec(line)?.[1]));
    const [needed] = all(manifest.engines.node, />=(\d+)/g);
    expect(new Set(versions).size).toBe(1);
    expect(versions[0]).toBeGreaterThan(Number(needed));
  });

  test("asks the port that it listens on whether it is well, and says when it is not", () => {
    const [check = ""] = argumentsOf("HEALTHCHECK");
    const [node, ...args]: readonly string[] = JSON.parse(check.slice(check.indexOf("[")));
    expect(node).toBe("node");
    // Nobody listens on port 1.
    const asked = spawnSync(process.execPath, args, { env: { ...process.env, HEDDLE_PORT: "1" } });
    expect(asked.status).toBe(1);
    expect(argumentsOf("EXPOSE")).toEqual([/HEDDLE_PORT=(\d+)/.exec(dockerfile)?.[1]]);
  });

  test("answers the health check of a server that is well", async () => {
    const server = await startServer();
    onTestFinished(() => server.kill());
    const [check = ""] = argumentsOf("HEALTHCHECK");
    const [, ...args]: readonly string[] = JSON.parse(check.slice(check.indexOf("[")));
    const env = { ...process.env, HEDDLE_PORT: new URL(server.url).port };
    expect(spawnSync(process.execPath, args, { env }).status).toBe(0);
  });
});

describe("settings", () => {
  /** Those of issue 8 that are not in the table yet. */
  const known = new Set([...all(read("src/cli/settings.ts"), /variable: "(HEDDLE_\w+)"/g), "HEDDLE_ENV"]);

  test.each([
    "deploy/Dockerfile",
    "deploy/compose.yaml",
    "deploy/heddle.env.example",
    "deploy/heddle.service",
    "deploy/Caddyfile",
    "deploy/nginx.conf",
    "deploy/nginx-heddle.conf",
    "docs/deployment.md",
    "docs/backup.md",
  ])("that %s names are settings of the server", (file) => {
    expect(known.size).toBeGreaterThan(20);
    expect(all(read(file), /\b(HEDDLE_[A-Z_]+)\b/g).filter((name) => !known.has(name))).toEqual([]);
  });

  test("that a compose file asks for are in the example of the env file", () => {
    const asked = new Set(all(compose, /\$\{(\w+)/g));
    const offered = all(read("deploy/heddle.env.example"), /^(\w+)=/gm);
    expect([...asked].toSorted()).toEqual(offered.toSorted());
  });
});

describe("what belongs together", () => {
  test("the compose file builds the image that is there, from where its paths are right", () => {
    expect(compose).toContain("context: ..\n");
    expect(all(compose, /dockerfile: (\S+)/g)).toEqual(["deploy/Dockerfile"]);
    const mounted = all(compose, /- (\.{1,2}\/[^:]+):/g).map((path) => join("deploy", path));
    expect(mounted.length).toBeGreaterThan(1);
    expect(mounted.filter((path) => !existsSync(path))).toEqual([]);
    const [agents = ""] = all(compose, /HEDDLE_FILES: (\S+)/g);
    expect(existsSync(join("examples", agents))).toBe(true);
  });

  test("the proxy asks the servers of the compose file, on the port of the image", () => {
    const servers = all(compose, /^ {2}(heddle-\d): \*heddle$/gm);
    const [port] = argumentsOf("EXPOSE");
    expect(servers.length).toBe(2);
    expect(all(caddyfile, /^\treverse_proxy (.+) \{$/gm)).toEqual([servers.map((name) => `${name}:${port}`).join(" ")]);
  });

  test("whoever stops a server waits longer than the server does", () => {
    const graceMs = Number(/shutdownGraceMs \?\? (\d+)/.exec(read("src/server/create-heddle.ts"))?.[1]);
    expect(graceMs).toBeGreaterThan(0);
    for (const [found] of [all(service, /^TimeoutStopSec=(\d+)$/gm), all(compose, /stop_grace_period: (\d+)s/g)]) {
      expect(Number(found) * 1000).toBeGreaterThan(graceMs + 1000);
    }
  });

  test("a proxy waits longer than the pause between two heartbeats, and takes the bodies that the server takes", () => {
    const heartbeatMs = Number(
      /keepAliveMs = ([\d_]+)/.exec(read("src/server/fastify/heddle-plugin.ts"))?.[1]?.replaceAll("_", ""),
    );
    const [silence] = all(read("deploy/nginx-heddle.conf"), /^proxy_read_timeout (\d+)s;$/gm);
    expect(heartbeatMs).toBeGreaterThan(0);
    expect(Number(silence) * 1000).toBeGreaterThan(2 * heartbeatMs);
    expect(all(read("deploy/nginx.conf"), /client_max_body_size (\d+)m;/g)).toEqual(["17", "257"]);
  });

  test("the service runs the command of the package", () => {
    expect(service).toContain(`/node_modules/heddle/${manifest.bin["heddle"]} serve\n`);
  });

  test("guides link to what is there", () => {
    for (const guide of ["deployment.md", "backup.md"]) {
      const links = all(read(join("docs", guide)), /\]\((?!https?:|#)([^)#]+)/g);
      expect(links.length).toBeGreaterThan(0);
      expect(links.filter((link) => !existsSync(join("docs", link)))).toEqual([]);
    }
  });
});

/** The block of a guide that has these words. */
function commandsWith(words: string): string {
  const [commands, ...others] = all(read("docs/backup.md"), /```sh\n(.*?)```/gs).filter((block) =>
    block.includes(words),
  );
  if (commands === undefined || others.length > 0) throw new Error(`One block of the guide has to say ${words}.`);
  return commands;
}

/** Runs commands of a guide in a folder. */
function runIn(folder: string, commands: string): void {
  const env = { ...process.env, PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) };
  const { status, stderr } = spawnSync("sh", ["-euc", commands], { cwd: folder, env, encoding: "utf8" });
  expect(stderr.replaceAll(/^.*(ExperimentalWarning|--trace-warnings).*$/gm, "").trim()).toBe("");
  expect(status).toBe(0);
}

const THREADS = ["one", "two", "three"] as const;
const isText = ({ event: { type } }: Frame): boolean => type === "TEXT_MESSAGE_CONTENT";

async function start(folder: string): Promise<ServerProcess> {
  const server = await startServer({ files: ["test/crash-agents.ts"], store: `sqlite:${join(folder, "heddle.db")}` });
  onTestFinished(() => server.kill());
  return server;
}

/** Reads so many words more. */
async function take(frames: AsyncIterator<Frame, void, undefined>, words: number): Promise<readonly Frame[]> {
  const got: Frame[] = [];
  for (let count = 0; count < words;) {
    const { done, value } = await frames.next();
    if (done === true) throw new Error("The run is over.");
    got.push(value);
    if (isText(value)) count += 1;
  }
  return got;
}

async function rest(frames: AsyncIterable<Frame>): Promise<readonly Frame[]> {
  const got: Frame[] = [];
  for await (const frame of frames) got.push(frame);
  return got;
}

const logOf = async (url: string, threadId: string, runId = "run"): Promise<readonly Frame[]> =>
  rest(framesOf(await attachTo(url, threadId, runId)));
const eventsIn = (frames: readonly Frame[]): readonly Frame["event"][] => frames.map(({ event }) => event);

describe("a SQLite database, backed up in the middle of runs as the guide says, and restored", () => {
  test("has every thread as it was; runs that were running are lost, and old cursors are reset", async () => {
    const gates = await startGates();
    const folder = mkdtempSync(join(tmpdir(), "heddle-backup-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const server = await start(folder);
    const forwardedProps = { gates: gates.url };
    const post = (threadId: string): Promise<Response> => {
      const messages = [{ id: "asked", role: "user", content: "Count." }];
      return postRun(server.url, "counts", { threadId, runId: "run", messages, forwardedProps });
    };
    // One thread is over before; the others share a gate.
    const over = { threadId: "over", runId: "over" };
    const toEnd = framesOf(await postRun(server.url, "counts", { ...over, messages: [], forwardedProps }));
    const begun = await take(toEnd, 5);
    gates.open("over");
    const whole = [...begun, ...(await rest(toEnd))];
    const streams = await Promise.all(THREADS.map(async (thread) => framesOf(await post(thread))));
    const before = await Promise.all(streams.map((frames) => take(frames, 20)));
    runIn(folder, commandsWith("VACUUM INTO"));
    const after = await Promise.all(streams.map((frames) => take(frames, 20)));
    await server.kill();

    runIn(folder, commandsWith("randomblob"));
    const restored = await start(folder);
    for (const [index, thread] of THREADS.entries()) {
      const log = await logOf(restored.url, thread);
      const shown = eventsIn([...(before[index] ?? []), ...(after[index] ?? [])]);
      const logged = eventsIn(log);
      expect(logged.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "worker-lost" });
      const words = logged.filter((event) => event.type === "TEXT_MESSAGE_CONTENT");
      // All that was shown before the backup began, and of the rest what was there: the same words in the same order.
      expect(words.length).toBeGreaterThanOrEqual(20);
      const common = Math.min(
        shown.length,
        logged.findIndex((event) => event.type === "TEXT_MESSAGE_END"),
      );
      expect(logged.slice(0, common)).toEqual(shown.slice(0, common));
      const cursor = after[index]?.at(-1)?.id;
      const attached = await attachTo(restored.url, thread, "run", cursor);
      expect(attached.headers.get("agui-resume")).toBe("reset");
      await attached.body?.cancel();
    }
    const finished = await logOf(restored.url, over.threadId, over.runId);
    expect(finished.at(-1)?.event.type).toBe("RUN_FINISHED");
    expect(eventsIn(finished)).toEqual(eventsIn(whole));
    gates.open("next");
    const next = { threadId: "one", runId: "next", forwardedProps };
    const messages = [{ id: "more", role: "user", content: "Go on." }];
    const goesOn = await (await postRun(restored.url, "counts", { ...next, messages })).text();
    expect(goesOn).toContain('"type":"RUN_FINISHED"');
  });
});

/** Seeds 000 and 003 on working with the project: one test by its name, what parts depend on, a configuration file. */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { readFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { deltasOf, eventsOf, post } from "./serve-agents.ts";
import { startServer } from "./server-process.ts";

test("000 testing: a single test is run by its name, with verbose output", () => {
  const args = ["run", "src/cli/confirm.test.ts", "-t", "the end of the input is a no", "--reporter=verbose"];
  const { status, stdout } = spawnSync("node_modules/.bin/vitest", args, {
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
  });
  expect(status).toBe(0);
  const passed = stdout.split("\n").filter((line) => line.includes("✓"));
  expect(passed).toEqual([expect.stringContaining("src/cli/confirm.test.ts > the end of the input is a no")]);
  expect(stdout).toMatch(/Tests +1 passed \| \d+ skipped/);
  // `npm test` hands its arguments on.
  expect(readFileSync("scripts/test.ts", "utf8")).toContain("...process.argv.slice(2)");
});

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

test("003 deps.1, deps.3: every dependency is an exact version, which the lock file resolves", () => {
  const manifest: Manifest = JSON.parse(readFileSync("package.json", "utf8"));
  const lock: {
    readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
  } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const wanted = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(wanted.length).toBeGreaterThan(20);
  for (const [name, range] of wanted) {
    const version = range.replace(/^npm:.*@/, "");
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.]+)?$/)]);
    expect([name, lock.packages[`node_modules/${name}`]]).toMatchObject([
      name,
      { version, integrity: expect.any(String) },
    ]);
  }
});

/** Rooms and packages that an entry is made of. */
async function madeOf(entry: string): Promise<readonly string[]> {
  const bundled = await build({ entryPoints: [entry], bundle: true, write: false, metafile: true, platform: "node" });
  const names = Object.keys(bundled.metafile.inputs).map((input) =>
    input.replace(/^node_modules\/((?:@[^/]+\/)?[^/]+).*|^(src\/[^/]+).*/, "$1$2"),
  );
  return [...new Set(names)].toSorted();
}

test("003 deps.data-objects, deps.protocol: data need the language's own JSON, their meaning and the server only what is below them", async () => {
  const data = ["eventsource-parser", "src/protocol"];
  expect(await madeOf("src/protocol/index.ts")).toEqual(data);
  expect(await madeOf("src/stream/index.ts")).toEqual([...data, "src/stream"]);
  const rooms = (await madeOf("src/server/index.ts")).filter((name) => name.startsWith("src/"));
  expect(rooms).toEqual(["src/agent", "src/protocol", "src/server", "src/store", "src/stream"]);
});

interface Platform {
  readonly engines?: { readonly node?: string };
}

/** Whether a range of versions, as packages write it, allows a version of Node. */
const allows = (range: string, [major, minor]: readonly [number, number]): boolean =>
  range.split("||").some((part) => {
    const [, sign = "", low = "0", within = "0"] = /^\s*(>=|\^)\s*(\d+)(?:\.(\d+))?/.exec(part) ?? [];
    const isAbove = major > Number(low) || (major === Number(low) && minor >= Number(within));
    return sign !== "" && isAbove && (sign === ">=" || major === Number(low));
  });

test("003 deps.2, dotnet.4: every package that ours needs works on the oldest Node that we name, and on the one that we run on", () => {
  const manifest: Manifest & Platform = JSON.parse(readFileSync("package.json", "utf8"));
  const [, major = "", minor = ""] = /^>=(\d+)\.(\d+)$/.exec(manifest.engines?.node ?? "") ?? [];
  const [running = 0] = (manifest.devDependencies["node"] ?? "").split(".").map(Number);
  expect([Number(major), Number(minor)]).toEqual([22, 18]);
  // An even number is a release that is kept up for years.
  expect([running % 2, running > Number(major)]).toEqual([0, true]);
  for (const name of Object.keys(manifest.dependencies)) {
    const { engines }: Platform = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
    const range = engines?.node ?? ">=0";
    expect([name, allows(range, [Number(major), Number(minor)]), allows(range, [running, 0])]).toEqual([
      name,
      true,
      true,
    ]);
  }
  expect(allows("^20.19.0 || >=22.19.0", [22, 18])).toBe(false);
});

test("003 deps.host: the host is made of the server below it, Fastify and its WebSocket plugin", async () => {
  const host = new Set(await madeOf("src/server/fastify/index.ts"));
  const below = new Set(await madeOf("src/server/index.ts"));
  const more = [...host].filter((name) => !below.has(name) && !name.startsWith("("));
  expect(more).toContain("fastify");
  expect(more).toContain("@fastify/websocket");
  expect([...host].filter((name) => name.startsWith("src/"))).toEqual(
    [...below].filter((name) => name.startsWith("src/")),
  );
  const named = new Set<string>();
  for (const file of readdirSync("src/server/fastify").filter((name) => /(?<!\.test)\.ts$/.test(name))) {
    const text = readFileSync(`src/server/fastify/${file}`, "utf8");
    for (const [, from = ""] of text.matchAll(/from "([^".][^"]*)"/g)) if (!from.startsWith("node:")) named.add(from);
  }
  expect([...named].toSorted()).toEqual(["@fastify/websocket", "fastify"]);
});

test("003 sample/config.1, config.2, config.3: a file names agents and their paths, and they are made and mapped", async () => {
  const folder = await mkdtemp(join(tmpdir(), "heddle-seed-config-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "heddle.config.json");
  const files = ["chat", "reasoning"].map((name) => resolve(`examples/agents/${name}.ts`));
  const mounts = { "/api/ag-ui/chat": "chat", "/api/ag-ui/reasoning": "reasoning" };
  await writeFile(file, JSON.stringify({ files, mounts }));
  const server = await startServer({ args: ["--config", file] });
  const ask = async (path: string, content: string) =>
    eventsOf(post(`${server.url}${path}`, { threadId: content, messages: [{ id: "u1", role: "user", content }] }));
  const said = await ask("/api/ag-ui/chat", "I like looms");
  expect(deltasOf(said, "TEXT_MESSAGE_CONTENT")).toContain("3 words");
  const thought = await ask("/api/ag-ui/reasoning", "Is 91 prime?");
  expect(deltasOf(thought, "REASONING_MESSAGE_CONTENT")).toContain("7 divides it");
  expect(await server.stop()).toBe(0);
});

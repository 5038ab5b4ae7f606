/**
 * The lines that the page Connect gives: what is TypeScript type-checks against the built package as a user has it, with and
 * without a token, and what needs nobody else's service runs, the clients against an agent of these lines.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SNIPPETS } from "../../inspector/pages/connect/snippets.ts";
import type { Place } from "../../inspector/pages/connect/snippets.ts";
import { readyUrl, runNode } from "../server-process.ts";

const files = Object.values(SNIPPETS).flatMap((snippets) => snippets.flatMap((snippet) => snippet.files));
const AGENTS = ["agent.ts", "messages.ts", "events.ts", "graph.ts"];
const run = promisify(execFile);

let folder: string;
let place: Place;

const write = async (under: string, given: Place): Promise<void> => {
  for (const { name, code } of files) {
    await mkdir(dirname(join(folder, under, name)), { recursive: true });
    await writeFile(join(folder, under, name), code(given));
  }
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-connect-"));
  await mkdir(join(folder, "node_modules"));
  await symlink(resolve("."), join(folder, "node_modules", "heddle"));
  for (const name of ["react", "@types", "@ag-ui", "@langchain", "ai", "openai"]) {
    await symlink(resolve("node_modules", name), join(folder, "node_modules", name));
  }
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await write("given", { url: "https://heddle.example", agent: "assistant", authenticated: true });
  // Each agent's lines call theirs `assistant`: one server has one of that name, so the others are called after their file.
  for (const { name, code } of files.filter((file) => AGENTS.includes(file.name))) {
    const named = code({ url: "", agent: "", authenticated: false }).replace('"assistant"', `"${name.split(".")[0]}"`);
    await writeFile(join(folder, name), named);
  }
  const server = runNode([
    "dist/cli/heddle.js",
    "serve",
    ...AGENTS.map((name) => join(folder, name)),
    "--port",
    "0",
    "--store",
    "memory:",
  ]);
  place = { url: await readyUrl(server), agent: "agent", authenticated: false };
  await write("open", place);
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test("every file of TypeScript type-checks, with a token and without", async () => {
  const typed = files.map(({ name }) => name).filter((name) => /\.tsx?$/.test(name));
  expect(new Set(typed).size).toBe(typed.length);
  expect(typed.length).toBeGreaterThan(12);
  const options = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "--target", "es2024"];
  const modules = ["--module", "nodenext", "--moduleDetection", "force", "--jsx", "react-jsx", "--types", "node"];
  const paths = ["given", "open"].flatMap((under) => typed.map((name) => join(under, name)));
  const checked = run(resolve("node_modules/.bin/tsc"), [...options, ...modules, ...paths], { cwd: folder });
  expect(await checked.catch(({ stdout }: { stdout: string }) => ({ stdout }))).toMatchObject({ stdout: "" });
}, 60_000);

test.each(["talk.ts", "stock.ts", "resumable.ts", "start.ts", "socket.ts"])(
  "%s hears what the agent says",
  async (name) => {
    const { stdout } = await run(process.execPath, [join("open", name)], { cwd: folder, timeout: 50_000 });
    expect(stdout.replaceAll("\n", "")).toMatch(/You.*said:.*Hello|2 messages/s);
  },
);

test("the lines for curl start a run and come back to it", async () => {
  const started = await run("sh", [join("open", "run.sh")], { cwd: folder });
  expect(started.stdout).toContain("RUN_FINISHED");
  const first = /^id: (?<id>\S+)/m.exec(started.stdout)?.groups?.["id"] ?? "";
  const code = files.find(({ name }) => name === "again.sh")?.code(place) ?? "";
  await writeFile(join(folder, "again.sh"), code.replace("LAST_EVENT_ID", first));
  const again = await run("sh", ["again.sh"], { cwd: folder });
  expect(again.stdout).toContain("RUN_FINISHED");
  expect(again.stdout).not.toContain("RUN_STARTED");
});

test.each(["messages", "events", "graph"])("the agent %s answers", async (agent) => {
  const body = JSON.stringify({ threadId: agent, runId: "r", messages: [{ id: "m", role: "user", content: "Hello" }] });
  const headers = { "content-type": "application/json" };
  const answer = await (await fetch(`${place.url}/agents/${agent}`, { method: "POST", headers, body })).text();
  expect(answer).toMatch(/Hello/);
  expect(answer).toContain("RUN_FINISHED");
});

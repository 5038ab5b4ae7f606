/**
 * docs/recipes.md: every block type-checks against the built package as a user has it, and what can run in Node runs, against
 * the page's own agents on one server. The model is a script, and addresses differ; all else is the page's.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connect } from "heddle/client";
import { defineAgent } from "heddle/agent";
import { createHeddle } from "heddle/server";
import { heddleHandler } from "heddle/server/fetch";
import { blocksOf, typedBlocksIn } from "./docs-blocks.ts";
import { readyUrl, runNode } from "./server-process.ts";

const PAGE = "docs/recipes.md";
const blocks = blocksOf(PAGE);

/** Calls the tool that the words ask for, and tells what came of it. */
const SCRIPTED = `import type { Model } from "heddle/agent";
const PATTERNS = { delete_file: /Delete (?<path>\\S+)/, show_city: /Show me (?<city>\\S+)/ };
export const model: Model = async function* ({ messages, tools }) {
  const last = messages.at(-1);
  const messageId = crypto.randomUUID();
  if (last?.role === "tool") return yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta: "It says: " + String(last.content) };
  for (const [toolCallName, pattern] of Object.entries(PATTERNS)) {
    const args = pattern.exec(String(last?.content))?.groups;
    if (args === undefined || !tools.some(({ name }) => name === toolCallName)) continue;
    const toolCallId = crypto.randomUUID();
    yield { type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId: messageId };
    yield { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(args) };
    yield { type: "TOOL_CALL_END", toolCallId };
  }
};
`;
const AGENT = `import { defineAgent } from "heddle/agent";
export const assistant = defineAgent({
  name: "assistant",
  run: ({ input, emit }) => emit.text().write("You said: " + String(input.messages.at(-1)?.content)),
});
`;

let folder: string;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-recipes-"));
  await mkdir(join(folder, "node_modules"));
  await symlink(resolve("."), join(folder, "node_modules", "heddle"));
  for (const name of ["react", "jose", "@types", "@ag-ui"]) {
    await symlink(resolve("node_modules", name), join(folder, "node_modules", name));
  }
  const given = { "package.json": '{ "type": "module" }', "agent.ts": AGENT };
  for (const [name, code] of [...blocks, ...Object.entries(given)]) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), code);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("every block of TypeScript has a file's name, and all of them type-check", async () => {
  const files = [...blocks.keys()].filter((name) => /\.tsx?$/.test(name));
  expect(files).toHaveLength(typedBlocksIn(PAGE));
  const options = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "--target", "es2024"];
  const modules = ["--module", "nodenext", "--allowImportingTsExtensions", "--jsx", "react-jsx", "--types", "node"];
  const checked = promisify(execFile)(
    resolve("node_modules/.bin/tsc"),
    [...options, ...modules, ...files, "agent.ts"],
    { cwd: folder },
  );
  expect(await checked.catch(({ stdout }: { stdout: string }) => ({ stdout }))).toMatchObject({ stdout: "" });
});

describe("what runs", () => {
  beforeAll(async () => {
    await writeFile(join(folder, "model.ts"), SCRIPTED);
    const files = ["agent.ts", "careful.ts", "planner.ts"].map((name) => join(folder, name));
    const server = runNode(["dist/cli/heddle.js", "serve", ...files, "--port", "0"]);
    url = await readyUrl(server);
  });

  test.each<[string, string[]]>([
    [
      "approve.ts",
      ["interrupted", expect.stringContaining("delete_file"), "finished It says: Deleted /tmp/report.txt."],
    ],
    ["browser-tool.ts", ["It says: The map shows Ulm."]],
    ["plan.ts", ['{"steps":[{"title":"Think","done":true}]}', '{"steps":[{"title":"Act","done":true}]}']],
    ["branch.ts", ["Good evening | You said: Good evening", "Hello | You said: Hello", "2 branches"]],
    ["stock.ts", ["You said: Hello", "Hello | You said: Hello"]],
    ["guarded.ts", ["finished", "thread-unknown", "unauthenticated"]],
  ])("%s prints what it should", async (name, lines) => {
    const code = (await readFile(join(folder, name), "utf8")).replaceAll("http://localhost:5000", url);
    await writeFile(join(folder, name), code);
    const { stdout } = await promisify(execFile)(process.execPath, [name], { cwd: folder, timeout: 50_000 });
    expect(stdout.trimEnd().split("\n")).toEqual(lines);
  });

  test("the route of Next.js answers by its own functions, under its own path", async () => {
    const route = pathToFileURL(join(folder, "app/ai/[...path]/route.ts")).href;
    const input = JSON.stringify({
      threadId: "t",
      runId: "r",
      messages: [{ id: "m", role: "user", content: "Hello" }],
    });
    const code = `const { GET, POST, runtime } = await import(${JSON.stringify(route)});
const headers = { "content-type": "application/json" };
const init = { method: "POST", headers, body: ${JSON.stringify(input)} };
const answer = await POST(new Request("http://localhost:3000/ai/agents/assistant", init));
console.log(runtime, answer.headers.get("content-location"), (await answer.text()).includes("You said: Hello"));
console.log((await GET(new Request("http://localhost:3000/ai/threads/t"))).status);
process.exit();`;
    const args = ["--input-type=module", "-e", code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(stdout).toBe("nodejs /ai/threads/t/runs/r true\n200\n");
  });
});

test("the bridge for Express serves a client, and a reader that leaves", async () => {
  const { nodeHandler }: { nodeHandler: (handle: unknown) => Parameters<typeof createServer>[1] } = await import(
    /* @vite-ignore */ pathToFileURL(join(folder, "node-handler.ts")).href
  );
  const go = Promise.withResolvers<void>();
  const slow = defineAgent({
    name: "slow",
    async run({ emit }) {
      const reply = emit.text();
      await reply.write("First, ");
      await go.promise;
      await reply.write("then.");
    },
  });
  const heddle = createHeddle({ agents: [slow] });
  const server = createServer(nodeHandler(heddleHandler(heddle, { prefix: "/ai" }))).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    await heddle.close();
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  const leaving = connect(`http://127.0.0.1:${port}/ai`);
  for await (const { type } of leaving.thread("t").run("slow", "Go")) if (type === "TEXT_MESSAGE_CONTENT") break;
  leaving.close();
  const client = connect(`http://127.0.0.1:${port}/ai`);
  onTestFinished(() => client.close());
  const thread = client.thread("t");
  expect((await thread.restore()).run.status).toBe("running");
  go.resolve();
  const types: string[] = [];
  for await (const { event } of thread.history({ follow: true, run: thread.tip ?? "" })) types.push(event.type);
  expect(types.at(-1)).toBe("RUN_FINISHED");
  expect((await thread.restore()).messages.at(-1)).toMatchObject({ role: "assistant", content: "First, then." });
});

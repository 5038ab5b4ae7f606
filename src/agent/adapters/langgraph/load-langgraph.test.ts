/** The adapter where the framework is not installed: it loads, streams are still read, and an agent says what to install. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

const HIDE = `
import { registerHooks } from "node:module";
registerHooks({
  resolve(name, context, next) {
    if (!/^@langchain\\//.test(name)) return next(name, context);
    throw Object.assign(new Error("Cannot find package " + name), { code: "ERR_MODULE_NOT_FOUND" });
  },
});
`;

const SCRIPT = `${HIDE}
const adapter = await import(process.argv[1]);
const { runAgent } = await import(process.argv[2]);
const update = { agent: { messages: [{ type: "ai", id: "a1", content: "Hi" }] } };
const read = [];
for await (const { type } of adapter.fromLangGraph((async function* () { yield ["updates", update]; })())) read.push(type);
let failed;
const graph = { stream: async () => (async function* () {})() };
const agent = adapter.langGraphAgent({ name: "graph", graph });
const input = { threadId: "t", runId: "r", messages: [{ id: "u1", role: "user", content: "Hello" }] };
for await (const { code, message } of runAgent(agent, input)) failed = { code, message };
console.log(JSON.stringify({ read, failed }));
`;

test("loads, reads a stream, and says what to install", async () => {
  const files = ["./index.ts", "../../index.ts"].map((file) => fileURLToPath(new URL(file, import.meta.url)));
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", SCRIPT, "--", ...files]);
  expect(JSON.parse(stdout)).toEqual({
    read: ["STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "STEP_FINISHED"],
    failed: { code: "config-invalid", message: expect.stringContaining("install the package @langchain") },
  });
});

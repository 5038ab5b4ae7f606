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
    if (!/^(ai|@ai-sdk\\/.*)(\\/|$)/.test(name)) return next(name, context);
    throw Object.assign(new Error("Cannot find package " + name), { code: "ERR_MODULE_NOT_FOUND" });
  },
});
`;

const SCRIPT = `${HIDE}
const adapter = await import(process.argv[1]);
const { runAgent } = await import(process.argv[2]);
const parts = [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", text: "Hi" },
  { type: "text-end", id: "0" },
];
const read = [];
for await (const { type } of adapter.fromAiSdk((async function* () { yield* parts; })())) read.push(type);
let failed;
const agent = adapter.aiSdkAgent({ name: "sdk", streamText: { model: "none" } });
for await (const { code, message } of runAgent(agent, { threadId: "t", runId: "r", messages: [] })) failed = { code, message };
console.log(JSON.stringify({ read, failed }));
`;

test("loads, reads a stream, and says what to install", async () => {
  const files = ["./index.ts", "../../index.ts"].map((file) => fileURLToPath(new URL(file, import.meta.url)));
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", SCRIPT, "--", ...files]);
  expect(JSON.parse(stdout)).toEqual({
    read: ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"],
    failed: { code: "config-invalid", message: expect.stringContaining("install the package ai") },
  });
});

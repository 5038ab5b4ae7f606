import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { replayProvider } from "../../../../test/replay-provider.ts";

const run = promisify(execFile);

const fixture = (path: string): Uint8Array => readFileSync(new URL(path, import.meta.url));

/** Runs a script in a process in which neither package can be found. */
async function withoutPackages(script: string): Promise<string> {
  const hooks = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve(specifier, context, next) {
        if (/^(openai|@anthropic-ai\\/sdk)(\\/|$)/.test(specifier)) throw new Error("absent: " + specifier);
        return next(specifier, context);
      },
    });`;
  const { stdout } = await run(process.execPath, ["--no-warnings", "--input-type=module", "-e", `${hooks}\n${script}`]);
  return stdout.trim();
}

const say = (index: string, model: string): string => `
  const { ${model.split("(")[0]} } = await import(${JSON.stringify(new URL(index, import.meta.url).href)});
  const messages = [{ id: "u", role: "user", content: "Hello" }];
  const request = { messages, tools: [], context: [], signal: new AbortController().signal };
  let text = "";
  for await (const event of ${model}(request)) text += event.type === "TEXT_MESSAGE_CONTENT" ? event.delta : "";
  console.log(text);`;

test("in such a process the packages are absent", async () => {
  const script = `console.log(...(await Promise.allSettled([import("openai"), import("@anthropic-ai/sdk")])).map((r) => r.reason.message))`;
  expect(await withoutPackages(script)).toBe("absent: openai absent: @anthropic-ai/sdk");
});

test("the OpenAI adapter works without the package", async () => {
  await using provider = await replayProvider({ body: fixture("../openai/fixtures/chat-text.sse") });
  const model = `openAiModel({ model: "m", baseUrl: ${JSON.stringify(provider.url)} })`;
  expect(await withoutPackages(say("../openai/index.ts", model))).toBe("Hello, wörld 🌍");
});

test("the Anthropic adapter works without the package", async () => {
  await using provider = await replayProvider({ body: fixture("../anthropic/fixtures/text.sse") });
  const model = `anthropicModel({ model: "m", baseUrl: ${JSON.stringify(provider.url)} })`;
  expect(await withoutPackages(say("../anthropic/index.ts", model))).toBe("Hello, wörld 🌍");
});

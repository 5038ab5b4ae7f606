import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import { failureOfAnswer, messagesAfter, say } from "../../../../test/model-answer.ts";
import { replayProvider } from "../../../../test/replay-provider.ts";
import type { Answer, ReplayProvider } from "../../../../test/replay-provider.ts";
import type { Event } from "../../../protocol/index.ts";
import type { ModelRequest } from "../../index.ts";
import { anthropicModel } from "./index.ts";
import type { AnthropicModelOptions } from "./index.ts";

const KEY = "sk-ant-api03-Xy12Zw34Ab56Cd78Ef90";

const bytes = (name: string): Uint8Array => readFileSync(new URL(`fixtures/${name}.sse`, import.meta.url));

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [{ id: "u", role: "user", content: "Hello" }],
  tools: [],
  context: [],
  signal: new AbortController().signal,
  ...more,
});

/** Both ways of asking: by ourselves, and through the real package. */
const WAYS = [
  ["fetch", ({ url }: ReplayProvider) => ({ baseUrl: `${url}/`, apiKey: KEY })],
  [
    "@anthropic-ai/sdk",
    ({ url }: ReplayProvider) => ({
      client: new Anthropic({ baseURL: url, apiKey: KEY, maxRetries: 0, logLevel: "off" }),
    }),
  ],
] as const;

describe.each(WAYS)("by %s", (_, way) => {
  const model = (provider: ReplayProvider, options: Partial<AnthropicModelOptions> = {}) =>
    anthropicModel({ model: "claude-sonnet-5", ...way(provider), ...options });

  test("it is asked as documented, and answered", async () => {
    await using provider = await replayProvider({ body: bytes("thinking-tools") });
    const tools = [{ name: "now", description: "The time." }];
    const messages = messagesAfter(await say(model(provider, { maxTokens: 100 })(request({ tools }))));
    expect(messages).toMatchObject([{ role: "reasoning" }, { role: "reasoning" }, { toolCalls: [{}, {}, {}] }]);
    expect(provider.asked).toMatchObject([
      {
        body: {
          model: "claude-sonnet-5",
          max_tokens: 100,
          stream: true,
          messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
          tools: [{ name: "now", description: "The time.", input_schema: { type: "object" } }],
        },
      },
    ]);
    expect(provider.asked[0]?.url).toMatch(/^\/v1\/messages/);
    const { headers = {} } = provider.asked[0] ?? {};
    expect(headers["anthropic-version"]).toBe("2026-10-21");
    // The package sends it as a bearer token; Anthropic documents both.
    expect([headers["x-api-key"], headers.authorization]).toContainEqual(expect.stringContaining(KEY));
  });

  test("a stream in single bytes says the same", async () => {
    await using provider = await replayProvider({ body: bytes("web-search"), pieceBytes: 1 });
    expect(messagesAfter(await say(model(provider)(request()))).at(-1)).toMatchObject({
      content: "Then: a heddle guides threads.",
    });
  });

  test("a paused turn is continued from what was said, and its pause is no end", async () => {
    await using provider = await replayProvider({ body: bytes("pause-turn") }, { body: bytes("text") });
    const events = await say(model(provider)(request()));
    expect(messagesAfter(events).at(-1)).toMatchObject({ content: "Hello, wörld 🌍" });
    expect(provider.asked[1]?.body["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "Hello" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "", signature: "EqoBpause==" },
          { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "heddle" } },
          expect.objectContaining({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1" }),
        ],
      },
    ]);
    const names = events.flatMap((event) => (event.type === "CUSTOM" ? [event.name] : []));
    expect(names).toEqual(["heddle.usage", "heddle.usage"]);
  });

  test("a turn that is paused for ever ends, and says so", async () => {
    await using provider = await replayProvider({ body: bytes("pause-turn") });
    const events = await say(model(provider, { maxContinuations: 2 })(request()));
    expect(provider.asked).toHaveLength(3);
    expect(events).toContainEqual(expect.objectContaining({ name: "heddle.stop" }));
    // Still one turn of the assistant.
    expect(provider.asked[2]?.body["messages"]).toHaveLength(2);
  });

  test.each<[string, Answer, string, string]>([
    [
      "401",
      failure(401, "authentication_error", `invalid x-api-key ${KEY}`),
      "model-unauthorised",
      "invalid x-api-key",
    ],
    ["403", failure(403, "permission_error", "Not allowed"), "model-unauthorised", "Not allowed"],
    ["429", failure(429, "rate_limit_error", "Too many requests"), "model-rate-limited", "Too many requests"],
    ["529", failure(529, "overloaded_error", "Overloaded"), "model-overloaded", "Overloaded"],
    ["500", failure(500, "api_error", "Internal server error"), "model-failed", "Internal server error"],
    [
      "400, too long",
      failure(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
      "model-context-exceeded",
      "210000 tokens",
    ],
    ["413", failure(413, "request_too_large", "Request exceeds the maximum size"), "model-context-exceeded", "maximum"],
    ["400", failure(400, "invalid_request_error", "messages: must not be empty"), "model-request-refused", "messages:"],
    ["404", failure(404, "not_found_error", "model: claude-9"), "model-request-refused", "claude-9"],
    ["an error in the stream", { body: bytes("overloaded-midway") }, "model-overloaded", "Overloaded"],
    ["what is not JSON", { body: "event: message_start\ndata: {oops\n\n" }, "model-stream-invalid", ""],
    ["a cut connection", { body: bytes("text").subarray(0, 700), after: "cut" }, "model-unreachable", ""],
    ["a stream that just ends", { body: bytes("text").subarray(0, 700) }, "model-unreachable", ""],
    ["an empty stream", { body: "" }, "model-stream-invalid", ""],
  ])("%s is an error of its kind with the true reason, and no secret", async (_case, answer, code, reason) => {
    await using provider = await replayProvider(answer);
    const error = await failureOfAnswer(model(provider)(request()));
    expect(error).toMatchObject({ code, message: expect.stringContaining(reason) });
    expect(JSON.stringify(error)).not.toMatch(/sk-ant|Xy12/);
  });

  test("when to try again is told", async () => {
    const slow = failure(429, "rate_limit_error", "Slow down");
    await using provider = await replayProvider({ ...slow, headers: { ...slow.headers, "retry-after": "12" } });
    const error = await failureOfAnswer(model(provider)(request()));
    expect(error.details).toMatchObject({ provider: "anthropic", status: 429, retryAfterMs: 12_000 });
  });

  test("an abort closes the connection and ends with its reason, after what was said", async () => {
    await using provider = await replayProvider({ body: bytes("text").subarray(0, 700), after: "hang" });
    const stop = new AbortController();
    const events: Event[] = [];
    const listening = (async () => {
      for await (const event of model(provider)(request({ signal: stop.signal }))) {
        events.push(event);
        if (event.type === "TEXT_MESSAGE_CONTENT") stop.abort(new Error("stopped"));
      }
    })();
    await expect(listening).rejects.toThrow("stopped");
    expect(events).toContainEqual(expect.objectContaining({ delta: "Hel" }));
    await provider.asked[0]?.closed;
  });
});

function failure(status: number, type: string, message: string): Answer {
  const body = JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" });
  return { status, headers: { "content-type": "application/json" }, body };
}

test("a base URL that is none is refused when the model is made", () => {
  expect(() => anthropicModel({ model: "m", baseUrl: "api.anthropic.com" })).toThrow(
    expect.objectContaining({ code: "config-invalid" }),
  );
});

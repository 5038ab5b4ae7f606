import { readFileSync } from "node:fs";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { failureOfAnswer, hear, messagesAfter, say } from "../../../../test/model-answer.ts";
import { replayProvider } from "../../../../test/replay-provider.ts";
import type { Answer, ReplayProvider } from "../../../../test/replay-provider.ts";
import type { Event } from "../../../protocol/index.ts";
import type { ModelRequest } from "../../index.ts";
import { openAiModel } from "./index.ts";
import type { OpenAiModelOptions } from "./index.ts";

const KEY = "sk-proj-Xy12Zw34Ab56Cd78Ef90";

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
  ["fetch", ({ url }: ReplayProvider) => ({ baseUrl: `${url}/v1/`, apiKey: KEY })],
  [
    "openai",
    ({ url }: ReplayProvider) => ({
      client: new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0, logLevel: "off" }),
    }),
  ],
] as const;

const without = (events: readonly Event[]): unknown => {
  const ids = new Map<string, string>();
  const known = (id: string): string => ids.get(id) ?? (ids.set(id, `id${ids.size}`), `id${ids.size - 1}`);
  return JSON.parse(JSON.stringify(events).replaceAll(/(?:msg|rsn|act)_[0-9a-f]{32}/g, known));
};

describe.each(WAYS)("by %s", (_, way) => {
  const model = (provider: ReplayProvider, options: Partial<OpenAiModelOptions> = {}) =>
    openAiModel({ model: "gpt-5.1", ...way(provider), ...options });

  test("a chat is asked as documented, and answered", async () => {
    await using provider = await replayProvider({ body: bytes("chat-parallel-tools") });
    const tools = [{ name: "get_weather", description: "Weather.", parameters: { type: "object" } }];
    const messages = messagesAfter(await say(model(provider)(request({ tools }))));
    expect(messages).toMatchObject([{ content: "Let me look.", toolCalls: [{}, {}, {}] }]);
    expect(provider.asked).toMatchObject([
      {
        url: "/v1/chat/completions",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: {
          model: "gpt-5.1",
          stream: true,
          stream_options: { include_usage: true },
          messages: [{ role: "user", content: "Hello" }],
          tools: [{ type: "function", function: { name: "get_weather", parameters: { type: "object" } } }],
        },
      },
    ]);
  });

  test("Responses are asked as documented, and answered", async () => {
    await using provider = await replayProvider({ body: bytes("responses-reasoning-tools") });
    const messages = messagesAfter(await say(model(provider, { api: "responses" })(request())));
    expect(messages).toMatchObject([{ role: "reasoning" }, { content: "I look at both.", toolCalls: [{}, {}] }]);
    expect(provider.asked).toMatchObject([
      {
        url: "/v1/responses",
        body: { store: false, include: ["reasoning.encrypted_content"], input: [{ role: "user", content: "Hello" }] },
      },
    ]);
  });

  test.each(["chat-text", "chat-reasoning", "responses-builtins"])("%s in single bytes says the same", async (name) => {
    await using provider = await replayProvider({ body: bytes(name) }, { body: bytes(name), pieceBytes: 1 });
    const ask = model(provider, { api: name.startsWith("chat") ? "chat" : "responses" });
    const whole = await say(ask(request()));
    expect(without(await say(ask(request())))).toEqual(without(whole));
  });

  test.each<[string, Answer, string, string]>([
    [
      "401",
      failure(401, {
        message: `Incorrect API key provided: ${KEY}.`,
        type: "invalid_request_error",
        code: "invalid_api_key",
      }),
      "model-unauthorised",
      "Incorrect API key provided: [redacted]",
    ],
    [
      "401 with a masked key",
      failure(401, { message: "Incorrect API key provided: sk-proj-********************90.", code: "invalid_api_key" }),
      "model-unauthorised",
      "[redacted]",
    ],
    [
      "403",
      failure(403, { message: "Country not supported", code: "unsupported_country_region_territory" }),
      "model-unauthorised",
      "Country not supported",
    ],
    [
      "429",
      failure(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" }),
      "model-rate-limited",
      "Rate limit reached",
    ],
    ["429, quota", failure(429, { message: "No quota", code: "insufficient_quota" }), "model-rate-limited", "No quota"],
    ["503", failure(503, { message: "The engine is overloaded" }), "model-overloaded", "overloaded"],
    ["500", failure(500, { message: "Server error", type: "server_error" }), "model-failed", "Server error"],
    [
      "400, too long",
      failure(400, { message: "This model's maximum context length is 8192 tokens", code: "context_length_exceeded" }),
      "model-context-exceeded",
      "8192",
    ],
    [
      "400, too long, of a local server",
      failure(400, { message: "the request exceeds the available context size", type: "exceed_context_size_error" }),
      "model-context-exceeded",
      "context size",
    ],
    ["400", failure(400, { message: "Unknown parameter: 'x'" }), "model-request-refused", "Unknown parameter"],
    ["404", failure(404, { message: "No model gpt-9", code: "model_not_found" }), "model-request-refused", "gpt-9"],
    [
      "502 with a page",
      { status: 502, headers: HTML, body: "<h1>Bad gateway</h1>" },
      "model-unreachable",
      "Bad gateway",
    ],
    ["an error in the stream", { body: bytes("chat-error-midway") }, "model-failed", "Sorry about that"],
    ["what is not JSON", { body: "data: {oops\n\n" }, "model-stream-invalid", ""],
    ["a cut connection", { body: bytes("chat-text").subarray(0, 900), after: "cut" }, "model-unreachable", ""],
    ["a stream that just ends", { body: firstFrames("chat-text", 3) }, "model-unreachable", ""],
    ["an empty stream", { body: "" }, "model-stream-invalid", ""],
  ])("%s is an error of its kind with the true reason, and no secret", async (_case, answer, code, reason) => {
    await using provider = await replayProvider(answer);
    const error = await failureOfAnswer(model(provider)(request()));
    expect(error).toMatchObject({ code, message: expect.stringContaining(reason) });
    expect(JSON.stringify(error)).not.toMatch(/sk-proj|Xy12/);
  });

  test("when to try again is told", async () => {
    const answer = failure(429, { message: "Slow down" }, { "retry-after": "7", "x-request-id": "req_1" });
    await using provider = await replayProvider(answer);
    const error = await failureOfAnswer(model(provider)(request()));
    expect(error.details).toMatchObject({ provider: "openai", status: 429, retryAfterMs: 7000, requestId: "req_1" });
  });

  test("a server that is not there is unreachable", async () => {
    const provider = await replayProvider({ body: "" });
    await provider[Symbol.asyncDispose]();
    expect(await failureOfAnswer(model(provider)(request()))).toMatchObject({ code: "model-unreachable" });
  });

  test("an abort closes the connection and ends with its reason, after what was said", async () => {
    await using provider = await replayProvider({ body: bytes("chat-text").subarray(0, 900), after: "hang" });
    const stop = new AbortController();
    const reason = new Error("stopped");
    const events: Event[] = [];
    const listening = (async () => {
      for await (const event of model(provider)(request({ signal: stop.signal }))) {
        events.push(event);
        if (event.type === "TEXT_MESSAGE_CONTENT") stop.abort(reason);
      }
    })();
    await expect(listening).rejects.toBe(reason);
    expect(events).toContainEqual(expect.objectContaining({ delta: "Hel" }));
    await provider.asked[0]?.closed;
  });

  test("an abort before the answer begins ends with its reason", async () => {
    await using provider = await replayProvider({ body: "", after: "hang" });
    const stop = new AbortController();
    const heard = hear(model(provider)(request({ signal: stop.signal })));
    stop.abort(new Error("never mind"));
    expect((await heard).error).toBe(stop.signal.reason);
    expect((await hear(model(provider)(request({ signal: stop.signal })))).error).toBe(stop.signal.reason);
  });
});

const firstFrames = (name: string, count: number): string =>
  Buffer.from(bytes(name))
    .toString()
    .split(/(?<=\n\n)/)
    .slice(0, count)
    .join("");

const HTML = { "content-type": "text/html" };

function failure(status: number, error: object, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify({ error }) };
}

test("an abort reaches fetch before the next macrotask", async () => {
  const stop = new AbortController();
  const order: string[] = [];
  const asked = Promise.withResolvers<void>();
  const hanging: typeof fetch = (_url, init) => {
    asked.resolve();
    return new Promise((_resolve, reject) => {
      init?.signal?.addEventListener("abort", () => {
        order.push("fetch aborted");
        reject(stop.signal.reason);
      });
    });
  };
  const heard = hear(
    openAiModel({ model: "m", baseUrl: "http://x", fetch: hanging })(request({ signal: stop.signal })),
  );
  await asked.promise;
  const macrotask = new Promise<void>((resolve) => setImmediate(() => resolve(void order.push("macrotask"))));
  stop.abort();
  await heard.then(() => order.push("ended"));
  await macrotask;
  expect(order).toEqual(["fetch aborted", "ended", "macrotask"]);
});

test("an abort ends the answer also where a client does not listen to the signal", async () => {
  const stop = new AbortController();
  const deaf = {
    create: async () => ({
      async *[Symbol.asyncIterator]() {
        yield { choices: [{ index: 0, delta: { content: "Hi" } }] };
        stop.abort();
        await new Promise(() => {});
      },
    }),
  };
  const client = { chat: { completions: deaf }, responses: deaf };
  const { events, error } = await hear(
    openAiModel({ model: "m", client, api: "chat" })(request({ signal: stop.signal })),
  );
  expect(error).toBe(stop.signal.reason);
  expect(events).toContainEqual(expect.objectContaining({ delta: "Hi" }));
});

test("a redirect is not followed: it would take the key elsewhere", async () => {
  await using other = await replayProvider({ body: bytes("chat-text") });
  await using provider = await replayProvider({ status: 307, headers: { location: `${other.url}/v1` }, body: "" });
  const error = await failureOfAnswer(openAiModel({ model: "m", baseUrl: provider.url, apiKey: KEY })(request()));
  expect(error).toMatchObject({ code: "model-request-refused", message: expect.stringContaining("redirect") });
  expect(other.asked).toHaveLength(0);
});

test.each([
  ["an answer in one piece", { choices: [] }, "model-stream-invalid"],
  ["an error with status 200", { error: { message: "Too fast", code: 429 } }, "model-rate-limited"],
])("%s is no stream", async (_case, body, code) => {
  await using provider = await replayProvider({
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(await failureOfAnswer(openAiModel({ model: "m", baseUrl: provider.url })(request()))).toMatchObject({ code });
});

test("OpenAI itself is asked by Responses, other servers by chat", async () => {
  const urls: string[] = [];
  const refusing: typeof fetch = async (url) => {
    urls.push(url instanceof Request ? url.url : String(url));
    return Response.json({}, { status: 500 });
  };
  for (const baseUrl of [undefined, "http://localhost:11434/v1/"]) {
    const where = baseUrl === undefined ? {} : { baseUrl };
    await hear(openAiModel({ model: "m", fetch: refusing, ...where })(request()));
  }
  expect(urls).toEqual(["https://api.openai.com/v1/responses", "http://localhost:11434/v1/chat/completions"]);
});

test("a base URL that is none is refused when the model is made", () => {
  expect(() => openAiModel({ model: "m", baseUrl: "localhost:11434" })).toThrow(
    expect.objectContaining({ code: "config-invalid" }),
  );
});

test("names that OpenAI does not take are rewritten on the way there and back", async () => {
  const call = { index: 0, id: "c", function: { name: "weather_get", arguments: "{}" } };
  const chunk = { choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: "tool_calls" }] };
  await using provider = await replayProvider({ body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` });
  const tools = [{ name: "weather.get", description: "" }];
  const events = await say(openAiModel({ model: "m", baseUrl: provider.url })(request({ tools })));
  expect(provider.asked[0]?.body).toMatchObject({ tools: [{ function: { name: "weather_get" } }] });
  expect(events).toContainEqual(expect.objectContaining({ toolCallName: "weather.get" }));
});

/** One way to come across each error of models, tools and remote agents. */
import { remoteAgent } from "heddle/adapters/ag-ui";
import { openAiModel } from "heddle/adapters/openai";
import { defineAgent, defineTool, runAgent, toolLoop } from "heddle/agent";
import type { Agent, Model } from "heddle/agent";
import type { Event, RunAgentInput } from "heddle/protocol";

const INPUT: RunAgentInput = { threadId: "t", runId: "r", messages: [] };

/** What a model does with an answer of its provider. */
const asked = (answer: () => Response | Promise<Response>) => async (): Promise<void> => {
  const options = { model: "m", baseUrl: "http://provider.test", apiKey: "sk-secret", api: "chat" } as const;
  const model = openAiModel({ ...options, fetch: async () => answer() });
  const request = { messages: [], tools: [], context: [], signal: new AbortController().signal };
  for await (const event of model(request)) void event;
};

const refused = (status: number, error: Readonly<Record<string, string>>) =>
  asked(() => Response.json({ error: { message: "No.", ...error } }, { status }));

const stream = (...chunks: readonly unknown[]): Response =>
  new Response(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });

async function eventsOf(agent: Agent, input = INPUT): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of runAgent(agent, input)) events.push(event);
  return events;
}

/** How the run of an agent failed. */
async function failedRun(agent: Agent, input = INPUT): Promise<unknown> {
  const last = (await eventsOf(agent, input)).at(-1);
  return last?.type === "RUN_ERROR" ? { error: { code: last.code, message: last.message } } : last;
}

const remote = (answer: () => Response | Promise<Response>) => () =>
  failedRun(remoteAgent({ name: "remote", url: "http://agent.test/", fetch: async () => answer() }));

const calling = (name: string, args: string): Model =>
  async function* () {
    yield { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: name };
    yield { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: args };
    yield { type: "TOOL_CALL_END", toolCallId: "c" };
  };

const tool = defineTool({
  name: "look",
  description: "Looks.",
  parameters: { type: "object", properties: { hang: { type: "boolean" } }, required: ["hang"] },
  timeoutMs: 1,
  execute: ({ hang }: { hang: boolean }) =>
    hang ? new Promise<string>(() => {}) : Promise.reject(new Error("Blind, sadly.")),
});

const looping = (model: Model, maxSteps = 1): Agent =>
  defineAgent({
    name: "looping",
    tools: [tool],
    run: async ({ input, emit, signal }) =>
      void (await toolLoop({ model, input, emit, signal, tools: [tool], maxSteps })),
  });

/** What the result of a call says of its failure. */
async function failedTool(name: string, args: string): Promise<unknown> {
  const events = await eventsOf(looping(calling(name, args)));
  const result = events.find((event) => event.type === "TOOL_CALL_RESULT");
  const said = Object(result?.metadata?.["heddle"]);
  return { error: { code: Reflect.get(said, "code"), message: Reflect.get(said, "error") } };
}

const asking = defineAgent({
  name: "asking",
  run: async ({ emit }) =>
    void (await emit.interrupt({ id: "q", reason: "input_required", responseSchema: { type: "number" } })),
});

/** How to raise each code. */
export const RAISE_AGENT = {
  "model-unauthorised": refused(401, { type: "invalid_request_error", code: "invalid_api_key" }),
  "model-rate-limited": refused(429, { type: "rate_limit_error" }),
  "model-overloaded": refused(503, { type: "overloaded_error" }),
  "model-context-exceeded": refused(400, { code: "context_length_exceeded" }),
  "model-request-refused": refused(400, { type: "invalid_request_error" }),
  "model-stream-invalid": asked(() => new Response("<html>", { headers: { "content-type": "text/html" } })),
  "model-unreachable": asked(() => Promise.reject(new TypeError("fetch failed"))),
  "model-output-cut": asked(() =>
    stream({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: "length" }] }),
  ),
  "model-failed": refused(500, { type: "server_error" }),
  "agent-unreachable": remote(() => Promise.reject(new TypeError("fetch failed"))),
  "agent-response-invalid": remote(() => new Response("<html>", { headers: { "content-type": "text/html" } })),
  "agent-stream-cut": remote(() => stream({ type: "RUN_STARTED", threadId: "t", runId: "r" })),
  "address-refused": remote(() => new Response(null, { status: 307, headers: { location: "http://elsewhere.test/" } })),
  "tool-unknown": () => failedTool("nothing", "{}"),
  "tool-arguments-invalid": () => failedTool("look", '{"hang":"perhaps"}'),
  "tool-failed": () => failedTool("look", '{"hang":false}'),
  "tool-timeout": () => failedTool("look", '{"hang":true}'),
  "step-limit": () => failedRun(looping(calling("look", '{"hang":false}'), 0)),
  "resume-invalid": () => {
    const resume = [{ interruptId: "q", status: "resolved", payload: "no number" }] as const;
    return failedRun(asking, { ...INPUT, resume: [...resume] });
  },
} as const satisfies Readonly<Record<string, () => unknown>>;

/** The lines for agents: one that exists put behind this server, or one written with Heddle on whatever it is made of. */
import type { Snippet } from "./snippets.ts";

/** What serves an agent of a file. */
const serveFile = (name: string): string => `npx heddle serve ${name} --watch`;

/** Agents. */
export const AGENT_SNIPPETS: readonly Snippet[] = [
  {
    id: "gateway",
    title: "An agent that exists",
    text:
      "Whatever answers AG-UI over HTTP, in any language and on any framework, goes behind Heddle unchanged: its runs outlive " +
      "browsers, are kept, and reach clients in valid order only. Try its address first, under Test an agent.",
    files: [
      { name: "serve.sh", code: () => "npx heddle serve --agent support=http://127.0.0.1:8000/agui\n" },
      {
        name: "gateway.ts",
        code: () => `import { remoteAgent } from "heddle/adapters/ag-ui";
import { serve } from "heddle/server/fastify";
import { sqliteStore } from "heddle/store/sqlite";

const support = remoteAgent({ name: "support", url: "http://127.0.0.1:8000/agui" });
await serve({ agents: [support], store: sqliteStore("heddle.db"), port: 5001 });
`,
      },
    ],
  },
  {
    id: "define",
    title: "defineAgent",
    text: "An agent of your own. Lifecycle events, ids and closing what is open are not your business.",
    shell: serveFile("agent.ts"),
    files: [
      {
        name: "agent.ts",
        code: () => `import { defineAgent } from "heddle/agent";

export const assistant = defineAgent({
  name: "assistant",
  async run({ input, emit }) {
    const asked = input.messages.findLast(({ role }) => role === "user")?.content;
    const reply = emit.text(); // opens on the first write, closes by itself
    for (const word of \`You said: \${String(asked)}\`.split(" ")) await reply.write(\`\${word} \`);
  },
});
`,
      },
    ],
  },
  {
    id: "openai",
    title: "OpenAI",
    text: "OpenAI, and every server that speaks like it (OPENAI_BASE_URL). Calls the model and runs your tools.",
    shell: `export OPENAI_API_KEY=…\n${serveFile("openai.ts")}`,
    files: [
      {
        name: "openai.ts",
        code: () => `import { openAiAgent } from "heddle/adapters/openai";
import { defineTool } from "heddle/agent";

const weather = defineTool({
  name: "get_weather",
  description: "The weather in a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  execute: ({ city }) => \`Sunny in \${String(city)}.\`,
});

export const assistant = openAiAgent({ name: "assistant", model: "gpt-5.1", tools: [weather] });
`,
      },
    ],
  },
  {
    id: "anthropic",
    title: "Anthropic",
    text: "Anthropic's models with Heddle's tool loop. Thoughts are shown where the model tells them.",
    shell: `export ANTHROPIC_API_KEY=…\n${serveFile("claude.ts")}`,
    files: [
      {
        name: "claude.ts",
        code: () => `import { anthropicModel } from "heddle/adapters/anthropic";
import { defineAgent, toolLoop } from "heddle/agent";

const model = anthropicModel({ model: "claude-sonnet-5", apiKey: process.env["ANTHROPIC_API_KEY"] ?? "" });

export const assistant = defineAgent({
  name: "assistant",
  run: (context) => toolLoop({ ...context, model }), // with tools: [...] beside name
});
`,
      },
    ],
  },
  {
    id: "ai-sdk",
    title: "AI SDK",
    text: "Vercel's AI SDK, version 7: options of streamText, or an agent of the SDK (agent: …).",
    shell: `npm install heddle ai\n${serveFile("sdk.ts")}`,
    files: [
      {
        name: "sdk.ts",
        code: () => `import { aiSdkAgent } from "heddle/adapters/ai-sdk";

export const assistant = aiSdkAgent({
  name: "assistant",
  streamText: { model: "openai/gpt-5.1", instructions: "You are brief." },
});
`,
      },
    ],
  },
  {
    id: "langgraph",
    title: "LangGraph",
    text: "A graph of LangGraph.js. Its interrupts become questions that survive restarts, its state is shared.",
    shell: `npm install heddle @langchain/langgraph @langchain/core\n${serveFile("graph.ts")}`,
    files: [
      {
        name: "graph.ts",
        code: () => `import { AIMessage } from "@langchain/core/messages";
import { END, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { langGraphAgent } from "heddle/adapters/langgraph";

const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", ({ messages }) => ({ messages: [new AIMessage(\`You said: \${messages.at(-1)?.text}\`)] }))
  .addEdge(START, "answer")
  .addEdge("answer", END)
  .compile({ checkpointer: new MemorySaver() });

export const assistant = langGraphAgent({ name: "assistant", graph });
`,
      },
    ],
  },
  {
    id: "messages",
    title: "A stream of messages",
    text: "A library that answers with messages and pieces of messages: each piece becomes the events that it means.",
    shell: serveFile("messages.ts"),
    files: [
      {
        name: "messages.ts",
        code: () => `import { runStreamingAgent } from "heddle/adapters/messages";
import type { StreamingAgent } from "heddle/adapters/messages";
import { defineAgent } from "heddle/agent";

const library: StreamingAgent = {
  async *generateReplyStreaming() {
    yield { type: "text-update", text: "Hello " };
    yield { type: "text-update", text: "there." };
  },
};

export const assistant = defineAgent({
  name: "assistant",
  run: ({ input, signal }) => runStreamingAgent(library, input, { signal }),
});
`,
      },
    ],
  },
  {
    id: "events",
    title: "A stream of events",
    text: "A workflow engine or a process with events of its own: they become one run, runs inside it become subagents.",
    shell: serveFile("events.ts"),
    files: [
      {
        name: "events.ts",
        code: () => `import { createMapper } from "heddle/adapters/events";
import type { NativeEvent } from "heddle/adapters/events";
import { defineAgent } from "heddle/agent";

async function* workflow(): AsyncGenerator<NativeEvent> {
  yield { type: "run_start" };
  yield { type: "message_start", messageId: "m1" };
  yield { type: "message_delta", messageId: "m1", delta: "Hello from a workflow." };
  yield { type: "message_end", messageId: "m1" };
  yield { type: "run_end" };
}

export const assistant = defineAgent({
  name: "assistant",
  run: ({ input }) => createMapper(input.threadId, input.runId).mapStream(workflow()),
});
`,
      },
    ],
  },
];

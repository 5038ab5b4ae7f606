/** An old server of the session dialect behind the whole gateway, with the stock client in front. */
import { sessionAgent } from "heddle/adapters/session";
import { serve } from "heddle/server/fastify";
import { memoryStore } from "heddle/store";
import { expect, test } from "vitest";
import { oldSessionServer } from "./old-session-server.ts";
import type { OldConnection } from "./old-session-server.ts";
import { stock } from "./stock-client.ts";

async function gateway(script: (connection: OldConnection) => unknown) {
  const old = await oldSessionServer(script);
  const agents = [sessionAgent({ name: "past", url: old.url })];
  const server = await serve({ agents, store: memoryStore(), port: 0, host: "127.0.0.1" });
  return {
    url: server.url,
    old,
    async [Symbol.asyncDispose]() {
      await server.close();
      await old[Symbol.asyncDispose]();
    },
  };
}

/** Looks something up, and answers, under the one id that the seed gives to all of a generation. */
function lookUp({ say, request }: OldConnection): void {
  const id = `g${(request.data["messages"] as readonly unknown[]).length}`;
  const call = { toolCallId: `c-${id}`, toolName: "look", arguments: { at: [1, 2] }, isComplete: false };
  say("thought-chunk", { thought: "Let me ", isComplete: false }, id);
  say("thought-chunk", { thought: "look.", isComplete: false }, id);
  say("text-chunk", { text: "Looking.", role: "assistant", isComplete: false }, id);
  say("tool-call-chunk", call, id);
  say("tool-call-complete", {}, id);
  say("tool-result-chunk", { toolCallId: call.toolCallId, result: "a cat", isError: false, isComplete: false }, id);
  say("tool-result-complete", {}, id);
  say("text-chunk", { text: "A cat.", role: "assistant", isComplete: false }, `${id}-2`);
  say("metadata-update", { usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 } }, `${id}-2`);
  say("text-message-complete", {}, `${id}-2`);
  say("agent-response-complete", {}, `${id}-2`);
  say("session-ended");
}

/** What a turn leaves behind. */
const turn = (question: string, id: string) => [
  { role: "user", content: question },
  { role: "reasoning", content: "Let me look." },
  {
    role: "assistant",
    content: "Looking.",
    toolCalls: [{ id: `c-${id}`, function: { name: "look", arguments: '{"at":[1,2]}' } }],
  },
  { role: "tool", toolCallId: `c-${id}`, content: "a cat" },
  { role: "assistant", content: "A cat." },
];

test("the stock client gets text, reasoning, calls and results of an old server, turn after turn", async () => {
  await using past = await gateway(lookUp);
  const client = stock("1.0.0", past.url, "past", "t1");
  await client.say("What is there?");
  await client.say("And now?", { forwardedProps: { options: { temperature: 0.5 } } });
  expect(client.agent.messages).toMatchObject([...turn("What is there?", "g1"), ...turn("And now?", "g5")]);
  expect(client.events.filter(({ type }) => type === "RUN_FINISHED")).toMatchObject([
    { usage: [{ inputTokens: 3, outputTokens: 2, totalTokens: 5 }] },
    { usage: [{ inputTokens: 3, outputTokens: 2, totalTokens: 5 }] },
  ]);
  // The whole conversation went along, in the dialect's own form.
  expect(past.old.requests[1]?.data).toMatchObject({
    messages: [
      { role: "user", content: "What is there?" },
      { role: "assistant", content: "Looking.", toolCalls: [{ toolName: "look", arguments: { at: [1, 2] } }] },
      { role: "tool", toolCallId: "c-g1", content: "a cat" },
      { role: "assistant", content: "A cat." },
      { role: "user", content: "And now?" },
    ],
    options: { temperature: 0.5 },
  });
});

test("Stop stops an old server: its socket is closed, and the run is cancelled", async () => {
  const gone = Promise.withResolvers<number>();
  await using past = await gateway(({ say, closed }) => {
    void closed.then(gone.resolve);
    say("text-chunk", { text: "Half", role: "assistant", isComplete: false }, "g1");
  });
  const client = stock("1.0.0", past.url, "past", "t1");
  const running = client.say("Go.", { runId: "r1" });
  await client.saw(({ type }) => type === "TEXT_MESSAGE_CONTENT");
  const stopped = await fetch(`${past.url}/threads/t1/runs/r1/cancel`, { method: "POST" });
  expect(stopped.status).toBe(200);
  expect(await gone.promise).toBe(1000);
  await running;
  expect(client.events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  expect(client.agent.messages).toMatchObject([{ content: "Go." }, { role: "assistant", content: "Half" }]);
});

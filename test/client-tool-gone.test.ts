import { defineAgent, toolLoop } from "heddle/agent";
import type { Model } from "heddle/agent";
import { connect } from "heddle/client";
import { serve } from "heddle/server/fastify";
import { expect, onTestFinished, test, vi } from "vitest";

const asking: Model = async function* ({ messages }) {
  const last = messages.at(-1);
  if (last?.role === "tool") {
    yield { type: "TEXT_MESSAGE_CHUNK", messageId: "answer", delta: `It is ${String(last.content)}.` };
    return;
  }
  yield { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "where" };
  yield { type: "TOOL_CALL_END", toolCallId: "c1" };
};

test("a tool that is taken back while its call is being claimed answers nothing; offered again it does", async () => {
  const agent = defineAgent({ name: "asks", run: (context) => toolLoop({ ...context, model: asking }) });
  const server = await serve({ agents: [agent], port: 0 });
  onTestFinished(() => server.close());
  const released = Promise.withResolvers<void>();
  const client = connect(server.url, {
    fetch: async (input, init) => {
      const isClaim = String(input).endsWith("/claim");
      if (isClaim) remove();
      const response = await fetch(input, init);
      if (isClaim && String(init?.body).includes('"leaseMs":0')) released.resolve();
      return response;
    },
  });
  onTestFinished(() => client.close());
  const where = { name: "where", description: "Says where we are.", handler: () => "here" };
  const remove = client.tool(where);
  const thread = client.thread("t1");
  await thread.run("asks", "Where?").finished;
  await released.promise;
  expect(thread.pendingToolCalls.map(({ name }) => name)).toEqual(["where"]);
  expect((await thread.details()).runs).toHaveLength(1);
  const isSaid = new Promise<void>((resolve) => {
    thread.subscribe(() => thread.messages.at(-1)?.content === "It is here." && resolve());
  });
  client.tool(where);
  await isSaid;
  expect((await thread.details()).runs).toHaveLength(2);
});

test("a claim is renewed no more when its call was answered elsewhere", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const agent = defineAgent({ name: "asks", run: (context) => toolLoop({ ...context, model: asking }) });
  const server = await serve({ agents: [agent], port: 0 });
  onTestFinished(() => server.close());
  const claims: Promise<Response>[] = [];
  const client = connect(server.url, {
    fetch: (input, init) => {
      const response = fetch(input, init);
      if (String(input).endsWith("/claim")) claims.push(response);
      return response;
    },
  });
  onTestFinished(() => client.close());
  const begun = Promise.withResolvers<void>();
  const handler = (): Promise<never> => {
    begun.resolve();
    return new Promise(() => undefined);
  };
  client.tool({ name: "where", description: "Says where we are.", handler });
  const thread = client.thread("t1");
  await thread.run("asks", "Where?").finished;
  await begun.promise;
  const run = await thread.answer({ results: [{ toolCallId: "c1", content: "there" }] });
  expect((await run.finished).status).toBe("finished");
  const before = claims.length;
  vi.advanceTimersByTime(2000);
  await vi.waitFor(() => expect(claims).toHaveLength(before + 1), { timeout: 20_000 });
  expect((await claims.at(-1))?.status).toBe(409);
  await thread.details();
  vi.advanceTimersByTime(6000);
  await thread.details();
  expect(claims).toHaveLength(before + 1);
});

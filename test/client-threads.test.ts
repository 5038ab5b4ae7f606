import { connect } from "heddle/client";
import type { LiveThreads } from "heddle/client";
import { expect, onTestFinished, test } from "vitest";
import { chat } from "../examples/agents/chat.ts";
import { serve } from "../src/server/fastify/index.ts";
import { memoryStore } from "../src/store/index.ts";

test("a list of threads that the server refuses says so, and asks no more", async () => {
  let requests = 0;
  const refusing = async (): Promise<Response> => {
    requests += 1;
    return Response.json({ error: { code: "unauthenticated", message: "Show a token." } }, { status: 401 });
  };
  const { threads } = connect("http://127.0.0.1:1", { fetch: refusing });
  const live = await new Promise<LiveThreads>((resolve) => {
    const followed = threads.live(() => resolve(followed));
  });
  expect(live).toMatchObject({ threads: undefined, error: { code: "unauthenticated", message: "Show a token." } });
  expect(requests).toBe(1);
});

test("a list that is followed says where the threads behind it begin", async () => {
  const server = await serve({ agents: [chat], store: memoryStore(), port: 0, host: "localhost", logLevel: "silent" });
  onTestFinished(() => server.close());
  const client = connect(server.url);
  onTestFinished(() => client.close());
  for (const id of ["a", "b", "c"]) await client.thread(id).run("chat", "Hello").finished;
  const live = await new Promise<LiveThreads>((resolve) => {
    const followed = client.threads.live(() => resolve(followed), { limit: 2 });
  });
  const rest = await client.threads.list({ after: live.next ?? "" });
  expect([live.threads, rest.threads].map((threads) => threads?.map(({ threadId }) => threadId))).toEqual([
    ["c", "b"],
    ["a"],
  ]);
});

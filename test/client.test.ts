import { afterAll, beforeAll, expect, test } from "vitest";
import { defineAgent } from "heddle/agent";
import { serve } from "heddle/server/fastify";
import type { Served } from "heddle/server/fastify";
import { connect } from "../src/client/index.ts";

const talker = defineAgent({
  name: "talker",
  description: "Says what you said.",
  run: ({ emit, input }) => {
    const last = input.messages.at(-1);
    emit.text().write(`You said: ${typeof last?.content === "string" ? last.content : ""}`);
  },
});
let server: Served;
beforeAll(async () => {
  server = await serve({ agents: [talker], port: 0 });
});
afterAll(() => server.close());

test.each(["sse", "websocket"] as const)(
  "WS-RUN-1, HTTP-RUN-12: a run is started, followed and restored by %s",
  async (transport) => {
    const client = connect(server.url, { transport });
    const thread = client.thread(`t-${transport}`);
    const types: string[] = [];
    const run = thread.run("talker", "Hello");
    for await (const event of run) types.push(event.type);
    expect(types).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_FINISHED",
    ]);
    expect((await run.finished).status).toBe("finished");
    expect(thread.messages.map(({ content }) => content)).toEqual(["Hello", "You said: Hello"]);
    const other = connect(server.url, { transport });
    const restored = other.thread(thread.id);
    await restored.restore();
    expect(restored.messages).toEqual(thread.messages);
    const release = restored.attach();
    const second = thread.run("talker", "Again");
    expect((await second.finished).status).toBe("finished");
    const third = restored.run("talker", "From the other side");
    expect((await third.finished).status).toBe("finished");
    expect(restored.messages.map(({ content }) => content)).toEqual([
      "Hello",
      "You said: Hello",
      "Again",
      "You said: Again",
      "From the other side",
      "You said: From the other side",
    ]);
    const edited = restored.edit("talker", restored.messages[2]?.id ?? "", "Otherwise");
    expect((await edited.finished).status).toBe("finished");
    expect(restored.messages.map(({ content }) => content)).toEqual([
      "Hello",
      "You said: Hello",
      "Otherwise",
      "You said: Otherwise",
    ]);
    expect((await restored.branches()).heads).toHaveLength(2);
    await restored.switchTo(third.runId);
    await restored.restore();
    expect(restored.messages).toHaveLength(6);
    release();
    client.close();
    other.close();
  },
);

test("a thread that is not there yet is empty, and is seen as soon as somebody else begins it", async () => {
  const retry = { firstMs: 1, mostMs: 20 };
  const early = connect(server.url, { retry });
  const thread = early.thread("not-yet");
  const release = thread.attach();
  await thread.restore();
  expect([thread.connection, thread.messages]).toEqual(["caught-up", []]);
  const seen = new Promise<void>((resolve) => {
    thread.subscribe(() => thread.view.run.status === "finished" && resolve());
  });
  const late = connect(server.url);
  await late.thread("not-yet").run("talker", "First").finished;
  await seen;
  expect(thread.messages.map(({ content }) => content)).toEqual(["First", "You said: First"]);
  release();
  early.close();
  late.close();
});

test("a state that was set and not sent yet outlives the runs of others, and goes with the next one", async () => {
  const [mine, theirs] = [connect(server.url), connect(server.url)];
  const thread = mine.thread("draft");
  await thread.run("talker", "Hello").finished;
  const release = thread.attach();
  await thread.restore();
  thread.setState({ colour: "red" });
  const seen = new Promise<void>((resolve) => {
    thread.onEvent((event) => event.type === "RUN_FINISHED" && resolve());
  });
  await theirs.thread("draft").run("talker", "Me too").finished;
  await seen;
  expect(thread.state).toEqual({ colour: "red" });
  await thread.run("talker", "Now").finished;
  expect(thread.state).toEqual({ colour: "red" });
  expect((await thread.snapshotAt()).state).toEqual({ colour: "red" });
  release();
  mine.close();
  theirs.close();
});

test("the agents of a server are told with what they are for", async () => {
  const client = connect(server.url);
  const [first] = await client.agents();
  expect(first).toMatchObject({
    name: "talker",
    url: "/agents/talker",
    capabilities: { identity: { description: "Says what you said." } },
  });
  client.close();
});

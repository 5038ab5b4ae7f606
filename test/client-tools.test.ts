/** Tools that clients execute: by one of several, once, whatever is cut; and a shared state that both sides change. */
import { describe, expect, test, vi } from "vitest";
import { defineAgent } from "../src/agent/index.ts";
import { connect } from "../src/client/index.ts";
import type { FrontendTool, HeddleClient, Thread } from "../src/client/index.ts";
import { expectExact, lastText, until } from "./client-witness.ts";
import { proxiedServer } from "./proxied-server.ts";
import { frontend } from "./stock-client-agents.ts";

const counter = defineAgent<{ count: number }>({
  name: "counter",
  run: ({ emit, input }) => emit.state.set({ count: (Object(input.state).count ?? 0) + 1 }),
});

const network = proxiedServer({ agents: [frontend, counter] });

type Pick = FrontendTool<{ of: string[] }>["handler"];

const answered = (thread: Thread, text: string): Promise<void> =>
  until(thread, () => lastText(thread) === text && thread.view.run.status === "finished");

describe.each(["sse", "websocket"] as const)("by %s", (transport) => {
  const clientOf = (handler?: Pick): HeddleClient => {
    const client = connect(network.proxy.url, { transport, retry: { firstMs: 1, mostMs: 20 } });
    network.keep(client);
    if (handler !== undefined) client.tool({ name: "pick_colour", description: "Lets the user pick.", handler });
    return client;
  };
  test("one of two clients executes a call, and replay executes nothing", async () => {
    const handler = vi.fn<Pick>(({ of }) => of[0]);
    const [one, two] = [clientOf(handler), clientOf(handler)].map((client) => client.thread(`${transport}-once`));
    if (one === undefined || two === undefined) throw new Error("two");
    two.attach();
    one.attach();
    one.run("frontend", "A colour");
    two.reconnect();
    await answered(one, "You picked red.");
    two.reconnect();
    await answered(two, "You picked red.");
    const late = clientOf(handler).thread(one.id);
    await late.restore();
    for await (const _ of late.history()) continue;
    expect(late.messages).toEqual(one.messages);
    expect(handler).toHaveBeenCalledTimes(1);
    expect(handler.mock.calls[0]?.[0]).toEqual({ of: ["red", "blue"] });
    await expectExact(one, network.serverUrl);
  });

  test("what a handler throws is the result", async () => {
    const thread = clientOf(() => {
      throw new Error("no colours left");
    }).thread(`${transport}-throws`);
    thread.run("frontend", "A colour");
    await answered(thread, "You picked no colours left.");
    expect(thread.messages.find(({ role }) => role === "tool")).toMatchObject({ error: "no colours left" });
  });

  test("an answer survives a cut", async () => {
    const handler = vi.fn<Pick>(() => {
      network.proxy.isDown = true;
      network.proxy.cut();
      setTimeout(() => (network.proxy.isDown = false), 50);
      return "blue";
    });
    const thread = clientOf(handler).thread(`${transport}-cut`);
    thread.attach();
    thread.run("frontend", "A colour");
    await answered(thread, "You picked blue.");
    expect(handler).toHaveBeenCalledTimes(1);
    expect((await thread.details()).runs).toHaveLength(2);
    await expectExact(thread, network.serverUrl);
  });

  test("the state is changed from both sides", async () => {
    const thread = clientOf().thread(`${transport}-state`);
    await thread.run("counter", "Count").finished;
    expect(thread.state).toEqual({ count: 1 });
    thread.setState((state: unknown) => ({ count: Object(state).count + 10 }));
    expect(thread.state).toEqual({ count: 11 });
    await thread.run("counter", "Count").finished;
    expect(thread.state).toEqual({ count: 12 });
    await expectExact(thread, network.serverUrl);
  });
});

/** How often the one that lives executes the call of one that dies. */
const takeOver = async (transport: "sse" | "websocket"): Promise<number> => {
  const threadId = `${transport}-dies`;
  const [dying, living] = [connect(network.serverUrl, { transport }), connect(network.serverUrl, { transport })];
  network.keep(dying);
  network.keep(living);
  const tool = { name: "pick_colour", description: "Lets the user pick." };
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  dying.tool({ ...tool, handler: () => new Promise(() => resolve()) });
  await dying.thread(threadId).run("frontend", "A colour").finished;
  await begun;
  const handler = vi.fn<() => string>(() => "green");
  living.tool({ ...tool, handler });
  const thread = living.thread(threadId);
  thread.attach();
  await until(thread, () => thread.pendingToolCalls.length === 1);
  dying.close();
  expect(handler).not.toHaveBeenCalled();
  await until(thread, () => lastText(thread) === "You picked green.");
  return handler.mock.calls.length;
};

test("a client that dies while it executes loses the call to another, when its claim is over", async () => {
  expect(await Promise.all([takeOver("sse"), takeOver("websocket")])).toEqual([1, 1]);
}, 30_000);

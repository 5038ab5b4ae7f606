/** Seed 003 on hosting: mounting, options, limits, origins, what agents are made with, and what is logged. */
import { Writable } from "node:stream";
import { HttpAgent } from "@ag-ui/client";
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import { defineAgent } from "heddle/agent";
import type { Agent } from "heddle/agent";
import type { Event } from "heddle/protocol";
import { createHeddle } from "heddle/server";
import { heddlePlugin } from "heddle/server/fastify";
import { createVerifyState, reduceAll, verify, verifyEnd } from "heddle/stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { deltasOf, eventsOf, post, serveAgents, typesOf } from "./serve-agents.ts";

const echo = defineAgent({ name: "echo", run: ({ emit }) => emit.text().write("Hello.") });

/** An application that listens until the test has ended. */
async function listening(app: FastifyInstance): Promise<string> {
  onTestFinished(async () => void (await app.close()));
  return app.listen({ port: 0, host: "127.0.0.1" });
}

test("003 REQ-AC-1.3, REQ-AC-4.1: one option maps an agent to a path such as /api/ag-ui, or everything under it", async () => {
  const url = await serveAgents({ agents: [echo], mounts: { "/api/ag-ui": "echo" } });
  const stock = new HttpAgent({ url: `${url}/api/ag-ui`, threadId: "t1" });
  await stock.runAgent({ runId: "r1" });
  expect(stock.messages).toMatchObject([{ role: "assistant", content: "Hello." }]);
  const app = fastify();
  await app.register(heddlePlugin, { agents: [echo], prefix: "/api/ag-ui" });
  const host = await listening(app);
  const events = await eventsOf(post(`${host}/api/ag-ui/agents/echo`, {}));
  expect(deltasOf(events, "TEXT_MESSAGE_CONTENT")).toBe("Hello.");
  expect((await post(`${host}/agents/echo`, {})).status).toBe(404);
});

test("003 REQ-AC-4.2: what makes the agent of a run is called once for each run", async () => {
  const make = vi.fn<() => { say(): string }>(() => {
    let said = 0;
    return { say: () => `said ${++said}` };
  });
  const agent = defineAgent({ name: "made", run: ({ emit }) => emit.text().write(make().say()) });
  const url = await serveAgents({ agents: [agent] });
  for (const threadId of ["t1", "t2"]) {
    const events = await eventsOf(post(`${url}/agents/made`, { threadId }));
    expect(deltasOf(events, "TEXT_MESSAGE_CONTENT")).toBe("said 1");
  }
  expect(make).toHaveBeenCalledTimes(2);
});

const HELLO = { id: "u1", role: "user", content: "Hello" } as const;

const saying = (name: string, run: Agent["run"]): Agent => defineAgent({ name, run });

const endOf = async (url: string, agent: string): Promise<unknown> =>
  (await eventsOf(post(`${url}/agents/${agent}`, { threadId: agent }))).at(-1);

test("003 REQ-AC-4.4: the limits of an event, of a run and of what is open are those that were set", async () => {
  const agents = [
    saying("large", ({ emit }) => emit.text().write("x".repeat(2000))),
    saying("many", async ({ emit }) => {
      const reply = emit.text();
      for (let index = 0; index < 30; index++) await reply.write("x");
    }),
    saying("open", async ({ emit }) => {
      for (const name of ["a", "b", "c", "d"]) await emit.text({ id: name }).write(name);
    }),
  ];
  const narrow = await serveAgents({ agents, maxEventBytes: 1000, maxEventsPerRun: 20, maxOpenItems: 3 });
  const wide = await serveAgents({ agents });
  for (const { name } of agents) {
    expect(await endOf(narrow, name)).toMatchObject({ type: "RUN_ERROR", code: "limit-exceeded" });
    expect(await endOf(wide, name)).toMatchObject({ type: "RUN_FINISHED" });
  }
});

test("003 REQ-AC-4.5: who is told of an error, and whether a breach of order is one, can be configured", async () => {
  const boom = new Error("boom");
  const failing = defineAgent({ name: "failing", run: () => Promise.reject(boom) });
  const sloppy = defineAgent({
    name: "sloppy",
    async *run(): AsyncGenerator<Event> {
      yield { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "never opened" };
    },
  });
  const onError = vi.fn<(error: unknown) => void>();
  const [strict, lenient] = [
    await serveAgents({ agents: [failing, sloppy], onError, strict: true }),
    await serveAgents({ agents: [sloppy] }),
  ];
  await eventsOf(post(`${strict}/agents/failing`, {}));
  expect(onError.mock.calls.map(([error]) => error)).toEqual([boom]);
  const inOrder = { threadId: "t2" };
  const refused = (await eventsOf(post(`${strict}/agents/sloppy`, inOrder))).at(-1);
  expect(refused).toMatchObject({ type: "RUN_ERROR" });
  const repaired = await eventsOf(post(`${lenient}/agents/sloppy`, inOrder));
  expect(typesOf(repaired)).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ]);
});

test("003 REQ-AC-5.4, REQ-AC-5.5: an agent is made with the services of the application it is registered in", async () => {
  interface Prices {
    of(item: string): number;
  }
  const shopkeeper = (prices: Prices): Agent =>
    defineAgent({ name: "shop", run: ({ emit }) => emit.text().write(`A loom costs ${prices.of("loom")}.`) });
  const app = fastify();
  app.decorate("prices", { of: (item: string) => item.length * 10 });
  await app.register(async (scope) => {
    await scope.register(heddlePlugin, { agents: [shopkeeper(scope.getDecorator<Prices>("prices"))] });
  });
  const events = await eventsOf(post(`${await listening(app)}/agents/shop`, {}));
  expect(deltasOf(events, "TEXT_MESSAGE_CONTENT")).toBe("A loom costs 40.");
});

interface Shop {
  readonly prices: { of(item: string): number };
}

const shopkeeper = ({ prices }: Shop): Agent =>
  defineAgent({ name: "shop", run: ({ emit }) => emit.text().write(`A loom costs ${prices.of("loom")}.`) });

test("003 REQ-AC-5.4, REQ-AC-5.5: a factory among the agents is given the services, once, whichever way they are served", async () => {
  const made = vi.fn<typeof shopkeeper>(shopkeeper);
  const services: Shop = { prices: { of: (item) => item.length * 10 } };
  const app = fastify();
  await app.register(heddlePlugin, { agents: [made, echo], services });
  const own = await serveAgents({ agents: [made, echo], services });
  for (const url of [await listening(app), own]) {
    for (const threadId of ["t1", "t2"]) {
      const events = await eventsOf(post(`${url}/agents/shop`, { threadId }));
      expect(deltasOf(events, "TEXT_MESSAGE_CONTENT")).toBe("A loom costs 40.");
    }
  }
  expect(made.mock.calls).toEqual([[services], [services]]);
  // @ts-expect-error who needs services cannot leave them out
  expect(() => createHeddle({ agents: [shopkeeper] })).toThrow(TypeError);
  // @ts-expect-error a factory makes an agent
  expect(() => createHeddle({ agents: [() => 17] })).toThrow(expect.objectContaining({ code: "config-invalid" }));
});

test("003 REQ-AC-5.1, REQ-AC-5.2, REQ-AC-5.3: what the plugin made and uses is reached by decoration of the instance", async () => {
  const app = fastify();
  await app.register(heddlePlugin, { agents: [echo], prefix: "/agui" });
  app.get("/titles", async () => (await app.heddle.threads.list()).threads.map(({ threadId }) => threadId));
  app.post(
    "/ask",
    async () => (await app.heddle.start("echo", { threadId: "t2", runId: "r1", messages: [HELLO] })).run,
  );
  const url = await listening(app);
  await eventsOf(post(`${url}/agui/agents/echo`, { threadId: "t1" }));
  expect(await (await fetch(`${url}/ask`, { method: "POST" })).json()).toEqual({ threadId: "t2", runId: "r1" });
  expect((await (await fetch(`${url}/titles`)).json()).toSorted()).toEqual(["t1", "t2"]);
  expect(await (await fetch(`${url}/agui/threads/t2/runs/r1`)).json()).toMatchObject({ runId: "r1" });
  // Everything else of the plugin stays inside: the host's own routes have their own errors.
  expect(await (await fetch(`${url}/nowhere`)).json()).not.toHaveProperty("error.code");
});

test("two in one application: each answers at its own prefix, and the first is the decoration", async () => {
  const app = fastify();
  const other = defineAgent({ name: "other", run: () => undefined });
  await app.register(heddlePlugin, { agents: [echo], prefix: "/one" });
  await app.register(heddlePlugin, { agents: [other], prefix: "/two" });
  const url = await listening(app);
  expect((await post(`${url}/one/agents/echo`, {})).status).toBe(200);
  expect((await post(`${url}/two/agents/other`, {})).status).toBe(200);
  expect((await post(`${url}/two/agents/echo`, { threadId: "t2" })).status).toBe(404);
  expect(app.heddle.agents.map(({ name }) => name)).toEqual(["echo"]);
});

test("003 REQ-AC-6.4: origins that are set for this protocol touch its own routes only", async () => {
  const app = fastify();
  app.get("/news", async () => "open to all");
  await app.register(heddlePlugin, { agents: [echo], prefix: "/api/ag-ui", origins: ["https://app.example"] });
  const url = await listening(app);
  const from = async (path: string, origin: string, method = "GET"): Promise<readonly unknown[]> => {
    const headers = { origin, "access-control-request-method": "GET" };
    const answer = await fetch(`${url}${path}`, { method, headers });
    return [answer.status, answer.headers.get("access-control-allow-origin")];
  };
  expect(await from("/api/ag-ui/agents", "https://app.example")).toEqual([200, "https://app.example"]);
  expect(await from("/api/ag-ui/agents", "https://app.example", "OPTIONS")).toEqual([204, "https://app.example"]);
  expect(await from("/api/ag-ui/agents", "https://other.example")).toEqual([403, null]);
  for (const origin of ["https://app.example", "https://other.example"]) {
    expect(await from("/news", origin)).toEqual([200, null]);
    expect(await from("/news", origin, "OPTIONS")).toEqual([404, null]);
  }
});

test("003 REQ-6.2: the parts of server and stream alone run an agent, follow it, verify it and keep its state", async () => {
  const counting = defineAgent({ name: "counting", run: ({ emit }) => emit.state.set({ count: 1 }) });
  const heddle = createHeddle({ agents: [counting] });
  onTestFinished(() => heddle.close());
  const { threadId, runId } = await heddle.start("counting", { threadId: "t1", runId: "r1", messages: [HELLO] });
  const events: Event[] = [];
  const judge = createVerifyState();
  for await (const { event } of (await heddle.attach(threadId, { runId })).events) {
    verify(judge, event);
    events.push(event);
  }
  verifyEnd(judge);
  expect(reduceAll(events)).toMatchObject({ state: { count: 1 }, messages: [HELLO], run: { status: "finished" } });
});

/** What an application logs at a level when a run fails, and when an input has something unknown in it. */
async function loggedAt(
  level: string,
): Promise<readonly { readonly level: number; readonly [name: string]: unknown }[]> {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const app = fastify({ logger: { level, stream } });
  const failing = defineAgent({ name: "failing", run: () => Promise.reject(new Error("out of yarn")) });
  await app.register(heddlePlugin, { agents: [failing] });
  const url = await listening(app);
  await eventsOf(post(`${url}/agents/failing`, { colour: "red" }));
  await app.close();
  return lines.map((line) => JSON.parse(line));
}

test("003 log.2, log.5: an error is logged with its stack trace, and nothing below the level that is set", async () => {
  const [warning, error] = [40, 50];
  const atError = await loggedAt("error");
  expect(atError).toMatchObject([
    { level: error, agent: "failing", runId: "r1", err: { message: "out of yarn", stack: expect.any(String) } },
  ]);
  expect(JSON.stringify(atError)).toContain("seed-hosting.test.ts");
  const levels = async (level: string): Promise<readonly number[]> =>
    (await loggedAt(level)).map((line) => line.level).toSorted();
  expect(await levels("warn")).toEqual([warning, error]);
  expect(await levels("silent")).toEqual([]);
});

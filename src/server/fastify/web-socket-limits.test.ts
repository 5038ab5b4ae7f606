/** What a socket may ask for, how long it may be open, and how it ends: sizes, rates, stalls, age, the server's end. */
import { once } from "node:events";
import { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import { WebSocket } from "ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import { memoryStore } from "../../store/index.ts";
import { pacedAgent } from "../../../test/paced-agent.ts";
import { openSocket } from "../../../test/ws-client.ts";
import type { ServerFrame, TestSocket } from "../../../test/ws-client.ts";
import { heddlePlugin } from "./index.ts";
import type { HeddlePluginOptions } from "./index.ts";

interface Host {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly lines: readonly { readonly msg: string; readonly [name: string]: unknown }[];
  open(): Promise<TestSocket>;
}

/** An application until the test has finished, with what it logs. */
async function host(options: Partial<HeddlePluginOptions> = {}): Promise<Host> {
  const lines: { msg: string }[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const app = fastify({ logger: { level: "info", stream } });
  onTestFinished(() => app.close());
  await app.register(heddlePlugin, { agents: [], shutdownGraceMs: 10, onError: () => undefined, ...options });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const open = async (): Promise<TestSocket> => {
    const socket = await openSocket(url);
    onTestFinished(() => socket.socket.terminate());
    return socket;
  };
  return { app, url, lines, open };
}

const inputOf = (threadId: string): object => ({ threadId, runId: "r1", messages: [], forwardedProps: { go: 1 } });
const isOf =
  (type: string, thread: string) =>
  (frame: ServerFrame): boolean =>
    frame.type === type && frame["thread"] === thread;

/** Says a lot. */
const flood = defineAgent({
  name: "flood",
  run: async ({ emit }) => {
    const text = emit.text();
    for (let index = 0; index < 2500; index++) {
      const room = text.write("x".repeat(10_000));
      if (index % 500 === 0) await room;
    }
    await text.end();
  },
});

describe("WS-LIM-1: sizes and kinds of messages", () => {
  test("one over the limit closes with 4413, one of just that size does not", async () => {
    const { open } = await host({ maxBodyBytes: 1000 });
    const socket = await open();
    const frame = { type: "ping", fill: "" };
    const fill = (bytes: number): object => ({ ...frame, fill: "x".repeat(bytes - JSON.stringify(frame).length) });
    socket.send(fill(1000));
    expect(await socket.next(({ type }) => type === "pong")).toEqual({ type: "pong" });
    socket.send(fill(1001));
    expect((await socket.closed)[0]).toBe(4413);
  });

  test("a binary one closes with 4400, and what is no WebSocket with the code of that", async () => {
    const { open } = await host();
    const [binary, garbled, kept] = [await open(), await open(), await open()];
    binary.socket.send(Buffer.from('{"type":"ping"}'));
    expect(await binary.closed).toEqual([4400, "frame-invalid"]);
    garbled.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect((await garbled.closed)[0]).toBe(1007);
    expect(await kept.ask({ type: "ping" })).toMatchObject({ type: "pong" });
    expect([binary.frames, garbled.frames]).toEqual([[], []]);
  });
});

describe("WS-LIM-2: how much is asked", () => {
  test("one request too many is answered, and the socket goes on", async () => {
    const { open } = await host({ rateLimits: { perPrincipal: { requests: 4, perMs: 200 } } });
    const socket = await open();
    socket.send("{");
    socket.send({ type: "nonsense" });
    socket.send({ type: "ping" });
    socket.send({ type: "ping", ref: "over" });
    const refused = await socket.next(({ ref }) => ref === "over");
    expect(refused).toMatchObject({
      type: "error",
      error: { code: "rate-limited", details: { limit: "perPrincipal" } },
    });
    expect(Object(refused["error"]).details.retryAfterMs).toBeGreaterThan(0);
    const again = async (): Promise<ServerFrame> => {
      const answer = await socket.ask({ type: "ping" });
      return answer.type === "pong" ? answer : again();
    };
    expect(await again()).toMatchObject({ type: "pong" });
  });

  test("so many may be under way at a time", async () => {
    const inner = memoryStore();
    const gate = Promise.withResolvers<void>();
    const thread: typeof inner.thread = async (key) => {
      if (key.threadId === "slow") await gate.promise;
      return inner.thread(key);
    };
    const { open } = await host({ store: { ...inner, thread } });
    const socket = await open();
    const asked = Array.from({ length: 65 }, (_, index) => {
      socket.send({ ref: `r${index}`, type: "attach", thread: "slow" });
      return `r${index}`;
    });
    expect(await socket.next(({ type }) => type === "error")).toMatchObject({
      ref: "r64",
      error: { code: "rate-limited", details: { limit: "socket" } },
    });
    expect(await socket.ask({ type: "ping" })).toMatchObject({ type: "pong" });
    gate.resolve();
    await socket.next(({ ref }) => ref === "r63");
    const answers = socket.frames.filter(({ error }) => Object(error).code === "thread-unknown");
    expect(answers.map(({ ref }) => ref)).toEqual(asked.slice(0, 64));
    expect(await socket.ask({ type: "attach", thread: "none" })).toMatchObject({ error: { code: "thread-unknown" } });
  });

  test("so many threads may be followed on a socket", async () => {
    const store = memoryStore();
    const names = Array.from({ length: 1025 }, (_, index) => `t${index}`);
    for (const threadId of names) {
      const started = { type: "RUN_STARTED", threadId, runId: "r1" };
      const key = { tenant: "default", threadId, runId: "r1" };
      await store.claim({ ...key, agent: "none", leaseMs: 60_000, events: [JSON.stringify(started)] });
    }
    const { open } = await host({ store });
    const socket = await open();
    const attach = async (thread: string): Promise<unknown> =>
      Object((await socket.ask({ type: "attach", thread }))["error"]).code;
    for (let from = 0; from < 1024; from += 32) {
      for (const thread of names.slice(from, from + 32)) socket.send({ ref: thread, type: "attach", thread });
      await socket.next(({ ref }) => ref === `t${from + 31}`);
    }
    expect(await attach("t1024")).toBe("limit-exceeded");
    expect(await attach("t7")).toBeUndefined();
    await socket.ask({ type: "detach", thread: "t7" });
    expect(await attach("t1024")).toBeUndefined();
  });
});

describe("WS-LIM-3: who does not read", () => {
  test("a stalled reader is closed with 4008, others are undisturbed, and it goes on behind its cursor", async () => {
    // Everybody here shares a process: those who read do so from a server that is more patient.
    const store = memoryStore();
    const patient = await host({ agents: [flood], store });
    const { app, open, lines } = await host({ store, keepAliveMs: 500, stallMs: 100 });
    const [reader, stalled, other] = [await patient.open(), await open(), await patient.open()];
    await reader.ask({ type: "run", agent: "flood", input: inputOf("t") });
    await stalled.ask({ type: "attach", thread: "t", run: "r1" });
    stalled.socket.pause();
    await reader.next(isOf("ended", "t"));
    const whole = reader.frames.filter(isOf("event", "t"));
    expect(whole).toHaveLength(2504);
    // It does not hear it, and so is cut a second later; nobody waits for that.
    const isClosed = (): boolean => lines.some(({ msg }) => msg === "socket closed");
    while (!isClosed()) await other.ask({ type: "ping" });
    expect(lines.find(({ msg }) => msg === "socket closed")).toMatchObject({ code: 4008 });
    expect((await app.heddle.health()).viewers).toBe(0);
    stalled.socket.resume();
    await stalled.closed;
    const got = stalled.frames.filter(isOf("event", "t"));
    expect(got.length).toBeLessThan(whole.length);
    const again = await patient.open();
    await again.ask({ type: "attach", thread: "t", run: "r1", after: got.at(-1)?.["id"] });
    await again.next(isOf("ended", "t"));
    expect([...got, ...again.frames.filter(isOf("event", "t"))]).toEqual(whole);
  });

  test("so is one that asks and takes no answers", async () => {
    const { app, open, lines } = await host({ stallMs: 600_000 });
    const socket = await open();
    socket.socket.pause();
    // The answer repeats the name.
    const ask = JSON.stringify({ type: "run", agent: "x".repeat(100_000), input: {} });
    // It is too far behind to hear why it is closed, and so is cut.
    while (app.heddle.telemetry.sockets > 0) {
      for (let index = 0; index < 10; index++) socket.socket.send(ask, () => undefined);
      await nextTurn();
    }
    expect(lines.find(({ msg }) => msg === "socket closed")).toMatchObject({ code: 4008 });
  });
});

describe("how long", () => {
  test("WS-LIV-1: who does not answer pings is cut, and who pings is answered", async () => {
    const { url, open } = await host({ keepAliveMs: 300 });
    const deaf = new WebSocket(`${url.replace("http", "ws")}/ws`, "heddle.v1", { autoPong: false });
    const alive = await open();
    expect((await once(deaf, "close"))[0]).toBe(1006);
    alive.socket.ping();
    await once(alive.socket, "pong");
    await once(alive.socket, "ping");
    expect(await alive.ask({ type: "ping" })).toMatchObject({ type: "pong" });
  });

  test("WS-LIV-2: an idle socket is closed with 4009, one on which something is followed is not", async () => {
    const paced = pacedAgent();
    const { open } = await host({ agents: [paced.agent], keepAliveMs: 300, socketIdleMs: 100 });
    const [busy, idle] = [await open(), await open()];
    await busy.ask({ type: "run", agent: "paced", input: inputOf("t") });
    expect(await idle.closed).toEqual([4009, "idle for too long"]);
    expect(await busy.ask({ type: "ping" })).toMatchObject({ type: "pong" });
    paced.in("t").end();
    await busy.next(isOf("ended", "t"));
    expect(await busy.closed).toEqual([4009, "idle for too long"]);
  });

  test("WS-LIV-2, WS-CLS-3: one that was open for long enough is closed with 4009, whatever it does; its run goes on", async () => {
    const paced = pacedAgent();
    const { open, app } = await host({ agents: [paced.agent], keepAliveMs: 300, socketMaxAgeMs: 100 });
    const socket = await open();
    await socket.ask({ type: "run", agent: "paced", input: inputOf("t") });
    expect(await socket.closed).toEqual([4009, "open for too long"]);
    expect(await app.heddle.run("t", "r1")).toMatchObject({ status: "running" });
    expect((await app.heddle.health()).viewers).toBe(0);
  });
});

describe("the end", () => {
  test("WS-CLS-1, WS-CLS-2: a server that stops closes all sockets with 4000, and answers until then", async () => {
    const paced = pacedAgent();
    const { app, url, open, lines } = await host({ agents: [paced.agent], shutdownGraceMs: 300 });
    const [one, two] = [await open(), await open()];
    await one.ask({ type: "run", agent: "paced", input: inputOf("t") });
    const closed = app.close();
    const late = new WebSocket(`${url.replace("http", "ws")}/ws`, "heddle.v1");
    late.on("error", () => undefined);
    const [, refused] = await once(late, "unexpected-response");
    expect(refused.statusCode).toBe(503);
    late.terminate();
    expect(await two.ask({ type: "attach", thread: "t" })).toMatchObject({ error: { code: "server-closing" } });
    expect(await two.ask({ type: "ping" })).toMatchObject({ type: "pong" });
    expect(await Promise.all([one.closed, two.closed])).toEqual([
      [4000, "going away"],
      [4000, "going away"],
    ]);
    await closed;
    expect(one.frames.slice(-2)).toMatchObject([
      { event: { type: "RUN_ERROR", code: "server-closing" } },
      { type: "ended", thread: "t", run: "r1" },
    ]);
    const told = lines.filter(({ msg }) => msg.startsWith("socket "));
    expect(told.map(({ msg, level, tenant, code }) => [msg, level, tenant, code])).toEqual([
      ["socket opened", 30, "default", undefined],
      ["socket opened", 30, "default", undefined],
      ["socket closed", 30, "default", 4000],
      ["socket closed", 30, "default", 4000],
    ]);
  });

  test("WS-ATT-2: deleting a thread ends its attachment, and the metric tells of open sockets", async () => {
    const paced = pacedAgent();
    const { url, open } = await host({ agents: [paced.agent], cancelGraceMs: 20 });
    const socket = await open();
    paced.in("t").say("one");
    await socket.ask({ type: "run", agent: "paced", input: inputOf("t"), attach: false });
    await socket.ask({ type: "attach", thread: "t" });
    await socket.next(isOf("caught-up", "t"));
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^heddle_sockets(\{[^}]*\})? 1$/m);
    await fetch(`${url}/threads/t`, { method: "DELETE" });
    expect(await socket.next(isOf("ended", "t"))).toMatchObject({ thread: "t" });
    expect(await socket.ask({ type: "attach", thread: "t" })).toMatchObject({ error: { code: "thread-unknown" } });
  });

  test("WS-CLS-3: what comes behind the end of a socket is not done", async () => {
    const paced = pacedAgent();
    const { app, open } = await host({ agents: [paced.agent] });
    const socket = await open();
    socket.socket.send(Buffer.from("end"));
    socket.send({ type: "run", agent: "paced", input: inputOf("t") });
    expect((await socket.closed)[0]).toBe(4400);
    await expect(app.heddle.run("t", "r1")).rejects.toMatchObject({ code: "thread-unknown" });
  });
});

test("WS-OPN-1, 003 future.6: frames are compressed where that is asked for, and say the same", async () => {
  const word = "the same again ".repeat(200);
  const talker = defineAgent({
    name: "talker",
    run: async ({ emit }) => {
      const text = emit.text();
      for (let index = 0; index < 20; index++) await text.write(word);
    },
  });
  const read = async (socketDeflate: boolean) => {
    const { open } = await host({ agents: [talker], socketDeflate });
    const socket = await open();
    await socket.ask({ type: "run", agent: "talker", input: inputOf("t1") });
    await socket.next(isOf("ended", "t1"));
    const said = socket.frames.flatMap(({ event }) => Object(event).delta ?? []);
    const bytes = Number(Object(Reflect.get(socket.socket, "_socket")).bytesRead);
    return { said, bytes, extensions: socket.socket.extensions };
  };
  const [plain, deflated] = [await read(false), await read(true)];
  expect(plain.extensions).toBe("");
  expect(deflated.extensions).toContain("permessage-deflate");
  expect(deflated.said.join("")).toBe(word.repeat(20));
  expect(plain.said.join("")).toBe(word.repeat(20));
  expect(deflated.bytes).toBeLessThan(plain.bytes / 5);
});

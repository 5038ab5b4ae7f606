/** Every frame of `heddle.v1` over real sockets: what it does, and what it is refused with. */
import { fastify } from "fastify";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import { pacedAgent } from "../../../test/paced-agent.ts";
import { openSocket } from "../../../test/ws-client.ts";
import type { ServerFrame, TestSocket } from "../../../test/ws-client.ts";
import { forwardedHeaders } from "../http/index.ts";
import { heddlePlugin, serve } from "./index.ts";
import type { Served } from "./index.ts";

const paced = pacedAgent();
const talker = defineAgent({ name: "talker", run: ({ emit }) => void emit.text().write("hello") });
const caller = defineAgent({
  name: "caller",
  run: ({ emit, input }) => {
    const answer = input.messages.findLast(({ role }) => role === "tool");
    if (answer === undefined) void emit.toolCall("pick", { id: "c1" }).end();
    else void emit.text().write(`picked ${String(answer.content)}`);
  },
});
const asker = defineAgent({
  name: "asker",
  run: async ({ emit }) => {
    const answer = await emit.interrupt({ id: "q1", reason: "sure?", message: "Sure?" });
    void emit.text().write(`answered ${JSON.stringify(answer)}`);
  },
});
const teller = defineAgent({
  name: "teller",
  run: ({ emit }) => void emit.text().write(JSON.stringify(forwardedHeaders())),
});

let server: Served;
beforeAll(async () => {
  const agents = [paced.agent, talker, caller, asker, teller];
  server = await serve({ agents, port: 0, host: "127.0.0.1", cancelGraceMs: 50, forwardHeaders: ["x-tab"] });
});
afterAll(() => server.close());

async function open(headers: Record<string, string> = {}): Promise<TestSocket> {
  const socket = await openSocket(server.url, headers);
  onTestFinished(() => socket.socket.terminate());
  return socket;
}

const inputOf = (threadId: string, runId = "r1", more: object = {}): object => ({
  threadId,
  runId,
  messages: [],
  forwardedProps: { go: 1 },
  ...more,
});
const isOf =
  (type: string, thread: string) =>
  (frame: ServerFrame): boolean =>
    frame.type === type && frame["thread"] === thread;
const isEvent =
  (thread: string, type: string) =>
  (frame: ServerFrame): boolean =>
    isOf("event", thread)(frame) && Object(frame["event"]).type === type;
const eventsOf = ({ frames }: TestSocket, thread: string): readonly ServerFrame[] =>
  frames.filter(isOf("event", thread));
const typesOf = (frames: readonly ServerFrame[]): readonly unknown[] => frames.map(({ event }) => Object(event).type);
const textOf = (frames: readonly ServerFrame[]): string =>
  frames.map(({ event }) => Object(event).delta ?? "").join("");

/** Asks until something has come. */
async function until(socket: TestSocket, isThere: () => boolean): Promise<void> {
  while (!isThere()) await socket.ask({ type: "ping" });
}

/** Starts a run of the paced agent, and waits for its first word. */
async function begin(socket: TestSocket, thread: string, more: object = {}): Promise<void> {
  paced.in(thread).say("one");
  await socket.ask({ type: "run", agent: "paced", input: inputOf(thread), ...more });
  await socket.next(isEvent(thread, "TEXT_MESSAGE_END"));
}

describe("run", () => {
  test("WS-RUN-1, WS-ATT-1: a run is started and followed to its end; the answer comes first", async () => {
    const socket = await open();
    const answer = await socket.ask({ type: "run", agent: "talker", input: inputOf("run-1") });
    expect(answer).toEqual({ type: "ok", ref: "1", thread: "run-1", run: "r1", joined: false });
    expect(await socket.next(isOf("ended", "run-1"))).toEqual({ type: "ended", thread: "run-1", run: "r1" });
    expect(socket.frames[0]).toBe(answer);
    const events = eventsOf(socket, "run-1");
    expect(typesOf(events)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_FINISHED",
    ]);
    expect(events.every(({ run, id }) => run === "r1" && /^\w+_\d{16}$/.test(String(id)))).toBe(true);
  });

  test("WS-RUN-1: the same ids join the run, by a prelude and then live", async () => {
    const [first, second] = [await open(), await open()];
    await begin(first, "run-2");
    const joined = await second.ask({ type: "run", agent: "paced", input: inputOf("run-2") });
    expect(joined).toMatchObject({ type: "ok", run: "r1", joined: true });
    paced.in("run-2").say("two");
    paced.in("run-2").end();
    await Promise.all([first, second].map((socket) => socket.next(isOf("ended", "run-2"))));
    const tail = eventsOf(first, "run-2").slice(-4);
    expect(eventsOf(second, "run-2").slice(-4)).toEqual(tail);
    const prelude = eventsOf(second, "run-2").slice(0, -4);
    expect(typesOf(prelude)).toContain("MESSAGES_SNAPSHOT");
    expect(prelude.map(({ id }) => id !== undefined)).toEqual([...prelude.slice(1).map(() => false), true]);
  });

  test("WS-RUN-1: a run that waits says nothing until it begins", async () => {
    const socket = await open();
    await begin(socket, "run-3", { attach: true });
    const queued = await socket.ask({
      type: "run",
      agent: "talker",
      input: inputOf("run-3", "r2", { messages: [{ id: "u", role: "user", content: "next" }] }),
      onBusy: "enqueue",
    });
    expect(queued).toMatchObject({ type: "ok", run: "r2", joined: false, queued: 1 });
    const before = socket.frames.length;
    paced.in("run-3").end();
    expect(await socket.next(isOf("ended", "run-3"))).toMatchObject({ run: "r2" });
    const after = socket.frames.slice(before).filter(isOf("event", "run-3"));
    expect(new Set(after.map(({ run }) => run))).toEqual(new Set(["r2"]));
    expect(typesOf(after).at(-1)).toBe("RUN_FINISHED");
  });

  test("WS-RUN-2: attach false follows nothing, and a run outlives its socket", async () => {
    const socket = await open();
    paced.in("run-4").say("one");
    expect(await socket.ask({ type: "run", agent: "paced", input: inputOf("run-4"), attach: false })).toMatchObject({
      type: "ok",
      run: "r1",
    });
    socket.socket.close();
    await socket.closed;
    expect(socket.frames).toHaveLength(1);
    const later = await open();
    paced.in("run-4").end();
    await later.ask({ type: "attach", thread: "run-4", run: "r1" });
    await later.next(isOf("ended", "run-4"));
    expect(textOf(eventsOf(later, "run-4"))).toBe("one");
  });

  test.each(["close", "detach", "another attachment"])(
    "WS-RUN-2: onDisconnect cancel stops the run with its last reader: by %s",
    async (how) => {
      const thread = `run-5-${how}`;
      const [runner, watcher] = [await open(), await open()];
      await begin(runner, thread, { onDisconnect: "cancel" });
      await watcher.ask({ type: "attach", thread });
      // To follow the run anew is no leaving.
      await runner.ask({ type: "attach", thread, run: "r1" });
      paced.in(thread).say("two");
      await watcher.next((frame) => isEvent(thread, "TEXT_MESSAGE_CONTENT")(frame) && textOf([frame]) === "two");
      if (how === "close") runner.socket.terminate();
      if (how === "detach") runner.send({ type: "detach", thread });
      if (how === "another attachment") runner.send({ type: "attach", thread });
      const end = await watcher.next(isEvent(thread, "RUN_FINISHED"));
      expect(end["event"]).toMatchObject({ outcome: { type: "cancelled" } });
    },
  );

  test("WS-RUN-2: a socket that goes while its run starts is nobody who reads it", async () => {
    const [runner, watcher] = [await open(), await open()];
    paced.in("run-6").say("one");
    runner.send({ type: "run", agent: "paced", input: inputOf("run-6"), onDisconnect: "cancel" });
    runner.socket.close();
    await runner.closed;
    const attached = async (): Promise<ServerFrame> => {
      const answer = await watcher.ask({ type: "attach", thread: "run-6" });
      return answer.type === "ok" ? answer : attached();
    };
    await attached();
    expect(await watcher.next(isEvent("run-6", "RUN_FINISHED"))).toMatchObject({
      event: { outcome: { type: "cancelled" } },
    });
  });

  test("WS-RUN-3: chosen headers are those of the upgrade", async () => {
    const socket = await open({ "x-tab": "7", "x-other": "8" });
    await socket.ask({ type: "run", agent: "teller", input: inputOf("run-7") });
    await socket.next(isOf("ended", "run-7"));
    expect(textOf(eventsOf(socket, "run-7"))).toBe('{"x-tab":"7"}');
  });

  test("WS-RUN-3: what is refused starts nothing, and the same run again starts or joins once", async () => {
    const socket = await open();
    const refusals = [
      [{ agent: "nobody", input: inputOf("run-8") }, "agent-unknown"],
      [{ agent: "talker", input: { threadId: "run-8" } }, "input-invalid"],
    ] as const;
    for (const [frame, code] of refusals) {
      expect(await socket.ask({ type: "run", ...frame })).toMatchObject({ type: "error", error: { code } });
    }
    expect(await socket.ask({ type: "attach", thread: "run-8" })).toMatchObject({ error: { code: "thread-unknown" } });
    const answers = await Promise.all(
      ["a", "b"].map((ref) => {
        socket.send({ ref, type: "run", agent: "talker", input: inputOf("run-8") });
        return socket.next((frame) => frame["ref"] === ref);
      }),
    );
    expect(answers.map(({ joined }) => joined).toSorted()).toEqual([false, true]);
  });
});

describe("answers, stops and claims", () => {
  test("WS-ANS-1, WS-TCL-1: a frontend call is claimed by one, and answered", async () => {
    const [one, two] = [await open(), await open()];
    const tools = [{ name: "pick", description: "Picks.", parameters: { type: "object" } }];
    await one.ask({ type: "run", agent: "caller", input: inputOf("call-1", "r1", { tools }) });
    await one.next(isOf("ended", "call-1"));
    const claim = { type: "claim", thread: "call-1", call: "c1", leaseMs: 5000 };
    const held = await one.ask({ ...claim, holder: "tab 1" });
    expect(held).toMatchObject({ type: "ok", thread: "call-1", call: "c1" });
    expect(Date.parse(String(held["until"]))).toBeGreaterThan(0);
    expect(await two.ask({ ...claim, holder: "tab 2" })).toMatchObject({ error: { code: "tool-call-taken" } });
    await one.ask({ ...claim, holder: "tab 1", leaseMs: 0 });
    expect(await two.ask({ ...claim, holder: "tab 2" })).toMatchObject({ type: "ok" });
    expect(await two.ask({ ...claim, holder: "tab 2", leaseMs: -1 })).toMatchObject({
      error: { code: "frame-invalid" },
    });
    expect(await two.ask({ ...claim, call: "c2", holder: "tab 2" })).toMatchObject({
      error: { code: "tool-call-closed" },
    });
    const results = [{ toolCallId: "c1", content: "red" }];
    const answered = await two.ask({ type: "answer", agent: "caller", thread: "call-1", run: "r2", results, tools });
    expect(answered).toMatchObject({ type: "ok", thread: "call-1", run: "r2", joined: false });
    await two.next(isOf("ended", "call-1"));
    expect(textOf(eventsOf(two, "call-1"))).toBe("picked red");
    expect(await one.ask({ ...claim, holder: "tab 1" })).toMatchObject({ error: { code: "tool-call-closed" } });
  });

  test("WS-ANS-1: a question is answered once, under an id of the client's or of ours", async () => {
    const socket = await open();
    await socket.ask({ type: "run", agent: "asker", input: inputOf("ask-1") });
    await socket.next(isOf("ended", "ask-1"));
    const answer = { type: "answer", agent: "asker", thread: "ask-1" };
    expect(await socket.ask(answer)).toMatchObject({ error: { code: "frame-invalid", details: { path: "/resume" } } });
    expect(await socket.ask({ type: "run", agent: "asker", input: inputOf("ask-1", "r2") })).toMatchObject({
      error: { code: "answers-missing" },
    });
    const resume = [{ interruptId: "q1", status: "resolved", payload: "yes" }];
    const wrong = await socket.ask({ ...answer, resume: [{ interruptId: "q9", status: "resolved", payload: 1 }] });
    expect(wrong.type).toBe("error");
    const first = await socket.ask({ ...answer, resume });
    expect(first).toMatchObject({ type: "ok", joined: false });
    expect(String(first["run"])).toMatch(/^[\w-]{36}$/);
    await socket.next(isOf("ended", "ask-1"));
    expect(textOf(eventsOf(socket, "ask-1"))).toContain('"yes"');
    // The same answer again, under the id of the run that asked: it joins, and is shown under the id that the log has.
    const again = await socket.ask({ ...answer, resume, run: "r1" });
    expect(again).toMatchObject({ type: "ok", joined: true, run: first["run"] });
    const ended = await socket.next(isOf("ended", "ask-1"));
    expect(ended["run"]).toBe(first["run"]);
    expect(eventsOf(socket, "ask-1").at(-1)).toMatchObject({ run: first["run"], event: { runId: first["run"] } });
  });

  test("WS-CAN-1: cancel answers how the run ended, also one that had ended before", async () => {
    const socket = await open();
    await begin(socket, "stop-1");
    const cancel = { type: "cancel", thread: "stop-1", run: "r1" };
    expect(await socket.ask(cancel)).toMatchObject({ type: "ok", thread: "stop-1", run: "r1", status: "cancelled" });
    expect(await socket.ask(cancel)).toMatchObject({ status: "cancelled" });
    const ends = eventsOf(socket, "stop-1").filter(isEvent("stop-1", "RUN_FINISHED"));
    expect(ends).toMatchObject([{ event: { outcome: { type: "cancelled" } } }]);
    await socket.ask({ type: "run", agent: "talker", input: inputOf("stop-2") });
    await socket.next(isOf("ended", "stop-2"));
    expect(await socket.ask({ type: "cancel", thread: "stop-2", run: "r1" })).toMatchObject({ status: "finished" });
    expect(await socket.ask({ type: "cancel", thread: "stop-2", run: "r9" })).toMatchObject({
      error: { code: "run-unknown" },
    });
    expect(await socket.ask({ type: "cancel", thread: "none", run: "r9" })).toMatchObject({
      error: { code: "thread-unknown" },
    });
  });

  test("WS-CAN-1: against the end of the run, whichever comes first, there is one end", async () => {
    const socket = await open();
    for (let index = 0; index < 20; index++) {
      const thread = `race-${index}`;
      await begin(socket, thread);
      paced.in(thread).end();
      const { status } = await socket.ask({ type: "cancel", thread, run: "r1" });
      await until(socket, () => socket.frames.some(isOf("ended", thread)));
      const [end, ...more] = eventsOf(socket, thread).filter(isEvent(thread, "RUN_FINISHED"));
      expect(more).toEqual([]);
      const outcome: unknown = Object(end?.["event"]).outcome?.type;
      expect(status).toBe(outcome === "cancelled" ? "cancelled" : "finished");
    }
  });
});

describe("attach and detach", () => {
  test("WS-ATT-2: caught-up once, and ended where a run or what is there is over", async () => {
    const socket = await open();
    await begin(socket, "att-1");
    const attached = await socket.ask({ type: "attach", thread: "att-1" });
    await socket.next(isOf("caught-up", "att-1"));
    paced.in("att-1").say("two");
    paced.in("att-1").end();
    const last = await socket.next(isEvent("att-1", "RUN_FINISHED"));
    // A branch goes on with the next run.
    await socket.ask({ type: "run", agent: "talker", input: inputOf("att-1", "r2"), attach: false });
    await socket.next(isEvent("att-1", "RUN_FINISHED"));
    const told = socket.frames.slice(socket.frames.indexOf(attached));
    expect(told.filter(isOf("caught-up", "att-1"))).toHaveLength(1);
    expect(told.filter(isOf("ended", "att-1"))).toHaveLength(0);
    const from = socket.frames.length;
    expect(await socket.ask({ type: "attach", thread: "att-1", follow: false })).toMatchObject({ finished: false });
    await socket.next(isOf("ended", "att-1"));
    const frames = socket.frames.slice(from + 1);
    expect(frames.map(({ type }) => type)).toEqual([...frames.slice(1).map(() => "event"), "ended"]);
    const over = await socket.ask({ type: "attach", thread: "att-1", run: "r1", after: last["id"] });
    expect(over).toMatchObject({ type: "ok", reset: false, finished: true });
    expect(await socket.next(isOf("ended", "att-1"))).toBe(socket.frames.at(-1));
    expect(socket.frames.at(-2)).toBe(over);
  });

  test("WS-ATT-1: a cursor of another log is a reset, or an error where that is asked for", async () => {
    const socket = await open();
    await socket.ask({ type: "run", agent: "talker", input: inputOf("att-2") });
    await socket.next(isOf("ended", "att-2"));
    const after = `${"0".repeat(32)}_${"1".padStart(16, "0")}`;
    expect(await socket.ask({ type: "attach", thread: "att-2", after, onGap: "error" })).toMatchObject({
      error: { code: "cursor-trimmed" },
    });
    expect(await socket.ask({ type: "attach", thread: "att-2", after: "nonsense" })).toMatchObject({
      error: { code: "cursor-invalid" },
    });
    const from = socket.frames.length;
    expect(await socket.ask({ type: "attach", thread: "att-2", after })).toMatchObject({ reset: true });
    await socket.next(isOf("caught-up", "att-2"));
    const told = socket.frames.slice(from).filter(isOf("event", "att-2"));
    expect(typesOf(told)).toContain("MESSAGES_SNAPSHOT");
    expect(told.filter(({ id }) => id !== undefined)).toHaveLength(1);
  });

  test("WS-ATT-3: a new attachment takes the place of the old one at its answer, a refused one does not", async () => {
    const socket = await open();
    await begin(socket, "att-3");
    const from = socket.frames.length;
    const refused = await socket.ask({ type: "attach", thread: "att-3", after: "nonsense" });
    expect(refused.type).toBe("error");
    paced.in("att-3").say("two");
    await socket.next(isEvent("att-3", "TEXT_MESSAGE_END"));
    // Answers in the order asked, whatever is under way; the last one counts.
    for (const ref of ["x", "y", "z"]) socket.send({ ref, type: "attach", thread: "att-3" });
    const placed = await socket.next(({ ref }) => ref === "z");
    await socket.next(isOf("caught-up", "att-3"));
    const refs = socket.frames.slice(from).flatMap(({ ref }) => (/[xyz]/.test(String(ref)) ? [ref] : []));
    expect(refs).toEqual(["x", "y", "z"]);
    paced.in("att-3").say("three");
    paced.in("att-3").end();
    await socket.next(isEvent("att-3", "RUN_FINISHED"));
    const after = socket.frames.slice(socket.frames.indexOf(placed)).filter(isOf("event", "att-3"));
    expect(textOf(after)).toBe("onetwothree");
    expect(new Set(after.map(({ id }) => id)).size).toBe(after.length);
    expect(socket.frames.filter(isOf("ended", "att-3"))).toHaveLength(0);
  });

  test("WS-ATT-3, WS-FRM-3: detach is done after what was asked before, and nothing comes behind its answer", async () => {
    const [socket, other] = [await open(), await open()];
    await begin(socket, "att-4");
    await other.ask({ type: "attach", thread: "att-4" });
    for (let round = 0; round < 10; round++) {
      socket.send({ type: "attach", thread: "att-4" });
      paced.in("att-4").say("more", "and more");
      const detached = await socket.ask({ type: "detach", thread: "att-4" });
      expect(detached).toMatchObject({ type: "ok", thread: "att-4" });
      paced.in("att-4").say(`round ${round}`);
      await other.next((frame) => textOf([frame]) === `round ${round}`);
      expect(await socket.ask({ type: "ping" })).toMatchObject({ type: "pong" });
      const behind = socket.frames.slice(socket.frames.indexOf(detached) + 1);
      expect(behind.map(({ type }) => type)).toEqual(["pong"]);
    }
    expect(await socket.ask({ type: "detach", thread: "nowhere" })).toEqual({
      type: "ok",
      ref: expect.any(String),
      thread: "nowhere",
    });
    paced.in("att-4").end();
  });

  test("WS-ATT-1: two threads on one socket, each in its order", async () => {
    const socket = await open();
    await Promise.all(
      ["two-a", "two-b"].map((thread) => socket.ask({ type: "run", agent: "paced", input: inputOf(thread) })),
    );
    for (let index = 0; index < 20; index++) {
      paced.in("two-a").say(`a${index}`);
      paced.in("two-b").say(`b${index}`);
    }
    paced.in("two-a").end();
    paced.in("two-b").end();
    await until(socket, () => ["two-a", "two-b"].every((thread) => socket.frames.some(isOf("ended", thread))));
    for (const thread of ["two-a", "two-b"]) {
      const events = eventsOf(socket, thread);
      const ids = events.map(({ id }) => String(id));
      expect(ids).toEqual([...new Set(ids)].toSorted());
      const letter = thread.at(-1);
      expect(textOf(events)).toBe(Array.from({ length: 20 }, (_, index) => `${letter}${index}`).join(""));
    }
  });

  test("WS-CLS-3: with a socket everything ends that was followed on it, and nothing else", async () => {
    const app = fastify();
    onTestFinished(() => app.close());
    const own = pacedAgent();
    await app.register(heddlePlugin, { agents: [own.agent] });
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    const socket = await openSocket(url);
    const watcher = await openSocket(url);
    for (const thread of ["x", "y", "z"]) await socket.ask({ type: "run", agent: "paced", input: inputOf(thread) });
    await watcher.ask({ type: "attach", thread: "x" });
    expect((await app.heddle.health()).viewers).toBe(4);
    expect(app.heddle.telemetry.sockets).toBe(2);
    // What is asked for and under way when it ends comes to nothing.
    socket.send({ type: "attach", thread: "x" });
    socket.socket.close();
    await socket.closed;
    own.in("x").say("still here");
    await watcher.next(isEvent("x", "TEXT_MESSAGE_END"));
    const { viewers, runs } = await app.heddle.health();
    expect([viewers, runs, app.heddle.telemetry.sockets]).toEqual([1, 3, 1]);
    for (const thread of ["x", "y", "z"]) own.in(thread).end();
    await watcher.next(isEvent("x", "RUN_FINISHED"));
    watcher.socket.close();
    await watcher.closed;
  });
});

describe("what cannot be read", () => {
  test("WS-FRM-1, WS-FRM-2: it is answered, under its ref where it has one, and the socket goes on", async () => {
    const socket = await open();
    const cases: readonly (readonly [object | string, object])[] = [
      ["{", { error: { code: "json-invalid" } }],
      ["", { error: { code: "json-invalid" } }],
      ["null", { error: { code: "frame-invalid", details: { path: "" } } }],
      ["[1]", { error: { code: "frame-invalid", details: { path: "" } } }],
      [`${"[".repeat(600)}${"]".repeat(600)}`, { error: { code: "limit-exceeded" } }],
      [{ ref: "a" }, { ref: "a", error: { code: "frame-invalid", details: { path: "/type", received: "nothing" } } }],
      [
        { ref: "b", type: "constructor" },
        { ref: "b", error: { details: { path: "/type" } } },
      ],
      [
        { ref: "c", type: "attach" },
        { ref: "c", error: { details: { path: "/thread", expected: "a text" } } },
      ],
      [
        { ref: "d", type: "attach", thread: 7 },
        { ref: "d", error: { details: { received: "7" } } },
      ],
      [
        { ref: "e", type: "attach", thread: "t", follow: "no" },
        { ref: "e", error: { details: { path: "/follow" } } },
      ],
      [
        { ref: "f", type: "run", agent: "talker", input: [] },
        { ref: "f", error: { details: { path: "/input" } } },
      ],
      [
        { ref: "g", type: "run", agent: "talker", input: {}, onBusy: "no" },
        { error: { details: { path: "/onBusy" } } },
      ],
      [{ type: "ping", ref: 7 }, { error: { code: "frame-invalid", details: { path: "/ref" } } }],
      [{ type: "ping", ref: "x".repeat(129) }, { error: { details: { path: "/ref" } } }],
      [
        { type: "ping", ref: "x".repeat(128), more: true },
        { type: "pong", ref: "x".repeat(128) },
      ],
      [{ type: "ping" }, { type: "pong" }],
    ];
    for (const [frame] of cases) socket.send(frame);
    await socket.next(() => socket.frames.length === cases.length);
    expect(socket.frames).toMatchObject(cases.map(([, answer]) => answer));
  });
});

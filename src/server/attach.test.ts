import { describe, expect, test } from "vitest";
import { agentOf, bodyOf, checkStream, collect, framesOf, runToEnd, served, sourceOf } from "../../test/served.ts";
import { reduceAll } from "../stream/index.ts";
import type { AttachOptions, Attachment, LoggedEvent } from "./index.ts";
import { SSE } from "./index.ts";

const echo = agentOf(async ({ input, emit }) => void (await emit.text({ id: `m-${input.runId}` }).write(input.runId)));

/** r1, and r2 and r3 on it, side by side. The thread's head is r3. */
async function forked() {
  const heddle = served(echo);
  await runToEnd(heddle, bodyOf("r1"));
  await runToEnd(heddle, bodyOf("r2"));
  await runToEnd(heddle, bodyOf("r3", { parentRunId: "r1" }));
  return heddle;
}

const runsOf = (seen: readonly LoggedEvent[]): string => [...new Set(seen.map(({ runId }) => runId))].join(" ");

describe("HTTP-ATT-1: what is followed", () => {
  test.each<[string, AttachOptions, string]>([
    ["the branch of the thread's head", {}, "r1 r3"],
    ["another branch", { head: "r2" }, "r1 r2"],
    ["a branch up to a run that others continue", { head: "r1" }, "r1"],
    ["one run", { runId: "r2" }, "r2"],
    ["the whole log", { all: true }, "r1 r2 r3"],
  ])("is %s", async (_, options, runs) => {
    const heddle = await forked();
    expect(runsOf(await collect(heddle, { follow: false, ...options }))).toBe(runs);
  });

  test("is refused where there is no such run", async () => {
    const heddle = await forked();
    await expect(heddle.attach("t1", { head: "r9" })).rejects.toMatchObject({ code: "run-unknown" });
  });

  test("grows with the run that continues the branch, and with no other", async () => {
    const heddle = await forked();
    const gone = new AbortController();
    const seen: string[] = [];
    const starts = { r3: bodyOf("r4", { parentRunId: "r1" }), r5: bodyOf("r6") };
    for await (const { event, runId } of (await heddle.attach("t1", { signal: gone.signal })).events) {
      if (event.type === "RUN_STARTED") seen.push(runId);
      if (event.type !== "RUN_FINISHED") continue;
      // A fork is started beside us, which becomes the head; then the branch that we follow goes on, twice.
      if (runId === "r3") {
        await runToEnd(heddle, starts.r3);
        await runToEnd(heddle, bodyOf("r5", { parentRunId: "r3" }));
      }
      if (runId === "r5") await runToEnd(heddle, starts.r5);
      if (runId === "r6") gone.abort();
    }
    expect(seen).toEqual(["r1", "r3", "r5", "r6"]);
  });

  test("grows from a run that others continued before with the next one that does", async () => {
    const heddle = await forked();
    const gone = new AbortController();
    const seen: string[] = [];
    for await (const { event, runId } of (await heddle.attach("t1", { head: "r1", signal: gone.signal })).events) {
      if (event.type !== "RUN_FINISHED") continue;
      seen.push(runId);
      if (runId === "r1") await runToEnd(heddle, bodyOf("r9", { parentRunId: "r1" }));
      else gone.abort();
    }
    expect(seen).toEqual(["r1", "r9"]);
  });

  test("grows where the viewer comes late, and reads it all from the store", async () => {
    const heddle = await forked();
    const gone = new AbortController();
    const { events } = await heddle.attach("t1", { signal: gone.signal });
    for (let index = 4; index < 80; index++) await runToEnd(heddle, bodyOf(`r${index}`));
    const seen: string[] = [];
    for await (const { event, runId } of events) {
      if (event.type === "RUN_FINISHED") seen.push(runId);
      if (runId === "r79" && event.type === "RUN_FINISHED") gone.abort();
    }
    expect(seen).toEqual(["r1", "r3", ...Array.from({ length: 76 }, (_, index) => `r${index + 4}`)]);
  });

  test("as a whole log names the run of each event on the wire", async () => {
    const heddle = await forked();
    const text = await framesOf(heddle, SSE, { all: true, follow: false });
    const named = [...text.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json).metadata.heddle.runId);
    expect(named).toEqual((await collect(heddle, { all: true, follow: false })).map(({ runId }) => runId));
  });
});

/** Everything that an attachment gives, and what it comes to. */
async function joined({ events }: Attachment) {
  const seen: LoggedEvent[] = [];
  for await (const each of events) seen.push(each);
  const plain = seen.map(({ event }) => event);
  checkStream(plain);
  return { seen, types: plain.map(({ type }) => type), view: reduceAll(plain) };
}

describe("HTTP-ATT-2: a cursor that means nothing here any more", () => {
  const FOREIGN = "zzzzzzzzzzzz_0000000000000003";

  test("gets a prelude in place of it all, and is told so", async () => {
    const heddle = await forked();
    const attachment = await heddle.attach("t1", { after: FOREIGN, follow: false });
    expect(attachment).toMatchObject({ reset: true, finished: false });
    const { seen, types, view } = await joined(attachment);
    expect(types).toEqual(["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    expect(view.messages.map(({ content }) => content)).toEqual(["r1", "r3"]);
    const { tail, logId } = (await heddle.store.thread({ tenant: "default", threadId: "t1" })) ?? {
      tail: 0,
      logId: "",
    };
    expect(seen.map(({ cursor }) => cursor)).toEqual([
      undefined,
      undefined,
      `${logId}_${String(tail).padStart(16, "0")}`,
    ]);
    expect((await heddle.attach("t1", { after: seen.at(-1)?.cursor })).reset).toBe(false);
  });

  test("is one that retention has overtaken, and the absence of one then", async () => {
    const heddle = await forked();
    const [first] = await collect(heddle, { follow: false });
    await heddle.close();
    await heddle.store.trim(Infinity);
    const later = served(echo, { store: heddle.store });
    for (const after of [first?.cursor, undefined]) {
      const attachment = await later.attach("t1", { after, follow: false });
      expect(attachment.reset).toBe(true);
      expect((await joined(attachment)).view.messages.map(({ content }) => content)).toEqual(["r1", "r3"]);
      const strict = later.attach("t1", { after, onGap: "error" });
      await expect(strict).rejects.toMatchObject({ code: "cursor-trimmed", status: 410 });
      await expect(later.attach("t1", { after, all: true })).rejects.toMatchObject({ code: "cursor-trimmed" });
    }
    const run = await later.attach("t1", { runId: "r1" });
    expect(run).toMatchObject({ reset: true, finished: false });
    expect((await joined(run)).view.messages.map(({ content }) => content)).toEqual(["r1"]);
  });

  test("is an error where that is asked for, and one that is no cursor always is", async () => {
    const heddle = await forked();
    const reasonOf = async (options: AttachOptions): Promise<unknown> =>
      heddle.attach("t1", options).then(
        () => "none",
        (error: { details: { reason: string } }) => error.details.reason,
      );
    const [{ cursor = "" } = {}] = await collect(heddle, { follow: false });
    expect(await reasonOf({ after: FOREIGN, onGap: "error" })).toBe("foreign");
    expect(await reasonOf({ after: FOREIGN, all: true })).toBe("foreign");
    expect(await reasonOf({ after: "7" })).toBe("malformed");
    expect(await reasonOf({ after: cursor.replace(/\d{16}$/, "0000000000009999") })).toBe("ahead");
  });
});

describe("HTTP-CON-1: connecting", () => {
  test("to a thread that does not exist gives nothing", async () => {
    const heddle = served(echo);
    const attachment = await heddle.connect("test", { threadId: "t9" });
    expect(attachment).toMatchObject({ finished: false, reset: false });
    const seen: unknown[] = [];
    for await (const each of attachment.events) seen.push(each);
    for await (const each of attachment.frames(SSE)) seen.push(each);
    expect(seen).toEqual([]);
  });

  test("to an idle thread gives a closed run", async () => {
    const heddle = await forked();
    const { types, view } = await joined(await heddle.connect("test", bodyOf("whatever")));
    expect(types).toEqual(["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    expect(view).toMatchObject({ run: { runId: "r3", status: "finished" } });
  });

  test("to a running one gives what there is, and then the rest of the run", async () => {
    const go = Promise.withResolvers<void>();
    const heddle = served(
      agentOf(async ({ emit }) => {
        const reply = emit.text();
        await reply.write("one ");
        await go.promise;
        await reply.write("two");
      }),
    );
    await heddle.start("test", bodyOf());
    for await (const { event } of (await heddle.attach("t1", { runId: "r1" })).events) {
      if (event.type === "TEXT_MESSAGE_CONTENT") break;
    }
    const attachment = await heddle.connect("test", { threadId: "t1" });
    go.resolve();
    const { types, view } = await joined(attachment);
    expect(types.slice(0, 3)).toEqual(["RUN_STARTED", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START"]);
    expect(view.messages.map(({ content }) => content)).toEqual(["one two"]);
  });

  test("asks for a thread and an agent", async () => {
    const heddle = served(echo);
    await expect(heddle.connect("nobody", { threadId: "t1" })).rejects.toMatchObject({ code: "agent-unknown" });
    for (const body of [{}, 7, { threadId: "" }]) {
      await expect(heddle.connect("test", body)).rejects.toMatchObject({ code: "input-invalid" });
    }
  });
});

describe("how the server is", () => {
  test("it says whether it takes runs, and how many there are", async () => {
    const heddle = served(sourceOf());
    expect(await heddle.health()).toEqual({ ready: true, store: "ok", runs: 0, viewers: 0, repairs: 0 });
    await runToEnd(heddle);
    const iterator = (await heddle.attach("t1")).events[Symbol.asyncIterator]();
    await iterator.next();
    expect(await heddle.health()).toMatchObject({ viewers: 1 });
    await iterator.return?.();
    await heddle.close();
    await heddle.store.close();
    const { ready, store } = await heddle.health();
    expect([ready, store]).toEqual([false, expect.stringMatching(/.{10,}/)]);
  });

  test("it says what an agent can do", () => {
    const heddle = served(echo);
    expect(heddle.capabilities("test")).toMatchObject({
      identity: { name: "test" },
      transport: { streaming: true, resumable: true },
    });
    expect(() => heddle.capabilities("nobody")).toThrow(expect.objectContaining({ code: "agent-unknown" }));
  });
});

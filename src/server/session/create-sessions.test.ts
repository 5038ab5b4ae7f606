/** The API of sessions, without a transport: the seed's protocol handler and session manager. */
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { agentOf, served } from "../../../test/served.ts";
import type { Agent } from "../../agent/index.ts";
import type { SessionEvent, SessionRunInput } from "../../protocol/session/index.ts";
import type { Heddle } from "../index.ts";
import { createSessions } from "./index.ts";
import type { SessionLogger, SessionOptions, Sessions } from "./index.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const echo = agentOf(async ({ input, emit }) => {
  const call = emit.toolCall("look");
  await call.end();
  await emit.toolResult(call.id, "seen");
  await emit.text().write(`${input.messages.length}`);
});

function sessionsOf(
  agent: Agent = echo,
  options: SessionOptions = {},
  onLog?: SessionLogger,
): { readonly sessions: Sessions; readonly heddle: Heddle } {
  const heddle = served(agent);
  onTestFinished(() => heddle.close());
  return { sessions: createSessions(heddle, options, onLog), heddle };
}

const saying = (content: string): SessionRunInput => ({
  type: "run-agent",
  data: { messages: [{ role: "user", content }] },
});

async function all(events: AsyncIterable<SessionEvent>): Promise<readonly SessionEvent[]> {
  const seen: SessionEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

const ALICE = { tenant: "acme", user: "alice", roles: [] } as const;
const BOB = { tenant: "acme", user: "bob", roles: [] } as const;

afterEach(() => void vi.useRealTimers());

describe("003 api/protocol-handler", () => {
  test("003 api/protocol-handler.1, REQ-PR-3.1, REQ-SM-1.1.id: creating a session gives a new id, a GUID", async () => {
    const { sessions } = sessionsOf();
    const ids = await Promise.all([1, 2, 3].map(() => sessions.createSession()));
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(3);
    expect(sessions.size).toBe(3);
  });

  test("003 api/protocol-handler.2, REQ-PR-1.4, REQ-PR-2.4: processing a request streams its events, to agent-response-complete", async () => {
    const { sessions } = sessionsOf();
    const id = await sessions.createSession();
    for (const given of ["1", "5"]) {
      const events = await all(sessions.processRequest(id, saying("Hello")));
      expect(events.map(({ type }) => type)).toEqual([
        "tool-call-chunk",
        "tool-call-complete",
        "tool-result-chunk",
        "tool-result-complete",
        "text-chunk",
        "text-message-complete",
        "agent-response-complete",
      ]);
      expect(events[4]).toMatchObject({ sessionId: id, data: { text: given } });
    }
    await expect(all(sessions.processRequest("none", saying("Hello")))).rejects.toMatchObject({
      code: "thread-unknown",
    });
    const wrong = JSON.parse('{"type":"run-agent","data":{}}');
    await expect(all(sessions.processRequest(id, wrong))).rejects.toMatchObject({ code: "session-invalid" });
  });

  test("003 api/protocol-handler.3, REQ-PR-3.4, REQ-PR-3.5: ending a session frees it, and its history can still be fetched", async () => {
    const { sessions } = sessionsOf();
    const id = await sessions.createSession();
    await all(sessions.processRequest(id, saying("Hello")));
    await sessions.endSession(id);
    expect([sessions.size, await sessions.get(id)]).toEqual([0, undefined]);
    expect((await sessions.conversationHistory(id)).map(({ message }) => message.role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
    ]);
    await sessions.endSession(id);
  });

  test("003 api/protocol-handler.4: aborting stops the run, which ends as cancelled; leaving the loop does not", async () => {
    const { sessions, heddle } = sessionsOf(
      agentOf(async ({ emit, signal }) => {
        await emit.text().write("on my way");
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
      }),
    );
    const id = await sessions.createSession();
    const stop = new AbortController();
    const seen: SessionEvent[] = [];
    for await (const event of sessions.processRequest(id, saying("Go"), { signal: stop.signal })) {
      seen.push(event);
      stop.abort();
    }
    expect(seen.at(-1)).toMatchObject({ type: "agent-response-complete", data: { outcome: "cancelled" } });
    for await (const _ of sessions.processRequest(id, saying("Go on"))) break;
    expect(await heddle.threads.summary(id)).toMatchObject({ status: "running" });
  });
});

describe("003 api/session-manager", () => {
  test("003 api/session-manager.1, api/session-manager.2, REQ-SM-1.5: get gives the session or undefined, get-or-create the one that exists or a new one", async () => {
    const { sessions } = sessionsOf();
    expect(await sessions.get("s1")).toBeUndefined();
    const made = await sessions.getOrCreate("s1");
    expect(made.sessionId).toBe("s1");
    await all(sessions.processRequest("s1", saying("Hello")));
    expect((await sessions.getOrCreate("s1")).createdAt).toEqual(made.createdAt);
    expect(await sessions.get("s1")).toMatchObject({ sessionId: "s1" });
    expect(sessions.size).toBe(1);
    await sessions.endSession("s1");
    // The thread goes on as a session.
    expect(await (await sessions.getOrCreate("s1")).conversationHistory()).toHaveLength(4);
  });

  test("003 REQ-SM-1.1, REQ-PR-3.2, REQ-PR-3.3, api/session-manager.session-fields: a session has id, times, history, agent, options, metadata and tool calls, all of them current", async () => {
    const { sessions } = sessionsOf(echo, { timeoutMs: 1234 });
    const before = Date.now();
    const id = await sessions.createSession({ metadata: { page: 7 } });
    const session = await sessions.get(id);
    if (session === undefined) throw new Error("none");
    expect(session).toMatchObject({
      sessionId: id,
      endpoint: "test",
      agent: { name: "test" },
      options: { timeoutMs: 1234, history: 100 },
      metadata: { page: 7 },
    });
    expect(session.createdAt.getTime()).toBeGreaterThanOrEqual(before);
    expect([await session.conversationHistory(), await session.toolCalls()]).toEqual([[], []]);
    const { lastActivityAt } = session;
    vi.setSystemTime(Date.now() + 60_000);
    await all(sessions.processRequest(id, saying("Hello")));
    expect(session.lastActivityAt.getTime()).toBeGreaterThan(lastActivityAt.getTime() + 59_000);
    const history = await session.conversationHistory();
    expect(history.map(({ message }) => message.role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(history[0]).toMatchObject({ message: { content: "Hello" }, timestamp: expect.stringContaining("T") });
    expect(await session.toolCalls()).toMatchObject([
      { name: "look", status: "completed", result: "seen", startedAtMs: expect.any(Number) },
    ]);
  });

  test("003 api/session-manager.3: update keeps metadata with the thread, also what was said before there was one", async () => {
    const { sessions, heddle } = sessionsOf();
    const id = await sessions.createSession();
    expect(await sessions.update(id, { metadata: { page: 1 } })).toMatchObject({ metadata: { page: 1 } });
    await all(sessions.processRequest(id, saying("Hello")));
    expect((await heddle.threads.summary(id)).metadata).toEqual({ page: 1 });
    await sessions.update(id, { metadata: { page: 2 } });
    await sessions.endSession(id);
    expect((await sessions.getOrCreate(id)).metadata).toEqual({ page: 2 });
    await expect(sessions.update("none", { metadata: {} })).rejects.toMatchObject({ code: "thread-unknown" });
  });

  test("003 api/session-manager.4: remove deletes a session and all that was said in it", async () => {
    const { sessions } = sessionsOf();
    const id = await sessions.createSession();
    await all(sessions.processRequest(id, saying("Hello")));
    await sessions.remove(id);
    expect(await sessions.get(id)).toBeUndefined();
    await expect(sessions.conversationHistory(id)).rejects.toMatchObject({ code: "thread-unknown" });
    // One in which nothing was said has nothing else to delete.
    const empty = await sessions.createSession();
    await sessions.remove(empty);
    expect(sessions.size).toBe(0);
  });

  test("nobody finds or uses the sessions of another", async () => {
    const { sessions } = sessionsOf();
    const [alice, bob] = [sessions.as(ALICE), sessions.as(BOB)];
    const id = await alice.createSession();
    expect(await bob.get(id)).toBeUndefined();
    await all(alice.processRequest(id, saying("Hello")));
    await expect(bob.conversationHistory(id)).rejects.toMatchObject({ code: "thread-unknown" });
    await expect(bob.remove(id)).rejects.toMatchObject({ code: "thread-unknown" });
    // Under the same id bob would begin a thread of his own, and that id is taken.
    await bob.getOrCreate(id);
    await expect(all(bob.processRequest(id, saying("Hello")))).rejects.toMatchObject({ code: "thread-unknown" });
    const watcher = sessions.as({ ...BOB, roles: ["observer"] });
    await expect(watcher.createSession()).rejects.toMatchObject({ code: "role-missing" });
  });
});

describe("003 REQ-SM-4", () => {
  test("003 REQ-SM-4.1, REQ-SM-4.2: a session has 30 minutes, and activity begins them anew", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const lines: unknown[] = [];
    const { sessions } = sessionsOf(echo, {}, (level, message, fields) =>
      lines.push([level, message, fields["reason"]]),
    );
    const id = await sessions.createSession();
    const MINUTE = 60_000;
    vi.advanceTimersByTime(29 * MINUTE);
    expect(sessions.size).toBe(1);
    await all(sessions.processRequest(id, saying("Hello")));
    vi.advanceTimersByTime(29 * MINUTE);
    expect(sessions.size).toBe(1);
    vi.advanceTimersByTime(MINUTE);
    expect(sessions.size).toBe(0);
    expect(lines).toEqual([
      ["info", "a session started", undefined],
      ["info", "a session ended", "timeout"],
    ]);
  });

  test("003 REQ-SM-4.5: a session that is ended has no timer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const { sessions } = sessionsOf();
    const before = vi.getTimerCount();
    const id = await sessions.createSession();
    expect(vi.getTimerCount()).toBe(before + 1);
    await sessions.endSession(id);
    expect(vi.getTimerCount()).toBe(before);
    await sessions.createSession();
    sessions.end();
    expect([vi.getTimerCount(), sessions.size]).toEqual([before, 0]);
  });
});

test("an endpoint has to be named where there are several", async () => {
  const heddle = served([echo, agentOf(() => undefined, "other")]);
  onTestFinished(() => heddle.close());
  const sessions = createSessions(heddle);
  await expect(sessions.createSession()).rejects.toMatchObject({ code: "agent-unknown" });
  const id = await sessions.createSession({ endpoint: "other" });
  expect(await sessions.get(id)).toMatchObject({ endpoint: "other", agent: { name: "other" } });
});

/** What a server does to a client, over both transports: tokens that expire, roles that are taken, threads that go, logs that are trimmed. */
import { describe, expect, test, vi } from "vitest";
import { connect } from "../src/client/index.ts";
import type { ConnectOptions, HeddleClient } from "../src/client/index.ts";
import { memoryStore } from "../src/store/index.ts";
import { eventsOf, expectExact, lastText, statesOf, until } from "./client-witness.ts";
import { proxiedServer } from "./proxied-server.ts";
import { SAID, WORDS, steppedAgent } from "./stepped-agent.ts";
import { JWT, tokenFor } from "./tokens.ts";

const { agent, step, starts } = steppedAgent();
const store = memoryStore();
const network = proxiedServer({ agents: [agent], store, auth: { jwt: JWT }, accessMs: 20 });

const admin = (): Promise<string> => tokenFor({ user: "alice" });

describe.each(["sse", "websocket"] as const)("by %s", (transport) => {
  const clientOf = (token: ConnectOptions["token"]): HeddleClient => {
    const client = connect(network.proxy.url, { transport, retry: { firstMs: 1, mostMs: 20 }, token });
    network.keep(client);
    return client;
  };

  test("a token that expires in the middle is renewed, and nothing is lost", async () => {
    let asked = 0;
    const thread = clientOf(() => tokenFor({ user: "alice", forSeconds: asked++ < 2 ? 1 : 60 })).thread(
      `${transport}-renewed`,
    );
    const states = statesOf(thread);
    const run = thread.run("stepped", "Count");
    const seen = eventsOf(run);
    step(thread.id);
    await until(thread, () => lastText(thread) === WORDS[0]);
    await until(thread, () => states.includes("reconnecting"));
    step(thread.id, WORDS.length - 1);
    expect((await run.finished).status).toBe("finished");
    expect(lastText(thread)).toBe(SAID);
    await expectExact(thread, network.serverUrl, await seen, await admin());
    expect(starts(thread.id)).toBe(1);
    expect(states).not.toContain("ended");
  });

  test("a token that cannot be renewed ends it, with the error", async () => {
    const thread = clientOf(await tokenFor({ user: "alice", forSeconds: 1 })).thread(`${transport}-expired`);
    const states = statesOf(thread);
    const run = thread.run("stepped", "Count");
    step(thread.id);
    await expect(run.finished).rejects.toMatchObject({ code: "unauthenticated" });
    expect(thread.connection).toBe("ended");
    expect(thread.error).toMatchObject({ code: "unauthenticated" });
    expect(states.at(-1)).toBe("ended");
    const refused = clientOf("nonsense").thread(`${transport}-refused`);
    await expect(refused.run("stepped", "Count").finished).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(refused.restore()).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("a token that is refused however often it is renewed ends it too", async () => {
    const token = vi.fn<() => string>(() => "nonsense");
    await expect(clientOf(token).thread("t").restore()).rejects.toMatchObject({ code: "unauthenticated" });
    expect(token.mock.calls.length).toBeLessThan(10);
  });

  test("a role that is taken away ends what is followed; one that changes does not", async () => {
    const owner = clientOf(admin).thread(`${transport}-role`);
    step(owner.id, WORDS.length);
    await owner.run("stepped", "Count").finished;
    const member = async (method: string, role?: string): Promise<void> => {
      const url = `${network.serverUrl}/threads/${owner.id}/members/bob`;
      const authorization = `Bearer ${await admin()}`;
      const body = role === undefined ? {} : { body: JSON.stringify({ role }) };
      const headers = { authorization, ...(role !== undefined && { "content-type": "application/json" }) };
      const { status } = await fetch(url, { method, headers, ...body });
      expect(status).toBeLessThan(300);
    };
    await member("PUT", "collaborator");
    const bob = clientOf(() => tokenFor({ user: "bob" })).thread(owner.id);
    const states = statesOf(bob);
    bob.attach();
    await until(bob, () => bob.connection === "caught-up" && bob.messages.length === 2);
    await member("PUT", "observer");
    await until(bob, () => states.includes("reconnecting") && bob.connection === "caught-up");
    step(owner.id, WORDS.length);
    await owner.run("stepped", "Again").finished;
    await until(bob, () => bob.messages.length === 4 && lastText(bob) === SAID);
    await member("DELETE");
    await until(bob, () => bob.connection === "ended");
    expect(bob.error).toMatchObject({ code: "thread-unknown" });
  });

  test("a thread that is deleted while it is followed, and while its run is under way", async () => {
    const client = clientOf(admin);
    const thread = client.thread(`${transport}-deleted`);
    const run = thread.run("stepped", "Count");
    step(thread.id);
    thread.attach();
    await until(thread, () => lastText(thread) === WORDS[0]);
    await client.threads.delete(thread.id);
    const ended = await run.finished.catch((error: unknown) => Object(error).code);
    expect(["thread-unknown", "cancelled"]).toContain(Object(ended).status ?? ended);
    await until(thread, () => thread.connection === "ended");
    expect(thread.error).toMatchObject({ code: "thread-unknown" });
    // A new thread of that name is another one.
    const again = thread.run("stepped", "Anew");
    step(thread.id, WORDS.length);
    expect((await again.finished).status).toBe("finished");
    await expectExact(thread, network.serverUrl, undefined, await admin());
    expect(thread.messages).toHaveLength(2);
  });

  test("runs that continued a branch while nobody looked are told, event by event", async () => {
    const thread = clientOf(admin).thread(`${transport}-away`);
    step(thread.id, WORDS.length);
    await thread.run("stepped", "Count").finished;
    const other = connect(network.serverUrl, { token: admin });
    network.keep(other);
    for (const said of ["Meanwhile", "And again"]) {
      step(thread.id, WORDS.length);
      await other.thread(thread.id).run("stepped", said).finished;
    }
    let deltas = 0;
    thread.onEvent(({ type }) => (deltas += type === "TEXT_MESSAGE_CONTENT" ? 1 : 0));
    thread.attach();
    await until(thread, () => thread.messages.length === 6 && thread.connection === "caught-up");
    expect(deltas).toBe(2 * WORDS.length);
    await expectExact(thread, network.serverUrl, undefined, await admin());
  });

  test("a log that went on and was trimmed meanwhile begins with a prelude", async () => {
    const client = clientOf(admin);
    const thread = client.thread(`${transport}-trimmed`);
    step(thread.id, WORDS.length);
    await thread.run("stepped", "Count").finished;
    const release = thread.attach();
    await until(thread, () => thread.connection === "caught-up");
    // Away while the log goes on, and loses its beginning.
    release();
    await until(thread, () => thread.connection === "idle");
    const other = connect(network.serverUrl, { token: admin });
    network.keep(other);
    step(thread.id, WORDS.length);
    await other.thread(thread.id).run("stepped", "Meanwhile").finished;
    expect((await store.trim(Date.now() + 1000)).events).toBeGreaterThan(0);
    thread.attach();
    await until(thread, () => thread.messages.length === 4 && thread.connection === "caught-up");
    const { messages, state } = await other.thread(thread.id).snapshotAt();
    expect(thread.messages).toEqual(messages);
    expect(thread.state).toEqual(state);
  });
});

/**
 * What networks do to a client, over both transports: whatever happens, the thread ends up as the log has it, the run's
 * events come once and in order, and the agent was started once.
 */
import { afterEach, describe, expect, test, vi } from "vitest";
import { connect } from "../src/client/index.ts";
import type { HeddleClient } from "../src/client/index.ts";
import { eventsOf, expectExact, lastText, statesOf, until } from "./client-witness.ts";
import { proxiedServer } from "./proxied-server.ts";
import { SAID, WORDS, steppedAgent } from "./stepped-agent.ts";

const { agent, step, starts } = steppedAgent();
const network = proxiedServer({ agents: [agent], keepAliveMs: 50 });
afterEach(() => vi.restoreAllMocks());

const QUICK = { firstMs: 1, mostMs: 20 };

describe.each(["sse", "websocket"] as const)("by %s", (transport) => {
  const clientOf = (options: object = {}): HeddleClient => {
    const client = connect(network.proxy.url, { transport, retry: QUICK, ...options });
    network.keep(client);
    return client;
  };
  const SO_FAR = WORDS.map((_, index) => WORDS.slice(0, index + 1).join(""));

  test("a connection that is cut after any number of bytes changes nothing", async () => {
    for (let bytes = 0; bytes < 3500; bytes += 97) {
      const client = clientOf();
      const thread = client.thread(`${transport}-${bytes}`);
      network.proxy.cutAfterBytes = bytes;
      step(thread.id, WORDS.length);
      const run = thread.run("stepped", "Count");
      const seen = await eventsOf(run);
      expect((await run.finished).status, `cut after ${bytes}`).toBe("finished");
      expect(lastText(thread), `cut after ${bytes}`).toBe(SAID);
      network.proxy.cutAfterBytes = undefined;
      await expectExact(thread, network.serverUrl, seen);
      expect(starts(thread.id)).toBe(1);
      client.close();
    }
  });

  test("a connection that is cut behind every event changes nothing", async () => {
    const thread = clientOf().thread(`${transport}-every`);
    const states = statesOf(thread);
    const run = thread.run("stepped", "Count");
    const seen = eventsOf(run);
    for (const said of SO_FAR) {
      step(thread.id);
      await until(thread, () => lastText(thread) === said);
      network.proxy.cut();
    }
    expect((await run.finished).status).toBe("finished");
    await expectExact(thread, network.serverUrl, await seen);
    expect(starts(thread.id)).toBe(1);
    expect(states.slice(0, 3)).toEqual(["idle", "connecting", "live"]);
    expect(states).toContain("reconnecting");
    expect(states).not.toContain("ended");
  });

  /** A run of which one word was said, then something happens, and then the rest is said: how often it was started. */
  const interrupted = async (name: string, client: HeddleClient, fault: () => Promise<unknown>): Promise<number> => {
    const thread = client.thread(`${transport}-${name}`);
    const run = thread.run("stepped", "Count");
    const seen = eventsOf(run);
    step(thread.id);
    await until(thread, () => lastText(thread) === WORDS[0]);
    await fault();
    step(thread.id, WORDS.length - 1);
    expect((await run.finished).status).toBe("finished");
    expect(lastText(thread)).toBe(SAID);
    await expectExact(thread, network.serverUrl, await seen);
    return starts(thread.id);
  };

  test("a server that cannot be reached for a while", async () => {
    const client = clientOf();
    const started = await interrupted("down", client, async () => {
      const { connections } = network.proxy;
      network.proxy.isDown = true;
      network.proxy.cut();
      await vi.waitUntil(() => network.proxy.connections > connections + 3, { timeout: 10_000 });
      network.proxy.isDown = false;
    });
    expect(started).toBe(1);
  });

  test("a socket that is half open, and a machine that slept", async () => {
    const client = clientOf({ idleMs: 200 });
    const thread = client.thread(`${transport}-stuck`);
    const started = await interrupted("stuck", client, async () => {
      const { connections } = network.proxy;
      network.proxy.isStuck = true;
      await until(thread, () => thread.connection === "reconnecting");
      network.proxy.isStuck = false;
      await vi.waitUntil(() => network.proxy.connections > connections, { timeout: 10_000 });
    });
    expect(started).toBe(1);
  });

  test("a proxy that ends what is silent, and what is old", async () => {
    network.proxy.limits = { idleMs: 30, ageMs: 120 };
    const client = clientOf();
    const started = await interrupted("limits", client, async () => {
      const { connections } = network.proxy;
      await vi.waitUntil(() => network.proxy.connections > connections + 4, { timeout: 10_000 });
    });
    expect(started).toBe(1);
  });

  test("a clock that jumps", async () => {
    const client = clientOf();
    const now = Date.now.bind(Date);
    const started = await interrupted("clock", client, async () => {
      for (const jumpMs of [7 * 86_400_000, -7 * 86_400_000]) {
        vi.spyOn(Date, "now").mockImplementation(() => now() + jumpMs);
        const { connections } = network.proxy;
        network.proxy.cut();
        await vi.waitUntil(() => network.proxy.connections > connections, { timeout: 10_000 });
      }
      vi.restoreAllMocks();
    });
    expect(started).toBe(1);
  });

  test("who follows a thread comes back by themselves, and misses nothing", async () => {
    const follower = clientOf().thread(`${transport}-followed`);
    const release = follower.attach();
    await until(follower, () => follower.connection === "caught-up");
    const teller = connect(network.serverUrl, { transport });
    network.keep(teller);
    for (const said of ["first", "second"]) {
      const run = teller.thread(follower.id).run("stepped", said);
      if (said === "first") follower.reconnect();
      step(follower.id, 2);
      if (said === "second") await until(follower, () => lastText(follower) === SO_FAR[1]);
      network.proxy.cut();
      step(follower.id, WORDS.length - 2);
      expect((await run.finished).status).toBe("finished");
      if (said === "first") follower.reconnect();
      await until(follower, () => lastText(follower) === SAID && follower.connection === "caught-up");
      await expectExact(follower, network.serverUrl);
    }
    release();
    await until(follower, () => follower.connection === "idle");
  });

  test("the network's return is noticed at once", async () => {
    const client = clientOf({ retry: { firstMs: 60_000, mostMs: 60_000 } });
    vi.spyOn(Math, "random").mockReturnValue(1);
    const target = new EventTarget();
    vi.stubGlobal("addEventListener", target.addEventListener.bind(target));
    vi.stubGlobal("removeEventListener", target.removeEventListener.bind(target));
    const started = await interrupted("online", client, async () => {
      const thread = client.thread(`${transport}-online`);
      network.proxy.cut();
      await until(thread, () => thread.connection === "reconnecting");
      target.dispatchEvent(new Event("online"));
      await until(thread, () => thread.connection !== "reconnecting");
    });
    expect(started).toBe(1);
    vi.unstubAllGlobals();
  });
});

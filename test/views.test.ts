/** What roles do not see, over HTTP: in every form, by every route that tells of a thread, live and afterwards. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { defineAgent } from "../src/agent/index.ts";
import type { Event } from "../src/protocol/index.ts";
import { reduceAll } from "../src/stream/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import type { Served } from "../src/server/fastify/index.ts";

const KEYS = {
  owner: { key: "the-key-of-the-owner", user: "owner" },
  writer: { key: "the-key-of-the-writer", user: "writer" },
  watcher: { key: "the-key-of-the-watcher", user: "watcher" },
} as const;
type Who = keyof typeof KEYS;

const VIEWS = {
  observer: { reasoning: false, hiddenState: ["/account", "/users/*/token"] },
  collaborator: { hiddenState: ["/account"] },
};

/** Thinks, keeps secrets in its state, and moves one out into the open. */
const agent = defineAgent<{ account?: string; users?: { name: string; token?: string }[]; note?: string }>({
  name: "keeper",
  run: async ({ emit, input }) => {
    if (input.runId !== "r1") return;
    const thought = emit.reasoning();
    await thought.write("secret thought");
    await thought.encrypted("secret seal");
    await emit.state.set({ account: "secret account", users: [{ name: "Ann", token: "secret token" }] });
    await emit.state.patch([{ op: "replace", path: "/account", value: "secret account 2" }]);
    await emit.state.patch([{ op: "add", path: "/users/-", value: { name: "Bob", token: "secret token 2" } }]);
    await emit.raw({ prompt: "secret prompt" });
    await emit.text().write("Hello.");
  },
});

let server: Served;
const call = (who: Who, path: string, body?: object, method = "POST"): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    headers: { authorization: `Bearer ${KEYS[who].key}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { method, body: JSON.stringify(body) }),
  });
const run = (who: Who, runId: string, more: object = {}): Promise<Response> =>
  call(who, "/agents/keeper", { threadId: "t1", runId, messages: [], protocolVersion: "1.0", ...more });

beforeAll(async () => {
  server = await serve({ agents: [agent], port: 0, auth: { keys: KEYS }, views: VIEWS });
  await (await run("owner", "r1")).text();
  await call("owner", "/threads/t1/members/writer", { role: "collaborator" }, "PUT");
  await call("owner", "/threads/t1/members/watcher", { role: "observer" }, "PUT");
});
afterAll(() => server.close());

test("HTTP-VIE-1: what is hidden from a role comes by no route, and cursors pass it", async () => {
  const paths = [
    "/threads/t1/events?follow=false",
    "/threads/t1/events?follow=false&all=true",
    "/threads/t1/events?follow=false&run=r1&protocol=0.0.59",
    "/threads/t1/snapshot",
    "/threads/t1",
    "/threads/t1/runs/r1",
    "/threads",
  ];
  for (const path of paths) {
    const [seen, whole] = [await call("watcher", path), await call("owner", path)];
    expect([path, seen.status, whole.status]).toEqual([path, 200, 200]);
    expect([path, (await seen.text()).match(/secret[^"]*/g)]).toEqual([path, null]);
    expect(await whole.text()).not.toContain("secret prompt");
  }
  const connected = await call("watcher", "/agents/keeper/connect", { threadId: "t1", runId: "x", messages: [] });
  const text = await connected.text();
  expect(text).toContain("Hello.");
  expect(text).not.toContain("secret");

  const all = await (await call("watcher", "/threads/t1/events?follow=false")).text();
  const events = Array.from(all.matchAll(/^data: (.+)$/gm), ([, json = ""]): Event => JSON.parse(json));
  expect(reduceAll(events).state).toEqual({ users: [{ name: "Ann" }, { name: "Bob" }] });
  // Whether or not the last event of the log is to be seen, the reader ends up at its cursor.
  const { lastEventId }: { lastEventId: string } = await (await call("watcher", "/threads/t1")).json();
  expect(all.match(/^id: .*/gm)?.at(-1)).toBe(`id: ${lastEventId}`);
  for (const who of ["watcher", "writer", "owner"] as const) {
    expect((await call(who, "/threads/t1/events?raw=true&follow=false")).status).toBe(403);
    expect((await call(who, "/threads/t1/snapshot?raw=true")).status).toBe(403);
  }
});

test("HTTP-VIE-2: who sees a part of the state changes that part only", async () => {
  const { state }: { state: Record<string, unknown> } = await (await call("writer", "/threads/t1/snapshot")).json();
  expect(state).not.toHaveProperty("account");
  await (await run("writer", "r2", { state: { ...state, note: "mine" }, forwardedProps: { go: 1 } })).text();
  const after: { state: unknown } = await (await call("owner", "/threads/t1/snapshot")).json();
  expect(after.state).toMatchObject({ account: "secret account 2", note: "mine" });
});

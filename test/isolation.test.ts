/**
 * Nobody reaches what is not theirs: every operation of `/openapi.json`, by everybody who should not, by every way in. The
 * walk begins at the document, so that a route that nobody thought of here fails.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineAgent } from "../src/agent/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import type { Served } from "../src/server/fastify/index.ts";
import type { Role } from "../src/server/index.ts";
import { memoryStore } from "../src/store/index.ts";
import { framesOf } from "./sse-client.ts";

/** Who there is: a key of sixteen characters or more says so. */
const KEYS = {
  alice: { key: "alice-key-0123456789", tenant: "acme", user: "alice" },
  bob: { key: "bob-key-0123456789", tenant: "acme", user: "bob" },
  watcher: { key: "watcher-key-0123456789", tenant: "acme", user: "watcher" },
  writer: { key: "writer-key-0123456789", tenant: "acme", user: "writer" },
  auditor: { key: "auditor-key-0123456789", tenant: "acme", user: "auditor", roles: ["observer"] },
  operator: { key: "operator-key-0123456789", tenant: "acme", user: "operator", roles: ["operator"] },
  mallory: { key: "mallory-key-0123456789", tenant: "other", user: "mallory" },
  // Of another tenant, with the same name and every role.
  alias: { key: "alias-key-0123456789", tenant: "other", user: "alice", roles: ["operator"] },
} as const;
type Who = keyof typeof KEYS;

/** What each operation takes: nothing, a known caller, a role in the thread, or an operator. */
const NEEDS: Readonly<Record<string, "nobody" | "anybody" | Role>> = {
  page: "nobody",
  health: "nobody",
  readiness: "nobody",
  description: "nobody",
  agents: "anybody",
  capabilities: "anybody",
  threads: "anybody",
  ticket: "anybody",
  me: "anybody",
  socket: "anybody",
  run: "collaborator",
  connect: "observer",
  events: "observer",
  thread: "observer",
  snapshot: "observer",
  runState: "observer",
  cancel: "collaborator",
  changeThread: "collaborator",
  annotate: "collaborator",
  claimToolCall: "collaborator",
  deleteThread: "owner",
  setMember: "owner",
  removeMember: "owner",
  exportThread: "operator",
  importThread: "operator",
  metrics: "operator",
  status: "operator",
  check: "operator",
};

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
}

const talker = defineAgent({ name: "talker", run: ({ emit }) => void emit.text().write("a secret of Alice") });
const caller = defineAgent({ name: "caller", run: ({ emit }) => void emit.toolCall("pick", { id: "c1" }).end() });
let release: () => void = () => undefined;
const released = new Promise<void>((resolve) => {
  release = resolve;
});
const slow = defineAgent({
  name: "slow",
  run: async ({ emit }) => {
    emit.text().write("a secret of Alice");
    await released;
  },
});

const store = memoryStore();
let server: Served;
let elsewhere: Served;
let operations: readonly Operation[];
let cursor: string;

const tokenOf = (who: Who): Record<string, string> => ({ authorization: `Bearer ${KEYS[who].key}` });

async function ticketOf(who: Who): Promise<string> {
  const response = await fetch(`${server.url}/tickets`, { method: "POST", headers: tokenOf(who) });
  const { ticket }: { ticket: string } = await response.json();
  return ticket;
}

/** The ways in: a header, and a ticket as EventSource and WebSocket use it. */
const WAYS = ["header", "ticket"] as const;

async function call(
  who: Who | undefined,
  method: string,
  path: string,
  { way = "header", body, headers = {} }: { way?: (typeof WAYS)[number]; body?: unknown; headers?: object } = {},
): Promise<Response> {
  const isLines = path.startsWith("/threads/import");
  const url = new URL(`${server.url}${path}`);
  if (who !== undefined && way === "ticket") url.searchParams.set("ticket", await ticketOf(who));
  return fetch(url, {
    method,
    headers: {
      ...(who !== undefined && way === "header" && tokenOf(who)),
      ...(body !== undefined && { "content-type": isLines ? "application/x-ndjson" : "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: isLines ? String(body) : JSON.stringify(body) }),
  });
}

const start = (who: Who, agent: string, threadId: string, runId = "r1"): Promise<Response> =>
  call(who, "POST", `/agents/${agent}`, {
    body: { threadId, runId, messages: [], protocolVersion: "1.0", forwardedProps: { go: true } },
  });

/** The path of an operation for a thread, with all that a stranger may know. */
const pathOf = ({ path }: Operation, threadId: string): string =>
  path
    .replace("{agent}", "talker")
    .replace("{thread}", threadId)
    .replace("{run}", "r1")
    .replace("{call}", "c1")
    .replace("{user}", "bob") + (path.endsWith("/events") ? `?after=${cursor}&follow=false` : "");

/** A body that the operation would take. */
function bodyFor({ id }: Operation, threadId: string): unknown {
  switch (id) {
    case "run":
      return { threadId, runId: "r2", messages: [], protocolVersion: "1.0", forwardedProps: { go: true } };
    case "connect":
      return { threadId, runId: "r2", messages: [], protocolVersion: "1.0" };
    case "changeThread":
      return { title: "mine now" };
    case "annotate":
      return { metaType: "note" };
    case "claimToolCall":
      return { holder: "tab" };
    case "setMember":
      return { role: "observer" };
    case "importThread":
      return "{}\n";
    default:
      return undefined;
  }
}

const perform = (
  who: Who | undefined,
  operation: Operation,
  threadId: string,
  way?: (typeof WAYS)[number],
): Promise<Response> =>
  call(who, operation.method, pathOf(operation, threadId), { body: bodyFor(operation, threadId), ...(way && { way }) });

const errorOf = async (response: Response): Promise<{ code: string; message: string }> => {
  const { error }: { error: { code: string; message: string } } = await response.json();
  return { code: error.code, message: error.message };
};

beforeAll(async () => {
  const common = { agents: [talker, caller, slow], store, port: 0, auth: { keys: KEYS }, accessMs: 20 };
  server = await serve(common);
  elsewhere = await serve(common);
  const document: { paths: Record<string, Record<string, { operationId: string }>> } = await (
    await fetch(`${server.url}/openapi.json`)
  ).json();
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId: id }]) => ({ id, method: method.toUpperCase(), path })),
  );
  await (await start("alice", "caller", "t1")).text();
  await (await start("alice", "talker", "t9")).text();
  await call("alice", "PUT", "/threads/t1/members/watcher", { body: { role: "observer" } });
  await call("alice", "PUT", "/threads/t1/members/writer", { body: { role: "collaborator" } });
  const details: { lastEventId: string } = await (await call("alice", "GET", "/threads/t1")).json();
  cursor = details.lastEventId;
});
afterAll(async () => {
  release();
  await elsewhere.close();
  await server.close();
  await store.close();
});

test("every operation of the document is judged here", () => {
  expect(operations.map(({ id }) => id).toSorted()).toEqual(Object.keys(NEEDS).toSorted());
});

test("HTTP-AUT-1: who does not say who they are gets 401, but for what is for everybody", async () => {
  for (const operation of operations) {
    const response = await perform(undefined, operation, "t1");
    const expected = NEEDS[operation.id] === "nobody" ? [200, undefined] : [401, "unauthenticated"];
    const text = await response.text();
    const code = response.status < 400 ? undefined : JSON.parse(text).error.code;
    expect([operation.id, response.status, code]).toEqual([operation.id, ...expected]);
    expect(response.headers.get("www-authenticate")).toBe(response.status === 401 ? "Bearer" : null);
  }
});

describe.each(WAYS)("HTTP-AUT-2, HTTP-AUT-6: by %s", (way) => {
  // Of the same tenant without a role; of another tenant; of another tenant with every role there and the owner's name.
  test.each(["bob", "mallory", "alias"] as const)("%s finds nothing of another's thread", async (who) => {
    for (const operation of operations.filter(({ path }) => path.includes("{thread}"))) {
      const [there, nowhere] = [await perform(who, operation, "t1", way), await perform(who, operation, "none", way)];
      // A ticket stands in an address: it is for looking only.
      const refused = way === "ticket" && operation.method !== "GET";
      const expected = refused ? [401, "unauthenticated"] : [404, "thread-unknown"];
      const found = await errorOf(there);
      expect([operation.id, there.status, found.code]).toEqual([operation.id, ...expected]);
      // Unknown and foreign are the same.
      expect(await errorOf(nowhere)).toEqual(found);
    }
    const listed: { threads: { threadId: string }[] } = await (await call(who, "GET", "/threads", { way })).json();
    expect(listed.threads.map(({ threadId }) => threadId)).not.toContain("t1");
    const connected = await call(who, "POST", "/agents/talker/connect", {
      body: { threadId: "t9", runId: "x", messages: [] },
    });
    expect([connected.status, await connected.text()]).toEqual([200, ""]);
  });
});

test("HTTP-AUT-2: a run in another's thread is refused in the same tenant, and begins a thread of one's own in another", async () => {
  const refused = await start("bob", "talker", "t9", "r7");
  expect([refused.status, (await errorOf(refused)).code]).toEqual([404, "thread-unknown"]);
  // The same run as the owner's is not joined either.
  const joined = await start("bob", "talker", "t9", "r1");
  expect([joined.status, (await errorOf(joined)).code]).toEqual([404, "thread-unknown"]);
  const own = await start("mallory", "caller", "t9", "r7");
  expect(await own.text()).not.toContain("secret");
  const details: { runs: unknown[]; owner: string } = await (await call("mallory", "GET", "/threads/t9")).json();
  expect([details.owner, details.runs.length]).toEqual(["mallory", 1]);
  await call("mallory", "DELETE", "/threads/t9");
  expect((await call("alice", "GET", "/threads/t9")).status).toBe(200);
});

test("HTTP-AUT-3: who may see a thread does what the role allows, and is told which role is missing for the rest", async () => {
  const RANK: readonly string[] = ["observer", "collaborator", "owner", "operator"];
  const roles: readonly [Who, Role][] = [
    ["watcher", "observer"],
    ["auditor", "observer"],
    ["writer", "collaborator"],
    ["alice", "owner"],
  ];
  for (const [who, role] of roles) {
    for (const operation of operations) {
      const needed = NEEDS[operation.id] ?? "operator";
      if (RANK.indexOf(needed) <= RANK.indexOf(role)) continue;
      const response = await perform(who, operation, "t1");
      expect([who, operation.id, response.status]).toEqual([who, operation.id, 403]);
      const { code, message } = await errorOf(response);
      expect([code, message]).toEqual(["role-missing", expect.stringContaining(needed)]);
    }
    const reading = operations.filter(({ id }) => NEEDS[id] === "observer" && id !== "connect");
    for (const operation of reading) {
      const response = await perform(who, operation, "t1");
      expect([who, operation.id, response.ok]).toEqual([who, operation.id, true]);
      await response.text();
    }
    const details: { role: string } = await (await call(who, "GET", "/threads/t1")).json();
    expect(details.role).toBe(role);
  }
  const noted = await call("writer", "POST", "/threads/t1/annotations", { body: { metaType: "note" } });
  expect(noted.status).toBe(201);
  // Who only watches begins nothing either.
  const begun = await start("auditor", "talker", "t5");
  expect([begun.status, (await errorOf(begun)).code]).toEqual([403, "role-missing"]);
  // What is hidden is for operators.
  const raw = await call("alice", "GET", "/threads/t1/events?raw=true&follow=false");
  expect([raw.status, (await errorOf(raw)).code]).toEqual([403, "role-missing"]);
  expect((await call("operator", "GET", "/threads/t1/events?raw=true&follow=false")).status).toBe(200);
});

async function listOf(who: Who): Promise<readonly string[]> {
  const page: { threads: { threadId: string }[] } = await (await call(who, "GET", "/threads")).json();
  return page.threads.map(({ threadId }) => threadId).toSorted();
}

test("a list shows what is one's own and what one is a member of; a role for the whole tenant shows all of it", async () => {
  expect(await listOf("alice")).toEqual(["t1", "t9"]);
  expect(await listOf("watcher")).toEqual(["t1"]);
  expect(await listOf("bob")).toEqual([]);
  expect(await listOf("auditor")).toEqual(["t1", "t9"]);
  expect(await listOf("alias")).toEqual([]);
});

/** Follows a thread. Resolves once the first event is there; `rest` when the server has ended the stream. */
async function watching(
  who: Who,
  threadId: string,
  at: Served = server,
): Promise<{ rest: Promise<readonly string[]> }> {
  const headers = { ...tokenOf(who), accept: "text/event-stream" };
  const frames = framesOf(await fetch(`${at.url}/threads/${threadId}/events`, { headers }));
  const types = [(await frames.next()).value?.event.type ?? "nothing"];
  const rest = (async (): Promise<readonly string[]> => {
    for await (const { event } of frames) types.push(event.type);
    return types;
  })();
  return { rest };
}

const setRole = (user: Who, role: Role): Promise<Response> =>
  call("alice", "PUT", `/threads/t2/members/${user}`, { body: { role } });

describe("HTTP-AUT-4, HTTP-AUT-5: while somebody watches", () => {
  beforeAll(async () => {
    await framesOf(await start("alice", "slow", "t2")).next();
  });

  test("a role that is taken away ends the stream, here and on another instance, and those of others go on", async () => {
    await setRole("watcher", "observer");
    await setRole("writer", "collaborator");
    const [here, there] = [await watching("watcher", "t2"), await watching("watcher", "t2", elsewhere)];
    const other = await watching("writer", "t2");
    expect((await call("alice", "DELETE", "/threads/t2/members/watcher")).status).toBe(204);
    for (const { rest } of [here, there]) expect(await rest).not.toContain("RUN_FINISHED");
    expect((await call("watcher", "GET", "/threads/t2/events")).status).toBe(404);
    // Another role is another view: whoever watches comes back and is judged anew.
    await setRole("writer", "observer");
    expect(await other.rest).not.toContain("RUN_FINISHED");
    const again = await watching("writer", "t2");
    release();
    await expect
      .poll(async () => (await call("alice", "GET", "/threads/t2/runs/r1")).json())
      .toMatchObject({
        status: "finished",
      });
    await call("alice", "DELETE", "/threads/t2");
    expect(await again.rest).toContain("RUN_FINISHED");
  });
});

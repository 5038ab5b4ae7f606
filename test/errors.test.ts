/** The table of codes, pinned in words of its own, and every code raised the way that a user would raise it. */
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { defineAgent, runAgent } from "heddle/agent";
import { ERRORS, HeddleError, decodeJson, parseEvent, parseRunInput } from "heddle/protocol";
import type { ErrorBody, ErrorCode, Event } from "heddle/protocol";
import { encodeBinary } from "heddle/protocol/binary";
import { projectRunInput } from "heddle/protocol/dialects";
import { decodeSessionEvent } from "heddle/protocol/session";
import { connect as client } from "heddle/client";
import { createHeddle } from "heddle/server";
import { serve } from "heddle/server/fastify";
import type { Served } from "heddle/server/fastify";
import { memoryStore } from "heddle/store";
import { createVerifyState, verify } from "heddle/stream";
import type { Store } from "heddle/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RAISE_AGENT } from "./raise-agent-errors.ts";
import { RAISE_STORE } from "./raise-store-errors.ts";

/** Code, HTTP status, and whether trying again may help. */
const PINNED: readonly (readonly [ErrorCode, number, boolean])[] = [
  ["event-invalid", 400, false],
  ["input-invalid", 400, false],
  ["session-invalid", 400, false],
  ["json-invalid", 400, false],
  ["frame-invalid", 400, false],
  ["limit-exceeded", 413, false],
  ["sequence-violation", 422, false],
  ["projection-refused", 406, false],
  ["request-invalid", 400, false],
  ["query-invalid", 400, false],
  ["cursor-invalid", 400, false],
  ["route-unknown", 404, false],
  ["agent-unknown", 404, false],
  ["thread-unknown", 404, false],
  ["run-unknown", 404, false],
  ["run-conflict", 409, false],
  ["run-ended", 409, false],
  ["thread-busy", 409, true],
  ["media-type-unsupported", 415, false],
  ["agent-failed", 500, false],
  ["internal-error", 500, false],
  ["server-closing", 503, true],
  ["server-unreachable", 502, true],
  ["config-invalid", 500, false],
  ["address-unavailable", 500, true],
  ["cursor-trimmed", 410, false],
  ["thread-exists", 409, false],
  ["import-invalid", 400, false],
  ["run-fenced", 409, false],
  ["batch-gap", 409, false],
  ["worker-lost", 500, true],
  ["schema-too-new", 500, false],
  ["store-locked", 503, false],
  ["store-read-only", 500, false],
  ["store-full", 507, true],
  ["store-corrupt", 500, false],
  ["store-unavailable", 503, true],
  ["store-closed", 503, false],
  ["model-unauthorised", 502, false],
  ["model-rate-limited", 502, true],
  ["model-overloaded", 502, true],
  ["model-context-exceeded", 502, false],
  ["model-request-refused", 502, false],
  ["model-stream-invalid", 502, false],
  ["model-unreachable", 502, true],
  ["model-output-cut", 502, false],
  ["model-failed", 502, true],
  ["agent-unreachable", 502, true],
  ["agent-response-invalid", 502, false],
  ["agent-stream-cut", 502, true],
  ["address-refused", 403, false],
  ["origin-refused", 403, false],
  ["tool-unknown", 400, false],
  ["tool-arguments-invalid", 400, false],
  ["tool-failed", 500, false],
  ["tool-timeout", 504, true],
  ["step-limit", 500, false],
  ["answers-missing", 409, false],
  ["queue-full", 429, true],
  ["unauthenticated", 401, false],
  ["keys-unavailable", 503, true],
  ["role-missing", 403, false],
  ["runs-full", 429, true],
  // Last of those that the guarded server answers: nothing is taken after it.
  ["rate-limited", 429, true],
  ["tool-call-taken", 409, true],
  ["tool-call-closed", 409, false],
  ["resume-invalid", 422, false],
];

const input = (threadId: string, runId = "r1") => ({ threadId, runId, messages: [] });

let released: () => void = () => undefined;
const held = new Promise<void>((resolve) => {
  released = resolve;
});
const quick = defineAgent({ name: "quick", run: ({ emit }) => void emit.text().write("hi") });
const slow = defineAgent({ name: "slow", run: () => held });
const calling = defineAgent({
  name: "calling",
  run: ({ emit }) => void emit.toolCall("pick", { id: "c1" }).end(),
});
const asking = defineAgent({
  name: "asking",
  run: async ({ emit }) => void (await emit.interrupt({ reason: "sure?" })),
});
const broken = defineAgent({
  name: "broken",
  run: () => {
    throw new Error("out of thread");
  },
});

/** A store whose disk is gone. */
const deadStore = (): Store => ({
  ...memoryStore(),
  thread: () => Promise.reject(new Error("the disk is gone")),
});

let server: Served;
/** One that asks who calls, and takes little: the requests of this test, and one more. */
let guarded: Served;
const KEYS = { user: { key: "a-key-of-a-mere-user" } };
beforeAll(async () => {
  server = await serve({ agents: [quick, slow, broken, asking, calling], port: 0 });
  await (await post("quick", input("t1"))).text();
  const rateLimits = { perPrincipal: { requests: 9, perMs: 600_000 } };
  guarded = await serve({ agents: [slow], port: 0, auth: { keys: KEYS }, rateLimits, maxRunsPerPrincipal: 1 });
});
afterAll(async () => {
  released();
  await server.close();
  await guarded.close();
});

const post = (agent: string, body: unknown, headers = { "content-type": "application/json" }): Promise<Response> =>
  fetch(`${server.url}/agents/${agent}`, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const go = (threadId: string, runId: string) => ({ ...input(threadId, runId), forwardedProps: { go: 1 } });
const claim = (threadId: string, holder: string): Promise<Response> =>
  fetch(`${server.url}/threads/${threadId}/tool-calls/c1/claim`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ holder }),
  });
const asUser = (path: string, body?: unknown): Promise<Response> =>
  fetch(`${guarded.url}${path}`, {
    headers: { authorization: `Bearer ${KEYS.user.key}`, "content-type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
const get = (path: string): Promise<Response> => fetch(`${server.url}${path}`);

/** One way to come across each code: it throws, rejects, or answers with an error body or a failed run. */
const RAISE: Readonly<Record<ErrorCode, () => unknown>> = {
  "event-invalid": () => parseEvent({ type: "RUN_ERROR" }),
  "input-invalid": () => parseRunInput({}),
  "session-invalid": () => decodeSessionEvent("{}"),
  "json-invalid": () => decodeJson("{"),
  "frame-invalid": () => encodeBinary({ type: "META", metaType: "note", payload: {} }),
  "limit-exceeded": () => decodeJson("[]", { maxBytes: 1 }),
  "sequence-violation": () => verify(createVerifyState(), { type: "STEP_STARTED", stepName: "s" }),
  "projection-refused": () =>
    projectRunInput({ ...input("t"), resume: [{ interruptId: "i", status: "cancelled" }] }, { interrupts: "single" }),
  "request-invalid": () => rawRequest("NOT HTTP\r\n\r\n"),
  "query-invalid": () => get("/threads/t1/events?follow=perhaps"),
  "cursor-invalid": () => get("/threads/t1/events?after=nonsense"),
  "origin-refused": () => fetch(`${server.url}/agents`, { headers: { origin: "https://elsewhere.test" } }),
  unauthenticated: () => fetch(`${guarded.url}/agents`),
  "keys-unavailable": async () => {
    const nowhere = "http://127.0.0.1:1/keys";
    const jwt = { jwksUrl: nowhere, audience: "heddle", issuer: "https://issuer.test" };
    const locked = await serve({ agents: [], port: 0, auth: { jwt } });
    const token = `${btoa('{"alg":"RS256","kid":"k"}')}.${btoa("{}")}.AAAA`.replaceAll("=", "");
    const answer = await fetch(`${locked.url}/agents`, { headers: { authorization: `Bearer ${token}` } });
    await locked.close();
    return answer;
  },
  "role-missing": () => asUser("/threads/import", {}),
  "runs-full": async () => {
    const first = await asUser("/agents/slow", go("t1", "r1"));
    const second = await asUser("/agents/slow", go("t2", "r1"));
    await first.body?.cancel();
    return second;
  },
  "rate-limited": async () => {
    for (let index = 0; index < 9; index++) await (await asUser("/agents")).body?.cancel();
    return asUser("/agents");
  },
  "route-unknown": () => get("/nowhere"),
  "agent-unknown": () => post("nobody", input("t1")),
  "thread-unknown": () => get("/threads/none/events"),
  "run-unknown": () => get("/threads/t1/events?run=none"),
  "run-conflict": () => post("slow", input("t1", "r1")),
  "run-ended": writeAfterTheEnd,
  "thread-busy": async () => {
    const first = await post("slow", input("t2", "r1"));
    const second = await post("slow", { ...input("t2", "r2"), forwardedProps: { go: 1 } });
    await first.body?.cancel();
    return second;
  },
  "queue-full": async () => {
    const first = await post("slow", input("t5", "r1"));
    const waiting: Response[] = [];
    for (let index = 2; index <= 17; index++) waiting.push(await post("slow?on_busy=enqueue", go("t5", `r${index}`)));
    const refused = await post("slow?on_busy=enqueue", go("t5", "r18"));
    for (const each of [first, ...waiting]) await each.body?.cancel();
    return refused;
  },
  "tool-call-taken": async () => {
    await (await post("calling", input("t6"))).text();
    await claim("t6", "one");
    return claim("t6", "two");
  },
  "tool-call-closed": () => claim("t1", "one"),
  "answers-missing": async () => {
    await (await post("asking", input("t4"))).text();
    return post("asking", go("t4", "r2"));
  },
  "media-type-unsupported": () => post("quick", "x", { "content-type": "text/plain" }),
  "agent-failed": async () => lastEvent(await post("broken", input("t3"))),
  "internal-error": async () => {
    const dead = await serve({ agents: [quick], port: 0, store: deadStore(), logger: silent });
    try {
      return await fetch(`${dead.url}/agents/quick`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(input("t")),
      });
    } finally {
      await dead.close();
    }
  },
  "server-unreachable": () => client("http://127.0.0.1:9").threads.list(),
  "server-closing": async () => {
    const heddle = createHeddle({ agents: [quick] });
    await heddle.close();
    return heddle.start("quick", input("t"));
  },
  "config-invalid": () => serve({ agents: [], host: "0.0.0.0", port: 0 }),
  "address-unavailable": takenPort,
  ...RAISE_STORE,
  ...RAISE_AGENT,
};

const silence = (): void => undefined;
const silent = {
  level: "silent",
  fatal: silence,
  error: silence,
  warn: silence,
  info: silence,
  debug: silence,
  trace: silence,
  silent: silence,
  child: () => silent,
};

async function rawRequest(text: string): Promise<Response> {
  const { port } = server;
  const answer = await new Promise<string>((resolve, reject) => {
    let read = "";
    const socket = connect(port, "localhost", () => socket.end(text));
    socket.on("data", (chunk) => (read += String(chunk)));
    socket.on("close", () => resolve(read));
    socket.on("error", reject);
  });
  return new Response(answer.slice(answer.indexOf("\r\n\r\n") + 4), { status: Number(answer.split(" ")[1]) });
}

async function writeAfterTheEnd(): Promise<unknown> {
  let late: (() => unknown) | undefined;
  const agent = defineAgent({
    name: "late",
    run: ({ emit }) => {
      const text = emit.text();
      late = () => text.write("too late");
    },
  });
  for await (const _ of runAgent(agent, input("t"))) continue;
  return late?.();
}

async function lastEvent(response: Response): Promise<unknown> {
  const frames = (await response.text()).trim().split("\n\n");
  const event = JSON.parse(frames.at(-1)?.split("data: ")[1] ?? "null") as Event;
  return event.type === "RUN_ERROR" ? { error: { code: event.code, message: event.message } } : event;
}

async function takenPort(): Promise<unknown> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  try {
    return await serve({ agents: [quick], host: "127.0.0.1", port });
  } finally {
    await new Promise((resolve) => other.close(resolve));
  }
}

/** The failure that an action ends in, however it shows it. */
async function failureOf(action: () => unknown): Promise<{ code: unknown; message: unknown; status?: number }> {
  try {
    const result = await action();
    if (!(result instanceof Response)) return (result as ErrorBody).error;
    const { error } = (await result.json()) as ErrorBody;
    return { ...error, status: result.status };
  } catch (error) {
    if (error instanceof HeddleError) return error;
    throw error;
  }
}

describe("PROTO-ERR-1: the table of codes", () => {
  it("is the one that is written down here", () => {
    const table = Object.entries(ERRORS).map(([code, { status }]) => [code, status]);
    expect(table.toSorted()).toEqual(PINNED.map(([code, status]) => [code, status]).toSorted());
  });

  it.each(PINNED)("says of %s whether trying again may help", (code, _, retryable) => {
    expect(new HeddleError<ErrorCode>(code, "Sentence.", {}).retryable).toBe(retryable);
  });

  it.each(Object.keys(ERRORS))("says in a sentence what %s means", (code) => {
    const documented = new RegExp(`/\\*\\* [A-Z][^*]{15,}\\. \\*/\\n  "?${code}"?: \\{`);
    expect(readFileSync("src/protocol/errors.ts", "utf8")).toMatch(documented);
  });

  it.each(PINNED)("%s is raised, with a sentence that says more", async (code, status) => {
    const failure = await failureOf(RAISE[code]);
    expect(failure.code).toBe(code);
    expect(failure.message).toMatch(/.{10,}/);
    expect(failure.status ?? status).toBe(status);
  });
});

describe("HeddleError", () => {
  const error = new HeddleError("json-invalid", "No JSON.", { preview: "{" }, { cause: new Error("secret") });

  it("is an Error with code, status and cause", () => {
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe("HeddleError");
    expect([error.status, error.retryable]).toEqual([400, false]);
    expect(error.cause).toBeInstanceOf(Error);
  });

  it("PROTO-ERR-2: crosses the wire without stack and cause", () => {
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      error: { code: "json-invalid", message: "No JSON.", details: { preview: "{" } },
    });
  });
});

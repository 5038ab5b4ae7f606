/** Who asks, and whether they may have agents tried: over HTTP, with and without authentication. */
import { once } from "node:events";
import { createServer } from "node:http";
import { fastify } from "fastify";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import { createHeddle } from "../index.ts";
import { heddleHandler } from "../fetch/index.ts";
import { heddlePlugin, serve } from "./index.ts";
import type { ServeOptions, Served } from "./index.ts";

const echo = defineAgent({ name: "echo", run: ({ emit }) => void emit.text().write("hello") });

const KEYS = {
  operator: { key: "the-key-of-the-operator", user: "olga", roles: ["operator"] },
  observer: { key: "the-key-of-the-observer", user: "otto", roles: ["observer"], tenant: "acme" },
  user: { key: "the-key-of-the-user", user: "ursula" },
} as const;

const json = { "content-type": "application/json" };
const asKey = (who: keyof typeof KEYS): Record<string, string> => ({ authorization: `Bearer ${KEYS[who].key}` });

async function started(options: Partial<ServeOptions> = {}): Promise<Served> {
  const server = await serve({ agents: [echo], port: 0, host: "127.0.0.1", ...options });
  onTestFinished(() => server.close());
  return server;
}

const me = async (url: string, headers: Record<string, string> = {}): Promise<unknown> =>
  (await fetch(`${url}/me`, { headers })).json();

async function check(url: string, body: unknown, headers: Record<string, string> = {}) {
  const init = { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(body) };
  const response = await fetch(`${url}/checks`, init);
  const answer: { error?: { code: string; message: string }; [name: string]: unknown } = await response.json();
  return { status: response.status, answer };
}

let secured: Served;
/** An agent elsewhere: another server of ours. */
let other: Served;
let calls = 0;

/** What a server is asked to try. */
const target = (): object => ({ url: `${other.url}/agents/counted` });

const metrics = (who: keyof typeof KEYS): Promise<Response> => fetch(`${secured.url}/metrics`, { headers: asKey(who) });

/** What a server answers, and whether it called. */
async function tried(url: string, headers?: Record<string, string>): Promise<unknown> {
  const before = calls;
  const { status, answer } = await check(url, target(), headers);
  return { status, code: answer.error?.code, called: calls > before };
}

beforeAll(async () => {
  secured = await serve({ agents: [echo], port: 0, host: "127.0.0.1", auth: { keys: KEYS } });
  const counted = defineAgent({
    name: "counted",
    run: ({ emit }) => {
      calls += 1;
      emit.text().write("hello");
    },
  });
  other = await serve({ agents: [counted], port: 0, host: "127.0.0.1" });
});
afterAll(async () => {
  await secured.close();
  await other.close();
});

describe("HTTP-AUT-9: GET /me", () => {
  test("without authentication everybody is an operator", async () => {
    const { url } = await started();
    expect(await me(url)).toEqual({
      tenant: "default",
      roles: ["operator"],
      role: "operator",
      mayStart: true,
      mayOperate: true,
      authenticated: false,
      mayCheck: true,
    });
  });

  test("with it, callers are told who they are and what they may", async () => {
    expect(await me(secured.url, asKey("operator"))).toMatchObject({
      user: "olga",
      role: "operator",
      mayStart: true,
      mayOperate: true,
      authenticated: true,
      mayCheck: true,
    });
    expect(await me(secured.url, asKey("observer"))).toEqual({
      tenant: "acme",
      user: "otto",
      roles: ["observer"],
      role: "observer",
      mayStart: false,
      mayOperate: false,
      authenticated: true,
      mayCheck: false,
    });
    const user = await me(secured.url, asKey("user"));
    expect(user).toMatchObject({ user: "ursula", roles: [], mayStart: true, mayOperate: false, mayCheck: false });
    expect(user).not.toHaveProperty("role");
    expect((await fetch(`${secured.url}/me`)).status).toBe(401);
  });

  test("it says what holds: an observer begins no thread, and no metrics come to who may not operate", async () => {
    const run = { threadId: "t1", runId: "r1", messages: [], protocolVersion: "1.0", forwardedProps: { go: 1 } };
    const post = (who: keyof typeof KEYS): Promise<Response> =>
      fetch(`${secured.url}/agents/echo`, {
        method: "POST",
        headers: { ...json, ...asKey(who) },
        body: JSON.stringify(run),
      });
    expect((await post("observer")).status).toBe(403);
    expect((await post("user")).status).toBe(200);
    expect((await metrics("user")).status).toBe(403);
    expect((await metrics("operator")).status).toBe(200);
  });
});

describe("HTTP-CHK-1: POST /checks", () => {
  test("tries an agent", async () => {
    const { status, answer } = await check(
      secured.url,
      { url: `${other.url}/agents/counted`, message: "Hi" },
      asKey("operator"),
    );
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      ok: true,
      reached: true,
      status: 200,
      outcome: "success",
      text: "hello",
      findings: [],
    });
  });

  test("says what is wrong with it", async () => {
    const agent = createServer((_, response) => void response.writeHead(404).end("secret")).listen(0, "127.0.0.1");
    await once(agent, "listening");
    onTestFinished(() => void agent.close());
    const address = agent.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/agui`;
    const { status, answer } = await check(secured.url, { url }, asKey("operator"));
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      ok: false,
      reached: true,
      status: 404,
      sentence: expect.stringMatching(/path of the AG-UI endpoint/),
    });
    expect(JSON.stringify(answer)).not.toContain("secret");
  });

  test.each([
    [undefined],
    [[]],
    [{}],
    [{ url: 5 }],
    [{ url: "file:///etc/passwd" }],
    [{ url: "http://a:b@127.0.0.1/" }],
    [{ url: "http://127.0.0.1/", headers: { a: 5 } }],
    [{ url: "http://127.0.0.1/", headers: { host: "inner" } }],
    [{ url: "http://127.0.0.1/", message: "x".repeat(10_001) }],
  ])("%j is refused", async (body) => {
    const { status, answer } = await check(secured.url, body, asKey("operator"));
    expect(status).toBe(400);
    expect(answer.error?.code).toMatch(/^(input|json)-invalid$/);
  });
});

describe("HTTP-CHK-2: a server calls addresses for", () => {
  test("operators only", async () => {
    const refused = { status: 403, code: "role-missing", called: false };
    expect(await tried(secured.url, asKey("user"))).toEqual(refused);
    expect(await tried(secured.url, asKey("observer"))).toEqual(refused);
    expect(await tried(secured.url)).toEqual({ status: 401, code: "unauthenticated", called: false });
    expect(await tried(secured.url, asKey("operator"))).toEqual({ status: 200, code: undefined, called: true });
  });

  test("nobody where other machines reach it, unless it is set to", async () => {
    const refused = { status: 403, code: "address-refused", called: false };
    const allowed = { status: 200, code: undefined, called: true };
    const open = { host: "0.0.0.0", noAuth: true };
    const asked = { host: "0.0.0.0", auth: { keys: KEYS } };
    expect(await tried((await started(asked)).url, asKey("operator"))).toEqual(refused);
    expect(await tried((await started({ ...asked, checks: true })).url, asKey("operator"))).toEqual(allowed);
    expect(await tried((await started()).url)).toEqual(allowed);
    expect(await tried((await started(open)).url)).toEqual(refused);
    expect(await tried((await started({ hosts: ["127.0.0.1", "heddle.example"] })).url)).toEqual(refused);
    expect(await tried((await started({ ...open, checks: true })).url)).toEqual(allowed);
    expect(await tried((await started({ checks: false })).url)).toEqual(refused);
    const shut = await started({ auth: { keys: KEYS }, checks: false });
    expect(await tried(shut.url, asKey("operator"))).toEqual(refused);
    expect(await me(shut.url, asKey("operator"))).toMatchObject({ mayOperate: true, mayCheck: false });
  });

  test("nobody in a host application that does not say so", async () => {
    const app = fastify();
    onTestFinished(() => app.close());
    await app.register(heddlePlugin, { agents: [echo] });
    const request = { method: "POST", url: "/checks", payload: target() } as const;
    expect((await app.inject(request)).json()).toMatchObject({ error: { code: "address-refused" } });

    const heddle = createHeddle({ agents: [echo] });
    onTestFinished(() => heddle.close());
    const asked = (): Request =>
      new Request("http://h/checks", { method: "POST", headers: json, body: JSON.stringify(target()) });
    expect((await heddleHandler(heddle)(asked())).status).toBe(403);
    expect((await heddleHandler(heddle, { checks: true })(asked())).status).toBe(200);
  });

  test("headers and addresses are in no line of the log", async () => {
    const lines: string[] = [];
    const app = fastify({ logger: { level: "debug", stream: { write: (line: string) => void lines.push(line) } } });
    onTestFinished(() => app.close());
    await app.register(heddlePlugin, { agents: [echo], checks: true });
    const url = `${other.url}/agents/counted?token=secret-query`;
    const payload = { url, headers: { authorization: "Bearer secret-header" } };
    expect((await app.inject({ method: "POST", url: "/checks", payload })).statusCode).toBe(200);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.join("\n")).not.toMatch(/secret-/);
  });
});

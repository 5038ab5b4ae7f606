import { fastify } from "fastify";
import { expect, test } from "vitest";
import { agentOf, bodyOf, served } from "../../../test/served.ts";
import { heddlePlugin } from "../fastify/index.ts";
import { heddleHandler } from "../fetch/index.ts";

const KEYS = { one: { key: "the-key-of-the-first" }, two: { key: "the-key-of-the-second" } };

test("HTTP-AUT-7: more requests than one caller may send are refused with how long to wait; those of another are not", async () => {
  const heddle = served(agentOf(() => {}));
  const rateLimits = { perPrincipal: { requests: 2, perMs: 90_000 } };
  const handle = heddleHandler(heddle, { auth: { keys: KEYS }, rateLimits });
  const ask = (key: string): Promise<Response> =>
    handle(new Request("http://localhost/agents", { headers: { authorization: `Bearer ${key}` } }));
  const statuses = [];
  for (const key of [KEYS.one.key, KEYS.one.key, KEYS.two.key]) statuses.push((await ask(key)).status);
  expect(statuses).toEqual([200, 200, 200]);
  const refused = await ask(KEYS.one.key);
  expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: "rate-limited" } }]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(1);
  // Who guesses has no more tries than one caller, and takes none from those who are known.
  const guesses = [];
  for (let index = 0; index < 4; index++) guesses.push((await ask(`guess-number-${index}-of-many`)).status);
  expect(guesses).toEqual([401, 401, 429, 429]);
  expect((await ask(KEYS.two.key)).status).toBe(200);
  await heddle.close();
});

test("HTTP-AUT-7: a caller with as many runs under way as they may have gets no other, and others do", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const heddle = served(
    agentOf(() => released),
    { maxRunsPerPrincipal: 2 },
  );
  const [one, two] = ["one", "two"].map((user) => heddle.as({ tenant: "acme", user, roles: [] }));
  await one?.start("test", bodyOf("r1", { threadId: "t1" }));
  await one?.start("test", bodyOf("r1", { threadId: "t2" }));
  const third = one?.start("test", bodyOf("r1", { threadId: "t3" }));
  await expect(third).rejects.toMatchObject({ code: "runs-full", status: 429 });
  // Who joins starts nothing.
  expect(await one?.start("test", bodyOf("r1", { threadId: "t2" }))).toMatchObject({ joined: true });
  await two?.start("test", bodyOf("r1", { threadId: "t4" }));
  release();
  await heddle.close();
});

const payload = (chars: number): string => JSON.stringify({ ...bodyOf(), forwardedProps: "x".repeat(chars) });

test("a body is read up to the limit that is set, by both hosts", async () => {
  const heddle = served(agentOf(() => {}));
  const handle = heddleHandler(heddle, { maxBodyBytes: 1000 });
  const app = fastify();
  await app.register(heddlePlugin, { agents: [agentOf(() => {})], maxBodyBytes: 1000 });
  const headers = { "content-type": "application/json" };
  const ask = async (body: string): Promise<readonly number[]> => {
    const request = new Request("http://localhost/agents/test", { method: "POST", headers, body });
    const injected = await app.inject({ method: "POST", url: "/agents/test", headers, payload: body });
    return [(await handle(request)).status, injected.statusCode];
  };
  expect([await ask(payload(800)), await ask(payload(1000))]).toEqual([
    [200, 200],
    [413, 413],
  ]);
  await app.close();
  await heddle.close();
});

/**
 * Want 7, against a server process that takes tokens. The stranger knows every id and a cursor; their own tenant and their
 * own name are good. The owner's first token runs out while the run goes on.
 */
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { framesOf } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";
import { TOKEN_ENVIRONMENT, tokenFor } from "../tokens.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { wordsOf } from "./agents.ts";
import { sqliteFile } from "./sqlite-file.ts";

/** Longer than it takes to reach the middle of the run, on a busy machine. */
const FIRST_TOKEN_SECONDS = 6;

const inputOf = (threadId: string, runId: string, more: object = {}): object => ({
  threadId,
  runId,
  messages: [{ id: `u ${runId}`, role: "user", content: "How many looms?" }],
  protocolVersion: "1.0",
  ...more,
});

test("Isolation. Knowing another user's `threadId`, `runId` and cursor, I get 404 from run, attach, list, stop and resume, and my own stream keeps working when my token is refreshed mid-thread.", async () => {
  const gates = await startGates();
  const { url } = await acceptanceServer(gates, { store: await sqliteFile(), env: TOKEN_ENVIRONMENT });
  const call = (token: string, method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: "text/event-stream, application/json",
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  // The owner's run, read up to its middle with a token that does not last.
  const brief = await tokenFor({ user: "alice", forSeconds: FIRST_TOKEN_SECONDS });
  const mine: Frame[] = [];
  const cut = (async () => {
    for await (const frame of framesOf(await call(brief, "POST", "/agents/worker", inputOf("t1", "r1"))))
      mine.push(frame);
  })();
  await gates.reached("t1 r1 middle");

  // The stranger meanwhile.
  const stranger = await tokenFor({ user: "bob" });
  const cursor = mine.findLast(({ id }) => id !== undefined)?.id ?? "";
  expect(cursor).not.toBe("");
  const resume = { resume: [{ interruptId: "i1", status: "resolved", payload: true }] };
  const tries: readonly [what: string, ...Parameters<typeof call>][] = [
    ["run", stranger, "POST", "/agents/worker", inputOf("t1", "r9")],
    ["the same run", stranger, "POST", "/agents/worker", inputOf("t1", "r1")],
    ["run elsewhere", stranger, "POST", "/agents/worker?parent=r1&on_busy=fork", inputOf("t1", "r9")],
    ["attach", stranger, "GET", `/threads/t1/events?after=${cursor}`],
    ["attach to the run", stranger, "GET", "/threads/t1/events?run=r1"],
    ["look", stranger, "GET", "/threads/t1"],
    ["state", stranger, "GET", "/threads/t1/snapshot"],
    ["the run's state", stranger, "GET", "/threads/t1/runs/r1"],
    ["stop", stranger, "POST", "/threads/t1/runs/r1/cancel"],
    ["resume", stranger, "POST", "/agents/worker", inputOf("t1", "r9", resume)],
    ["delete", stranger, "DELETE", "/threads/t1"],
  ];
  for (const [what, ...request] of tries) {
    const response = await call(...request);
    expect([what, response.status]).toEqual([what, 404]);
    const { error }: { error: { code: string } } = JSON.parse(await response.text());
    expect([what, error.code]).toEqual([what, "thread-unknown"]);
  }
  const list = await fetch(`${url}/threads`, { headers: { authorization: `Bearer ${stranger}` } });
  expect(await list.json()).toEqual({ threads: [] });
  expect(gates.visits("t1 r1 aborted")).toBe(0);

  // The token runs out: the stream ends, the run does not. With a new token it goes on where it was.
  await cut;
  expect(mine.map(({ event }) => event.type)).not.toContain("RUN_FINISHED");
  const late = await call(brief, "GET", "/threads/t1/events?run=r1");
  expect(late.status).toBe(401);
  await late.text();
  const fresh = await tokenFor({ user: "alice" });
  const after = mine.findLast(({ id }) => id !== undefined)?.id ?? "";
  const rest = framesOf(await call(fresh, "GET", `/threads/t1/events?run=r1&after=${after}`));
  gates.open("t1 r1 middle");
  for await (const frame of rest) mine.push(frame);

  const ids = mine.flatMap(({ id }) => id ?? []);
  expect(new Set(ids).size).toBe(ids.length);
  expect(mine.at(-1)?.event.type).toBe("RUN_FINISHED");
  const said = mine.flatMap(({ event }) => (event.type === "TEXT_MESSAGE_CONTENT" ? [event["delta"]] : [])).join("");
  expect(said).toContain([...wordsOf("first"), ...wordsOf("second")].join(""));
});

/** Whatever is asked, the answer is one of ours: no rejection, and no failure that is ours. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import { createHeddle } from "../index.ts";
import { heddleHandler } from "./index.ts";

const RUNS = 500 * Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

const part = fc.oneof(
  fc.constantFrom(
    "agents",
    "echo",
    "threads",
    "t1",
    "runs",
    "r1",
    "events",
    "cancel",
    "connect",
    "capabilities",
    "%zz",
    "..",
    "",
  ),
  fc.string({ maxLength: 8 }).map(encodeURIComponent),
);
const path = fc.oneof(
  fc.constantFrom("/agents/echo", "/agents/echo/connect", "/threads/t1/events", "/threads/t1/runs/r1/cancel"),
  fc.array(part, { maxLength: 5 }).map((parts) => `/${parts.join("/")}`),
);
const value = fc.oneof(
  fc.constantFrom("true", "false", "r1", "reset", "error", "cancel", "0.0.57", "aaaaaaaa_0000000000000001"),
  fc.string({ maxLength: 12 }),
);
const parameter = fc.constantFrom(
  "after",
  "run",
  "head",
  "all",
  "on_gap",
  "protocol",
  "meta",
  "raw",
  "on_disconnect",
  "other",
);
const query = fc.array(fc.tuple(parameter, value), { maxLength: 4 });
const headerValue = fc.stringMatching(/^[ -~]{0,20}$/);
const headers = fc.dictionary(
  fc.constantFrom("accept", "last-event-id", "origin", "content-type", "host", "content-length"),
  fc.oneof(
    headerValue,
    fc.constantFrom("application/json", "application/x-ndjson", "text/event-stream", "https://a.example"),
  ),
);
const body = fc.oneof(
  fc.record(
    { threadId: fc.oneof(fc.constantFrom("t1", "t2"), fc.string()), runId: fc.string(), messages: fc.anything() },
    { requiredKeys: [] },
  ),
  fc.json().map((text): unknown => JSON.parse(text)),
);

function codeIn(text: string): unknown {
  const { error }: { error?: { code?: unknown } } = JSON.parse(text);
  return error?.code;
}

test("requests of any kind are answered, and never by a fault of ours", async () => {
  const echo = defineAgent({ name: "echo", run: ({ emit }) => void emit.text().write("hello") });
  const heddle = createHeddle({ agents: [echo] });
  const faults: unknown[] = [];
  const handle = heddleHandler(heddle, { onFault: (error) => faults.push(error), origins: [] });
  const first = { threadId: "t1", runId: "r1", messages: [], protocolVersion: "1.0" };
  const json = { "content-type": "application/json" };
  const seeded = await handle(
    new Request("http://h/agents/echo", { method: "POST", body: JSON.stringify(first), headers: json }),
  );
  await seeded.text();
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("GET", "POST", "HEAD", "OPTIONS", "DELETE"),
      path,
      query,
      headers,
      fc.option(body),
      async (method, at, asked, sent, posted) => {
        // A stream that waits for more would wait for ever.
        const search = new URLSearchParams([...asked, ["follow", "false"]]);
        const takesBody = method === "POST" && posted !== null;
        const init = { method, headers: { ...(takesBody ? json : {}), ...sent } };
        const request = new Request(
          `http://h${at}?${search}`,
          takesBody ? { ...init, body: JSON.stringify(posted) } : init,
        );
        const response = await handle(request);
        statuses.add(response.status);
        const text = await response.text();
        expect(response.status).toBeLessThan(500);
        const code = response.status < 400 || method === "HEAD" ? "none needed" : codeIn(text);
        expect(code).toEqual(expect.any(String));
      },
    ),
    { numRuns: RUNS },
  );
  expect(faults).toEqual([]);
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 403, 404]));
  await heddle.close();
});

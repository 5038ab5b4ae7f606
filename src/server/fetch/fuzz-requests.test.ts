/**
 * Whatever is asked, the answer is one of ours: no rejection, and no failure that is ours. `test/fuzz-server.test.ts` asks
 * the other host, over sockets: 20,000 requests together.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryRequest } from "../../../test/arbitrary-request.ts";
import { defineAgent } from "../../agent/index.ts";
import { createHeddle } from "../index.ts";
import { heddleHandler } from "./index.ts";

const REQUESTS = Math.ceil(14_000 * Number(process.env["HEDDLE_TEST_SCALE"] ?? 1));

function codeIn(text: string): unknown {
  const { error }: { error?: { code?: unknown } } = JSON.parse(text);
  return error?.code;
}

test(`${REQUESTS} requests of any kind are answered, and never by a fault of ours`, async () => {
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
    fc.asyncProperty(arbitraryRequest("echo"), async ({ method, target, headers, body }) => {
      const init = { method, headers };
      const response = await handle(new Request(`http://h${target}`, body === undefined ? init : { ...init, body }));
      statuses.add(response.status);
      const text = await response.text();
      expect(response.status).toBeLessThan(500);
      const code = response.status < 400 || method === "HEAD" ? "none needed" : codeIn(text);
      expect(code).toEqual(expect.any(String));
    }),
    { numRuns: REQUESTS },
  );
  expect(faults).toEqual([]);
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 403, 404]));
  await heddle.close();
});

import { expect, test } from "vitest";
import type { Message } from "../protocol/index.ts";
import { agentOf, bodyOf, runToEnd, served } from "../../test/served.ts";

/** Says what it was given, and seals a thought and a call of its own. */
function sealing(name: string, given: Map<string, readonly Message[]>) {
  return agentOf(async ({ input, emit }) => {
    given.set(`${name} ${input.runId}`, input.messages);
    const thought = emit.reasoning({ id: `thought of ${name} ${input.runId}` });
    thought.write("hm");
    thought.encrypted(`sealed by ${name}`);
    const call = emit.toolCall("look", { id: `call of ${name} ${input.runId}` });
    call.encrypted(`call sealed by ${name}`);
    call.end();
    await emit.toolResult(call.id, "seen");
  }, name);
}

test("HTTP-AUT-8: encrypted reasoning goes back to the agent that issued it, and to no other", async () => {
  const given = new Map<string, readonly Message[]>();
  const heddle = served([sealing("one", given), sealing("two", given)]);
  for (const [agent, runId] of [
    ["one", "r1"],
    ["two", "r2"],
    ["one", "r3"],
  ] as const) {
    await runToEnd(heddle, bodyOf(runId), agent);
  }
  const sealsIn = (name: string): readonly string[] =>
    [...JSON.stringify(given.get(name)).matchAll(/"encryptedValue":"([^"]+)"/g)].map(([, value]) => value ?? "");
  expect(sealsIn("two r2")).toEqual([]);
  expect(sealsIn("one r3").toSorted()).toEqual(["call sealed by one", "sealed by one"]);
  // All else is there.
  expect(given.get("one r3")?.map(({ id }) => id)).toEqual(
    expect.arrayContaining(["thought of one r1", "thought of two r2"]),
  );
  await heddle.close();
});

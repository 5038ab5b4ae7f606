/** Agents that say anything, in any order, for ever or not at all: their runs end honestly, and nobody else notices. */
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryEvent, arbitraryJson } from "../../test/arbitrary-event.ts";
import { arbitrarySoup } from "../../test/arbitrary-stream.ts";
import { agentOf, bodyOf, checkStream, collect, served } from "../../test/served.ts";
import type { Agent } from "../agent/index.ts";
import type { Event } from "../protocol/index.ts";
import { foldBranch, readAll } from "../store/index.ts";
import { DEFAULT_TENANT } from "./index.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const AGENTS = Math.ceil(2000 * SCALE);
/** Named by a failure, to have the same agents again. */
const SEED = Number(process.env["HEDDLE_TEST_SEED"] ?? Date.now() % 1_000_000_007);

/** What the honest one says. */
const WORDS = 250;

/** How an agent goes on when it has said what it has to say. */
const ENDINGS = ["returns", "throws", "hangs", "repeats"] as const;

const circular: Record<string, unknown> = { type: "CUSTOM", name: "loop" };
circular["value"] = circular;

/** What no schema expects. */
const ODD = [
  undefined,
  null,
  5n,
  Symbol("odd"),
  () => 1,
  "text",
  [],
  circular,
  { type: "CUSTOM", name: "n", value: new Map() },
  { type: "STATE_SNAPSHOT", snapshot: { toJSON: () => undefined } },
  { type: "TEXT_MESSAGE_START", messageId: "m", metadata: { toJSON: () => 5 } },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "x".repeat(5000) },
  { type: "STATE_DELTA", delta: [{ op: "add", path: "/__proto__/polluted", value: 1 }] },
  new Proxy(
    {},
    {
      get: () => {
        throw new Error("trap");
      },
    },
  ),
];

const plan = fc.record({
  values: fc.oneof(
    fc.array(fc.oneof(arbitraryEvent(), arbitraryJson(), fc.constantFrom(...ODD)), { maxLength: 12 }),
    arbitrarySoup({ chunks: true, runs: 2, moves: 12 }),
  ),
  ending: fc.constantFrom(...ENDINGS),
  how: fc.constantFrom("generator", "iterator", "emit"),
});

type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

async function* speak({ values, ending, how }: Plan): AsyncGenerator<unknown, void, undefined> {
  // What an author forwards and we drop, nobody counts: such a one has to come to an end.
  const rounds = ending !== "repeats" ? 1 : how === "emit" ? 1000 : Infinity;
  for (let round = 0; round < rounds && (round === 0 || values.length > 0); round++) yield* values;
  if (ending === "throws") throw ODD[values.length % ODD.length];
  if (ending === "hangs") await new Promise(() => undefined);
}

function hostile(plans: readonly Plan[]): Agent {
  return agentOf(async ({ input, emit }) => {
    const each = plans[Number(input.runId)];
    if (each?.how === "generator") return speak(each);
    if (each?.how === "iterator") {
      const inner = speak(each);
      return { [Symbol.asyncIterator]: () => ({ next: () => inner.next() }) };
    }
    for await (const value of each === undefined ? [] : speak(each)) {
      await emit.forward(value as Event);
      // The author's own code: nobody else can give the process a turn here.
      await nextTurn();
    }
    return undefined;
  });
}

test(`${AGENTS} hostile agents: every run ends, every log verifies, and nobody else is disturbed`, async () => {
  const plans = fc.sample(plan, { numRuns: AGENTS, seed: SEED });
  const honest = agentOf(async ({ emit }) => {
    const reply = emit.text();
    for (let index = 0; index < WORDS; index++) {
      await reply.write(`${index} `);
      await nextTurn();
    }
  }, "honest");
  const limits = { maxEventBytes: 4000, maxEventsPerRun: 300, maxOpenItems: 40, cancelGraceMs: 200 };
  const heddle = served([hostile(plans), honest], limits);
  await heddle.start("honest", bodyOf("r", { threadId: "good" }));
  const witness = collect(heddle, { runId: "r" }, "good");
  const codes = new Map<string, number>();
  const runOne = async (index: number): Promise<void> => {
    const [threadId, runId] = [`t${index}`, `${index}`];
    await heddle.start("test", bodyOf(runId, { threadId, messages: [{ id: "u", role: "user", content: "hi" }] }));
    // One that hangs is stopped, as people do.
    if (plans[index]?.ending === "hangs") await heddle.cancel(threadId, runId);
    const seen = (await collect(heddle, { runId, raw: true, meta: true }, threadId)).map(({ event }) => event);
    checkStream(seen);
    const last = seen.at(-1);
    const code = last?.type === "RUN_ERROR" ? (last.code ?? "none") : (last?.type ?? "nothing");
    codes.set(code, (codes.get(code) ?? 0) + 1);
    await foldBranch(heddle.store, { tenant: DEFAULT_TENANT, threadId, runId });
  };
  const queue = plans.keys();
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (const index of queue) await runOne(index);
    }),
  );
  const said = (await witness).map(({ event }) => (event.type === "TEXT_MESSAGE_CONTENT" ? event.delta : "")).join("");
  expect(said).toBe(Array.from({ length: WORDS }, (_, index) => `${index} `).join(""));
  expect([...codes.keys()]).toEqual(expect.arrayContaining(["RUN_FINISHED", "event-invalid", "limit-exceeded"]));
  expect([...codes.keys()], `seed ${SEED}`).not.toContain("internal-error");
  expect([...codes.keys()], `seed ${SEED}`).not.toContain("worker-lost");
  expect(await heddle.health()).toMatchObject({ ready: true, runs: 0, viewers: 0 });
  await heddle.close();
  expect(await heddle.store.unsettled()).toEqual([]);
  expect(Reflect.get({}, "polluted")).toBe(undefined);
  for await (const { json } of readAll(heddle.store, { tenant: DEFAULT_TENANT, threadId: "t0" })) JSON.parse(json);
});

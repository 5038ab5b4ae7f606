import fc from "fast-check";
import { expect, test } from "vitest";
import { packBatches } from "../sql/packed-batches.ts";
import { flatten, unflatten } from "./flat-batches.ts";

const texts = fc.array(fc.string({ maxLength: 20_000 }), { minLength: 1, maxLength: 8 });
const batches = fc.array(
  fc.record({
    lease: fc.record({
      tenant: fc.constant("a"),
      threadId: fc.constant("t"),
      runId: fc.constant("r"),
      ref: fc.tuple(fc.nat(), fc.nat(), fc.maxSafeNat()).map((ids) => ids.join(".")),
      fence: fc.nat(),
      nextBatch: fc.constant(1),
      leaseMs: fc.nat(),
    }),
    number: fc.maxSafeNat(),
    events: texts.map(([first = "", ...rest]) => [first, ...rest] as const),
    end: fc.option(
      fc.record({
        status: fc.constantFrom("finished" as const, "failed" as const),
        interrupts: fc.constant([]),
        pendingToolCallIds: fc.array(fc.string()),
      }),
      { nil: undefined },
    ),
  }),
  { maxLength: 6 },
);

test("batches are the same after the way to the writer's thread", () => {
  const kept = fc.property(batches, (given) => {
    const packed = packBatches(given);
    expect(unflatten(structuredClone(flatten(packed)))).toEqual({ ...packed, bytes: new Uint8Array(packed.bytes) });
  });
  fc.assert(kept, { numRuns: 100 });
});

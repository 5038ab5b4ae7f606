import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryThread } from "../../../../test/arbitrary-thread.ts";
import { brokenAnthropicRules } from "../../../../test/provider-rules.ts";
import { toAnthropic } from "./index.ts";

const numRuns = 500 * Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

const signed = ({ thinking, signature }: Readonly<Record<string, unknown>>) => signature === `sig:${String(thinking)}`;

test("whatever the thread, a request keeps every documented rule", () => {
  fc.assert(
    fc.property(arbitraryThread(), (thread) => {
      const body = toAnthropic(thread, { model: "m" });
      expect(brokenAnthropicRules(body, signed)).toEqual([]);
      expect(JSON.stringify(body)).not.toMatch(/secret of google|enc:|neither JSON/);
    }),
    { numRuns },
  );
});

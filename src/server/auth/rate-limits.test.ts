/** Rates, exactly, on a clock of the test: no more than allowed, no less, to the millisecond, and no memory of the idle. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HeddleError } from "../../protocol/index.ts";
import { rateLimits, readRate } from "./index.ts";
import type { Rate, RateLimitOptions } from "./index.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const RUNS = { numRuns: Math.ceil(200 * SCALE) };

/** Limits on a clock that the test moves. */
function limited(options: Omit<RateLimitOptions, "nowMs">) {
  const clock = { nowMs: 1_000 };
  const limits = rateLimits({ ...options, nowMs: () => clock.nowMs });
  /** How long to wait; 0 where the request was taken. */
  const ask = (who = "ada"): number => {
    try {
      limits.take(who);
      return 0;
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== "rate-limited") throw error;
      const { retryAfterMs }: { retryAfterMs?: number } = error.details;
      return retryAfterMs ?? Number.NaN;
    }
  };
  return { clock, limits, ask };
}

const sizes = {
  requests: fc.integer({ min: 1, max: 12 }),
  perMs: fc.integer({ min: 1, max: 200 }),
};
const buckets: fc.Arbitrary<Rate> = fc.record({ ...sizes, burst: fc.integer({ min: 1, max: 12 }) });
const windows: fc.Arbitrary<Rate> = fc.record({ ...sizes, algorithm: fc.constant("sliding-window" as const) });
const rates = fc.oneof(buckets, windows);
/** Pauses between requests: mostly short ones. */
const pauses = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10 }), fc.integer({ min: 0, max: 500 })), {
  minLength: 1,
  maxLength: 120,
});

/** When requests were taken. */
function takenAt(rate: Rate, gaps: readonly number[]): number[] {
  const { clock, ask } = limited({ perPrincipal: rate });
  return gaps.flatMap((gap) => {
    clock.nowMs += gap;
    return ask() === 0 ? [clock.nowMs] : [];
  });
}

test("a sliding window: in no stretch of its length more than allowed", () => {
  fc.assert(
    fc.property(windows, pauses, (rate, gaps) => {
      const taken = takenAt(rate, gaps);
      for (const start of taken) {
        const within = taken.filter((at) => at >= start && at < start + rate.perMs);
        expect(within.length).toBeLessThanOrEqual(rate.requests);
      }
    }),
    RUNS,
  );
});

test("a token bucket: in no stretch more than the burst and what came back in it", () => {
  fc.assert(
    fc.property(buckets, pauses, ({ requests, perMs, burst = requests }, gaps) => {
      const taken = takenAt({ requests, perMs, burst }, gaps);
      for (const [first, start] of taken.entries()) {
        for (const [last, end] of taken.entries()) {
          if (last < first) continue;
          const most = burst + Math.floor(((end - start) * requests) / perMs);
          expect(last - first + 1).toBeLessThanOrEqual(most);
        }
      }
    }),
    RUNS,
  );
});

test("both take what a plain count by their definition would take", () => {
  fc.assert(
    fc.property(rates, pauses, (rate, gaps) => {
      const { requests, perMs, algorithm, burst = requests } = rate;
      const { clock, ask } = limited({ perPrincipal: rate });
      const taken: number[] = [];
      /** Tokens in exact parts, filled up step by step. */
      let parts = burst * perMs;
      for (const gap of gaps) {
        clock.nowMs += gap;
        parts = Math.min(burst * perMs, parts + gap * requests);
        const fits =
          algorithm === "sliding-window"
            ? taken.filter((at) => at > clock.nowMs - perMs).length < requests
            : parts >= perMs;
        expect(ask() === 0).toBe(fits);
        if (!fits) continue;
        taken.push(clock.nowMs);
        parts -= perMs;
      }
    }),
    RUNS,
  );
});

test("what a refusal says is tight: a millisecond before it is refused, then it is taken", () => {
  const limits = fc.record({ perPrincipal: rates, global: fc.option(rates, { nil: undefined }) });
  fc.assert(
    fc.property(limits, pauses, (options, gaps) => {
      const { clock, ask } = limited(options);
      for (const gap of gaps) {
        clock.nowMs += gap;
        const waitMs = ask();
        if (waitMs === 0) continue;
        expect(Number.isInteger(waitMs)).toBe(true);
        clock.nowMs += waitMs - 1;
        expect(ask()).toBe(1);
        clock.nowMs += 1;
        expect(ask()).toBe(0);
      }
    }),
    RUNS,
  );
});

test("whoever rests is forgotten, and nobody who is remembered would be treated otherwise if they were not", () => {
  const askers = fc.array(fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 60 })), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(rates, askers, (rate, asked) => {
      const { clock, limits, ask } = limited({ perPrincipal: rate });
      const alone = new Map<number, ReturnType<typeof limited>>();
      const lastAt = new Map<number, number>();
      const { requests, perMs, burst = requests, algorithm } = rate;
      const restMs = algorithm === "sliding-window" ? perMs : Math.ceil((burst * perMs) / requests);
      for (const [gap, who] of asked) {
        clock.nowMs += gap;
        const own = alone.get(who) ?? limited({ perPrincipal: rate });
        alone.set(who, own);
        own.clock.nowMs = clock.nowMs;
        const waitMs = ask(String(who));
        expect(waitMs).toBe(own.ask());
        if (waitMs === 0) lastAt.set(who, clock.nowMs);
        const lately = [...lastAt.values()].filter((at) => clock.nowMs - at < restMs);
        expect(limits.size).toBe(lately.length);
      }
    }),
    RUNS,
  );
});

test("a crowd that passes leaves nothing behind", () => {
  const { clock, limits, ask } = limited({ perPrincipal: { requests: 5, perMs: 1_000 } });
  for (let each = 0; each < 20_000; each++) {
    ask(`one-of-many-${each}`);
    clock.nowMs += 1;
    expect(limits.size).toBeLessThanOrEqual(1_000);
  }
  clock.nowMs += 1_000;
  ask("last");
  expect(limits.size).toBe(1);
});

describe("both limits", () => {
  const slow: Rate = { requests: 1, perMs: 100 };
  const slower: Rate = { requests: 1, perMs: 300 };

  test("principals do not count for each other, all count together", () => {
    const { ask } = limited({ perPrincipal: slow, global: { requests: 2, perMs: 300, burst: 2 } });
    expect([ask("a"), ask("a"), ask("b"), ask("c")]).toEqual([0, 100, 0, 150]);
  });

  test("a refusal by one does not count for the other", () => {
    const { clock, limits, ask } = limited({ perPrincipal: slow, global: slower });
    expect([ask("a"), ask("b"), ask("b"), ask("a")]).toEqual([0, 300, 300, 300]);
    expect(limits.size).toBe(1);
    clock.nowMs += 300;
    expect(ask("b")).toBe(0);
  });

  test("a refusal names the limit that lasts longer, and says what to do", () => {
    const mine = limited({ perPrincipal: slower, global: slow });
    mine.ask();
    expect(() => mine.limits.take("ada")).toThrow(
      expect.objectContaining({
        code: "rate-limited",
        status: 429,
        retryable: true,
        message: "You ask too often: try again in 300 ms.",
        details: { limit: "perPrincipal", retryAfterMs: 300 },
      }),
    );
    const all = limited({ perPrincipal: slow, global: slower });
    all.ask();
    expect(() => all.limits.take("ada")).toThrow(
      expect.objectContaining({
        message: "This server is asked too often: try again in 300 ms.",
        details: { limit: "global", retryAfterMs: 300 },
      }),
    );
  });

  test("without limits nothing is counted", () => {
    const { limits, ask } = limited({});
    for (let each = 0; each < 1_000; each++) expect(ask()).toBe(0);
    expect(limits.size).toBe(0);
  });
});

test("the largest rates are exact too", () => {
  const { clock, ask } = limited({ perPrincipal: { requests: 999_983, perMs: 86_399_999, burst: 1 } });
  for (let each = 0; each < 100; each++) {
    expect(ask()).toBe(0);
    const waitMs = ask();
    clock.nowMs += waitMs - 1;
    expect(ask()).toBe(1);
    clock.nowMs += 1;
  }
});

test("the process's own clock is used where none is given", () => {
  const limits = rateLimits({ perPrincipal: { requests: 1, perMs: 86_400_000 } });
  limits.take("ada");
  expect(() => limits.take("ada")).toThrow(expect.objectContaining({ code: "rate-limited" }));
});

test.each<[unknown, string]>([
  [600, "rate is 600: expected an object of requests and perMs."],
  [{ perMs: 1 }, "rate/requests is not set: expected a whole number from 1 to 1000000."],
  [{ requests: 0, perMs: 1 }, "rate/requests is 0: expected"],
  [{ requests: 1.5, perMs: 1 }, "rate/requests is 1.5: expected"],
  [{ requests: 1, perMs: "1s" }, 'rate/perMs is "1s": expected a whole number from 1 to 86400000.'],
  [{ requests: 1, perMs: 1, algorithm: "leaky" }, 'rate/algorithm is "leaky": expected one of token-bucket, sliding-'],
  [{ requests: 1, perMs: 1, burst: 0 }, "rate/burst is 0: expected"],
  [{ requests: 1, perMs: 1, burst: 1, algorithm: "sliding-window" }, "rate/burst is 1: expected nothing: a sliding"],
  [{ requests: 100_001, perMs: 1, algorithm: "sliding-window" }, "rate/requests is 100001: expected a whole number"],
  [{ requests: 1, perMs: 1, per: 1 }, "rate/per is 1: expected nothing: there is requests, perMs, algorithm, burst."],
])("%j is no rate", (value, sentence) => {
  expect(() => readRate(value, "rate")).toThrow(expect.objectContaining({ code: "config-invalid" }));
  expect(() => readRate(value, "rate")).toThrow(sentence);
});

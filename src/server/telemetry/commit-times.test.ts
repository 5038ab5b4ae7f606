/** Percentiles and the newest commits, before the rings are full and after. */
import { expect, test } from "vitest";
import { CommitTimes } from "./commit-times.ts";

const after = (count: number): ReturnType<CommitTimes["summary"]> => {
  const times = new CommitTimes();
  for (let ms = 1; ms <= count; ms++) times.add(ms);
  return times.summary();
};

test("nothing is told of no commits", () => {
  expect(after(0)).toEqual({ count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0, recent: [] });
});

test.each([
  [1, [1, 1, 1]],
  [100, [50, 95, 99]],
  [1000, [500, 950, 990]],
  // The newest 1,000 are those of 501 to 1,500.
  [1500, [1000, 1450, 1490]],
] as const)("percentiles are those of the newest commits, after %i", (count, expected) => {
  const { count: told, p50Ms, p95Ms, p99Ms } = after(count);
  expect([told, p50Ms, p95Ms, p99Ms]).toEqual([count, ...expected]);
});

test("the newest are told one by one, the oldest first, also where the ring begins anew", () => {
  const { recent } = after(1050);
  expect(recent.map(({ ms }) => ms)).toEqual(Array.from({ length: 120 }, (_, index) => 931 + index));
  expect(recent.map(({ at }) => Number.isFinite(Date.parse(at)))).not.toContain(false);
});

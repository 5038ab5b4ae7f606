import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { callAt } from "./call-at.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([-DAY_MS, 0])("calls in the next turn what is past, %i ms away", async (awayMs) => {
  const call = vi.fn<() => void>();
  callAt(Date.now() + awayMs, call);
  expect(call).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(call).toHaveBeenCalledOnce();
});

test.each([1, 60_000, 100 * DAY_MS])("calls at its moment and not before, %i ms away", async (awayMs) => {
  const call = vi.fn<() => void>();
  callAt(Date.now() + awayMs, call);
  await vi.advanceTimersByTimeAsync(awayMs - 1);
  expect(call).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(call).toHaveBeenCalledOnce();
});

test("is taken back, also after it was set again", async () => {
  const call = vi.fn<() => void>();
  const takeBack = callAt(Date.now() + 100 * DAY_MS, call);
  await vi.advanceTimersByTimeAsync(60 * DAY_MS);
  takeBack();
  await vi.advanceTimersByTimeAsync(60 * DAY_MS);
  expect(call).not.toHaveBeenCalled();
});

import { expect, test } from "vitest";
import { writeFrames } from "./write-frames.ts";

const bytes = (value: number): Uint8Array => Uint8Array.of(value);

/** Frames that say whether they were left before their end, and how often they were asked. */
function framesOf(count: number) {
  const seen = { asked: 0, left: false };
  const frames = {
    next: async (): Promise<IteratorResult<Uint8Array>> =>
      seen.asked++ < count ? { done: false, value: bytes(seen.asked) } : { done: true, value: undefined },
    return: async (): Promise<IteratorResult<Uint8Array>> => {
      seen.left = true;
      return { done: true, value: undefined };
    },
  };
  return { frames, seen };
}

test("the next write waits until the one before is taken, at once or later", async () => {
  const { frames, seen } = framesOf(4);
  const written: number[] = [];
  const gates = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()];
  const done = writeFrames(frames, ([value = 0]) => {
    written.push(value);
    return gates[value - 2]?.promise ?? true;
  });
  await expect.poll(() => written).toEqual([1, 2]);
  gates[0]?.resolve(true);
  await expect.poll(() => written).toEqual([1, 2, 3]);
  gates[1]?.resolve(true);
  expect(await done).toBe(true);
  expect(written).toEqual([1, 2, 3, 4]);
  expect(seen).toEqual({ asked: 5, left: false });
});

test.each([
  ["at once", false],
  ["later", Promise.resolve(false)],
])("who is gone %s is written no more, and the frames are left", async (_, taken) => {
  const { frames, seen } = framesOf(4);
  expect(await writeFrames(frames, ([value]) => (value === 2 ? taken : true))).toBe(false);
  expect(seen).toEqual({ asked: 2, left: true });
});

test("what fails on the way is told", async () => {
  const broken = { next: () => Promise.reject(new Error("no more")) };
  await expect(writeFrames(broken, () => true)).rejects.toThrow("no more");
});

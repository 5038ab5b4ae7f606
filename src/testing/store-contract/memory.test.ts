/** The memory store keeps the contract. */
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../store/index.ts";
import { modelTest, storeContract } from "./store-contract.ts";
import type { StoreUnderTest } from "./store-contract.ts";

const SEEDS = Array.from({ length: 10 * Number(process.env.HEDDLE_TEST_SCALE ?? 1) }, (_, index) => index + 1);

const make = async (): Promise<StoreUnderTest> => {
  const store = memoryStore();
  return { store, dispose: () => store.close() };
};

describe("memory store", () => {
  test.each(storeContract({ name: "memory", make, durable: false }))("$title", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  test.each(SEEDS)("answers as the model does, seed %i", async (seed) => {
    await expect(modelTest({ name: "memory", make, seed })).resolves.toBeUndefined();
  });
});

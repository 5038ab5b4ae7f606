/**
 * Random operations on a store and on the memory store, side by side: both must answer the same, step by step, up to ids
 * that a store mints (log ids, refs, fences) and the times of its clock.
 *
 * The steps follow from the seed alone, so a failure, which names seed and step, can be seen again. Nothing depends on
 * what the contract leaves open: pages are read to their end, what comes in no order is sorted, and a lease is either so
 * long that it never expires or so short that it surely has.
 */
import { memoryStore } from "../../store/index.ts";
import type { Store } from "../../store/index.ts";
import type { StoreUnderTest } from "./contract-case.ts";
import { ContractViolation, checkSame, outcomeOf } from "./contract-violation.ts";
import type { Outcome } from "./contract-violation.ts";
import { MODEL_STEPS, THREAD_KEYS } from "./model-steps.ts";
import type { KnownLease, ModelWorld, Side } from "./model-steps.ts";
import { Random } from "./random.ts";
import { viewOf } from "./scenario.ts";

/** Which store is compared with the memory store. */
export interface ModelTestOptions {
  /** What it is called in messages. */
  readonly name: string;
  /** Makes an empty store. */
  readonly make: () => Promise<StoreUnderTest>;
  /** What a second handle on the same data may do; one that may write takes turns with the first. Default: there is none. */
  readonly others?: "none" | "read" | "write";
  /** Decides every step. */
  readonly seed: number;
  /** How many steps. Default 200. */
  readonly steps?: number;
}

const COMPARE_ALL_EVERY = 25;

/** Throws where the store answers otherwise than the memory store. */
export async function modelTest({ name, make, others, seed, steps = 200 }: ModelTestOptions): Promise<void> {
  const under = await make();
  const world = new World(under, others === "write", new Random(seed));
  const taken: string[] = [];
  try {
    await world.takeHandles(under.store);
    for (let step = 1; step <= steps; step++) {
      const { title, take } = world.random.one(MODEL_STEPS);
      taken.push(title);
      await take(world);
      if (step % COMPARE_ALL_EVERY === 0 || step === steps) await world.compareAll();
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const place = `seed ${seed}, step ${taken.length}`;
    const message = `${name} is not as the memory store (${place}): ${reason}. The steps: ${taken.join(", ")}`;
    throw new ContractViolation(message, { cause: error });
  } finally {
    await under.dispose();
  }
}

class World implements ModelWorld {
  readonly random: Random;
  readonly model: Store = memoryStore();
  readonly leases: KnownLease[] = [];
  store: Store;
  readonly #under: StoreUnderTest;
  readonly #shared: boolean;
  #second: Store | undefined;

  constructor(under: StoreUnderTest, shared: boolean, random: Random) {
    this.#under = under;
    this.#shared = shared;
    this.store = under.store;
    this.random = random;
  }

  async takeHandles(store: Store): Promise<void> {
    this.store = store;
    this.#second = this.#shared ? await this.#under.second?.() : undefined;
  }

  async ask<T>(
    what: string,
    call: (store: Store, side: Side) => Promise<T>,
  ): Promise<readonly [model: T, store: T] | undefined> {
    const model = await outcomeOf(call(this.model, "model"));
    const handle = this.random.chance(50) ? this.store : (this.#second ?? this.store);
    const store = await outcomeOf(call(handle, "store"));
    if (store.type === "failure" && model.type === "answer") {
      throw new ContractViolation(`${what}: expected an answer, got ${store.code}: ${store.message}`);
    }
    checkSame(plain(summaryOf(store)), plain(summaryOf(model)), what);
    return model.type === "answer" && store.type === "answer" ? [model.answer, store.answer] : undefined;
  }

  async reopen(): Promise<void> {
    if (this.#under.reopen !== undefined) await this.takeHandles(await this.#under.reopen());
  }

  async compareAll(): Promise<void> {
    for (const key of THREAD_KEYS) {
      await this.ask(`everything of ${key.tenant}/${key.threadId}`, async (store) =>
        (await store.thread(key)) === undefined ? undefined : viewOf(store, key),
      );
    }
  }
}

/** What both have to agree on: the answer, or the code of the failure. */
const summaryOf = (outcome: Outcome): unknown => (outcome.type === "answer" ? outcome.answer : outcome.code);

const MINTED = new Set([
  "logId",
  "ref",
  "fence",
  "createdAtMs",
  "updatedAtMs",
  "startedAtMs",
  "endedAtMs",
  "queuedAtMs",
  "untilMs",
]);

/** A value with everything that a store mints replaced by whether it is there. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, MINTED.has(name) ? typeof member : plain(member)]),
  );
}

/**
 * The contract kit: what every store is held to, ours and yours.
 *
 * `storeContract` returns a list of cases that any test runner can loop over; a case fails by throwing, and the message
 * names the clause of PROTOCOL.md. `modelTest` runs random operations on a store and on the memory store side by side.
 * Neither depends on a test framework:
 *
 *     for (const { title, run } of storeContract({ name: "mine", make, durable: true })) test(title, run);
 */
import { accessCases } from "./access-cases.ts";
import { userCases } from "./user-cases.ts";
import { ackCases } from "./ack-cases.ts";
import { annotationCases } from "./annotation-cases.ts";
import { appendCases } from "./append-cases.ts";
import { claimCases } from "./claim-cases.ts";
import { concurrencyCases } from "./concurrency-cases.ts";
import { untilPast } from "./contract-case.ts";
import type { CaseContext, ContractCase, Need, StoreUnderTest } from "./contract-case.ts";
import { ContractViolation, checkPresent } from "./contract-violation.ts";
import { importCases } from "./import-cases.ts";
import { leaseCases } from "./lease-cases.ts";
import { lineageCases } from "./lineage-cases.ts";
import { openCases } from "./open-cases.ts";
import { queueCases } from "./queue-cases.ts";
import { readCases } from "./read-cases.ts";
import { sequenceCases } from "./sequence-cases.ts";
import { snapshotCases } from "./snapshot-cases.ts";
import { tenantCases } from "./tenant-cases.ts";
import { textCases } from "./text-cases.ts";
import { threadCases } from "./thread-cases.ts";
import { ticketCases } from "./ticket-cases.ts";
import { toolCallCases } from "./tool-call-cases.ts";
import { trimCases } from "./trim-cases.ts";
import { usageCases } from "./usage-cases.ts";
import { watchCases } from "./watch-cases.ts";

export type { NewerData, StoreUnderTest } from "./contract-case.ts";
export { ContractViolation } from "./contract-violation.ts";
export { modelTest } from "./model-test.ts";
export type { ModelTestOptions } from "./model-test.ts";

/** Which store is held to the contract. */
export interface StoreContractOptions {
  /** What it is called in messages. */
  readonly name: string;
  /** Makes an empty store; called once for each case. */
  readonly make: () => Promise<StoreUnderTest>;
  /** Whether the data outlives the store: then `reopen` and `newer` are needed. */
  readonly durable: boolean;
  /** What a second handle on the same data may do: then `second` is needed. Default: there is none. */
  readonly others?: "none" | "read" | "write";
  /** How long something that has to come soon may take. Default 5,000. */
  readonly soonMs?: number;
}

/** A case that is ready to run on the store. */
export interface StoreCase {
  /** The clause of PROTOCOL.md that it proves. */
  readonly clause: string;
  /** What is proved, with the clause in front. */
  readonly title: string;
  /** Runs on an empty store; throws where the clause is not kept. */
  readonly run: () => Promise<void>;
}

/** Every case there is, grouped by clause group. */
export const CONTRACT_CASES: readonly ContractCase[] = [
  ...openCases,
  ...ackCases,
  ...claimCases,
  ...sequenceCases,
  ...appendCases,
  ...leaseCases,
  ...lineageCases,
  ...readCases,
  ...textCases,
  ...watchCases,
  ...snapshotCases,
  ...threadCases,
  ...tenantCases,
  ...trimCases,
  ...importCases,
  ...queueCases,
  ...toolCallCases,
  ...annotationCases,
  ...accessCases,
  ...userCases,
  ...ticketCases,
  ...usageCases,
  ...concurrencyCases,
];

/** The cases that a store is held to, in the order of the clause groups. */
export function storeContract(options: StoreContractOptions): readonly StoreCase[] {
  const { durable, others = "none" } = options;
  const met: Readonly<Record<Need, boolean>> = { durable, reader: others !== "none", writer: others === "write" };
  return CONTRACT_CASES.filter(({ needs }) => needs.every((need) => met[need])).map((each) => ({
    clause: each.clause,
    title: each.title,
    run: () => runCase(each, options),
  }));
}

async function runCase(
  { title, prove }: ContractCase,
  { name, make, soonMs = 5000 }: StoreContractOptions,
): Promise<void> {
  const under = await make();
  try {
    await prove(contextOf(under, soonMs));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ContractViolation(`${title} (${name}): ${reason}`, { cause: error });
  } finally {
    await under.dispose();
  }
}

function contextOf({ store, reopen, second, newer, pass }: StoreUnderTest, soonMs: number): CaseContext {
  return {
    store,
    reopen: () => checkPresent(reopen, "`reopen` of a durable store")(),
    second: () => checkPresent(second, "`second` of a store with several handles")(),
    newer: () => checkPresent(newer, "`newer` of a durable store")(),
    pass: pass ?? (async (ms) => untilPast(store, (await store.nowMs()) + ms)),
    soon: (promise, what) => soon(promise, soonMs, what),
  };
}

async function soon<T>(promise: Promise<T>, soonMs: number, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new ContractViolation(`${what} did not come within ${soonMs} ms`)),
    soonMs,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

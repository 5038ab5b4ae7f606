/**
 * One case of the contract kit: a clause of PROTOCOL.md, and what a store must do to keep it.
 *
 * Each case runs on an empty store of its own, asks only what the contract promises, and waits by the store's own clock.
 * What a store cannot have (a second writer, data after a restart) is a need; a case whose needs are not met is not run.
 */
import type { Store } from "../../store/index.ts";
import { check } from "./contract-violation.ts";

/** What a case asks of the store under test beyond the contract itself. */
export type Need = "durable" | "reader" | "writer";

/** A store under test, and what can be done around it. */
export interface StoreUnderTest {
  /** An empty store, open or not. */
  readonly store: Store;
  /** Closes the handle in use and opens the same data again; durable stores have it. */
  readonly reopen?: () => Promise<Store>;
  /** Another handle on the same data, as another process would have it; open or not. */
  readonly second?: () => Promise<Store>;
  /** Data that a newer version wrote; durable stores have it. */
  readonly newer?: () => Promise<NewerData>;
  /** Lets time pass on the store's clock. Default: the clock is asked until it has. */
  readonly pass?: (ms: number) => Promise<void>;
  /** Closes every handle that was given, and removes the data. */
  dispose(): Promise<void>;
}

/** Data that a newer version wrote. */
export interface NewerData {
  /** A store on that data, not open. */
  readonly store: Store;
  /** Whether the data is still what the newer version wrote. */
  untouched(): Promise<boolean>;
}

/** What a case works with. */
export interface CaseContext {
  /** The store under test. */
  readonly store: Store;
  /** Closes it and opens the same data again. */
  readonly reopen: () => Promise<Store>;
  /** Another handle on the same data. */
  readonly second: () => Promise<Store>;
  /** Data that a newer version wrote. */
  readonly newer: () => Promise<NewerData>;
  /** Lets time pass on the store's clock. */
  readonly pass: (ms: number) => Promise<void>;
  /** Waits for what has to come soon; fails where it does not. */
  readonly soon: <T>(promise: Promise<T>, what: string) => Promise<T>;
}

/** A case, before it meets a store. */
export interface ContractCase {
  /** The clause that it proves. */
  readonly clause: string;
  /** What is proved, with the clause in front. */
  readonly title: string;
  /** What it asks beyond the contract. */
  readonly needs: readonly Need[];
  /** Fails where the store does not keep the clause. */
  readonly prove: (context: CaseContext) => Promise<void>;
}

/** Makes a case; its title begins with the clause, as in "STORE-SEQ-1: …". */
export function contractCase(title: string, prove: ContractCase["prove"], ...needs: readonly Need[]): ContractCase {
  const clause = /^STORE-[A-Z]+-\d+(?=: )/.exec(title)?.[0];
  check(clause !== undefined, `"${title}" does not begin with its clause`);
  return { clause, title, needs, prove };
}

/** Waits until the store's clock is past a time. A clock that stands still is a finding. */
export async function untilPast(store: Store, timeMs: number): Promise<void> {
  const givenUpAt = performance.now() + CLOCK_PATIENCE_MS;
  while ((await store.nowMs()) <= timeMs) {
    check(performance.now() < givenUpAt, `the store's clock does not get past ${timeMs}`);
    await turn();
  }
}

/** Lets everything else that is under way go on: a store may answer without ever leaving the turn of the event loop. */
export const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

const CLOCK_PATIENCE_MS = 20_000;

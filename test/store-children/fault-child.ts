/** A process that opens a store, tries one claim, says what came of it, and stays until it is ended. */
import { HeddleError } from "../../src/protocol/index.ts";
import { configOf, say } from "./orders.ts";
import { storeAt } from "./open-store.ts";
import type { StorePlace } from "./open-store.ts";
import { TENANT } from "./run-script.ts";

/** What it is started with. */
export interface FaultConfig {
  readonly place: StorePlace;
  readonly runId: string;
}

/** What it reports. */
export type FaultReport =
  | { readonly type: "claimed"; readonly how: string }
  | { readonly type: "failed"; readonly code: string; readonly message: string };

const { place, runId } = configOf<FaultConfig>();
const store = storeAt(place);
try {
  const key = { tenant: TENANT, threadId: "t", runId };
  const { type } = await store.claim({ ...key, agent: "weaver", leaseMs: 60_000, events: ["{}"] });
  say({ type: "claimed", how: type });
} catch (error) {
  const code = error instanceof HeddleError ? error.code : "untyped";
  say({ type: "failed", code, message: error instanceof Error ? error.message : String(error) });
}
// Whoever started it ends it.
process.stdin.resume();

/**
 * `heddle/stream/lineage`: the runs of a thread as a tree, and what a client posts against a branch of it. Every line here
 * is public.
 */
export { branchOf, commonAncestor, diffBranches, entriesOf, historyOf, lineage } from "./lineage.ts";
export type { Difference, Lineage, LineageKind, LineageProblem, LineageRun, LogEntry } from "./lineage.ts";
export { matchByPosition } from "./match-by-position.ts";
export { diffMessages, normaliseInput, rebuildInput } from "./normalise-input.ts";
export { reconcileState } from "./reconcile-state.ts";
export type { KnownRun, StateDecision, StateSight } from "./reconcile-state.ts";
export { DROP_REASONS, reconcile } from "./reconcile.ts";
export type { DropCode, Dropped, KnownBranch, ReconcileOptions, Reconciled } from "./reconcile.ts";
export { sameMessage } from "./same-message.ts";
export type { LooseMessage } from "./same-message.ts";

/**
 * `heddle/stream`: what a stream means, as pure step functions over one event and a state, with thin forms for arrays,
 * iterables and web streams. Every line here is public.
 */
export { applyPatch } from "./apply-patch.ts";
export type { PatchApplied, PatchFailure, PatchProblem, PatchRefused, PatchResult } from "./apply-patch.ts";
export { diff } from "./diff.ts";
export { createExpandState, expand } from "./expand.ts";
export type { ExpandState } from "./expand.ts";
export { createReduceState, reduce, view } from "./reduce.ts";
export type { ReduceOptions, ReduceState } from "./reduce.ts";
export { ADVICE, RULES } from "./rules.ts";
export type { Advice, Rule } from "./rules.ts";
export { chain, expanding, reduceAll, throughArray, throughIterable, throughStream, verifying } from "./stage.ts";
export type { Stage, VerifyingOptions } from "./stage.ts";
export { createVerifyState, verify, verifyEnd } from "./verify.ts";
export type { VerifyState } from "./verify.ts";
export type { RunStatus, RunView, StepView, SubagentView, ThreadView } from "./view.ts";

export { compact, compactWithRanges } from "./compact.ts";
export { Compaction } from "./compaction.ts";
export type { Compacted } from "./compact-events.ts";
export type { CompactOptions } from "./compact.ts";
export { createPreludeState, prelude, stepPrelude } from "./prelude.ts";
export type { PreludeState } from "./prelude.ts";

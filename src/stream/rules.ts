/**
 * The rules of order, each with a name that never changes and the clause of AG-UI that it comes from.
 *
 * A broken rule is an error of code `sequence-violation` that names the rule and carries the event. Advice is what AG-UI
 * does not call fatal and a producer should still know.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";

/** Rules whose breach ends the stream, by name, with AG-UI's clause. */
export const RULES = {
  "first-event": "R-LIFE-02",
  "after-finish": "R-LIFE-26",
  "after-error": "R-LIFE-25",
  "nested-run": "R-LIFE-27",
  "run-id": "R-IN-04",
  "thread-id": "R-IN-03",
  "second-thread": "R-IN-03",
  truncated: "R-TRAN-07",
  "already-open": "R-STRM-01",
  "not-open": "R-STRM-02",
  "open-at-finish": "R-STRM-03",
  "step-already-open": "R-LIFE-31",
  "step-not-open": "R-LIFE-31",
  "owner-mismatch": "R-SUB-13",
  "call-owner": "R-SUB-14",
  "subagent-active": "R-SUB-05",
  "subagent-reused": "R-SUB-02",
  "subagent-parent": "R-SUB-15",
  "subagent-not-active": "R-SUB-08",
  "interrupt-ids": "R-INT-03",
  "chunk-first": "R-STRM-10",
  "chunk-conflict": "R-STRM-12",
  "chunk-ambiguous": "R-STRM-15",
  "chunk-unexpanded": "R-PROC-17",
} as const;

/** Name of a rule whose breach ends the stream. */
export type Rule = keyof typeof RULES;

/** Advice, by name, with AG-UI's clause. */
export const ADVICE = {
  "result-orphan": "R-TOOL-05",
  "result-duplicate": "R-TOOL-05",
  "pending-calls": "R-TOOL-12",
  "version-newer": "R-VER-17",
  "version-unreadable": "R-VER-14",
} as const;

/** Something that a producer should do otherwise, though no rule ends the stream for it. */
export interface Advice {
  /** Name of the advice. */
  readonly rule: keyof typeof ADVICE;
  /** What is wrong, in one sentence. */
  readonly message: string;
  /** The event that it is about. */
  readonly event: Event;
}

/** The error of a broken rule. */
export function violation(rule: Rule, message: string, event?: Event): HeddleError<"sequence-violation"> {
  const details = { rule, clause: RULES[rule], ...(event === undefined ? {} : { event }) };
  return new HeddleError("sequence-violation", message, details);
}

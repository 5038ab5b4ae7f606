/** What a repair reports: the rule that would have been broken, in a sentence, with the event. */
import type { Event } from "../../protocol/index.ts";
import type { ADVICE, Rule } from "../rules.ts";

/** What is repaired though no rule of order ends the stream for it, by name, with AG-UI's clause. */
export const REPAIRS = {
  "patch-unappliable": "R-STATE-08",
  "activity-missing": "R-ACT-07",
  "activity-content": "R-ACT-09",
  "id-taken": "R-TEXT-03",
} as const;

/** One thing that an agent got wrong, and what became of it. */
export interface Repair {
  /** The rule or advice that it went against, else a key of `REPAIRS`. */
  readonly rule: Rule | keyof typeof ADVICE | keyof typeof REPAIRS;
  /** What was wrong and what became of it, in one sentence. */
  readonly message: string;
  /** The event at fault; absent where the end of the stream is. */
  readonly event?: Event;
}

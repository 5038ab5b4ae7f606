/**
 * The questions of a thread in a component. A run goes on when all of them have an answer, so answers are kept until the last
 * one is given, and sent together; components that show one question each share them.
 */
import type { Interrupt, ResumeEntry } from "../../protocol/index.ts";
import type { Failure } from "./thread-model.ts";
import { useThread } from "./use-thread.ts";
import type { ThreadActions, UseThreadOptions } from "./use-thread.ts";

/** The questions of a thread. */
export interface InterruptsHandle extends Pick<ThreadActions, "answer" | "decline"> {
  /** Those that are open. */
  readonly interrupts: readonly Interrupt[];
  /** Answers that wait for the others, by the id of the question. */
  readonly answers: ReadonlyMap<string, ResumeEntry>;
  /** Whether all have their answer and it is on its way. */
  readonly isSending: boolean;
  /** Why answers were refused. */
  readonly error: Failure | undefined;
}

/** The open questions of a thread, by default of the one around. */
export function useInterrupts(id?: string, options?: UseThreadOptions): InterruptsHandle {
  const { interrupts, answers, error, answer, decline } = useThread(id, options);
  const isSending = interrupts.length > 0 && interrupts.every(({ id: question }) => answers.has(question));
  return { interrupts, answers, isSending, error, answer, decline };
}

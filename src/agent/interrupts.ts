/**
 * Questions to people, in the style of a replay.
 *
 * A question that has no answer yet ends the run; the next run starts the agent from its beginning, and the same
 * question resolves at once. Nothing is kept between the two but what the input brings: the answers in `resume`, and
 * the record that an earlier run left in the messages (see answer-record.ts). So whatever an agent does before its
 * question, it does again: ask first, or put the work into a tool, whose result the messages hold.
 *
 * When the run ends: in the next macrotask after a question, as soon as no tool loop is at work any more. All
 * questions asked until then go into one outcome. Work that runs beside a question and is no tool loop's is cut off.
 */
import { HeddleError, runFinished } from "../protocol/index.ts";
import type { Interrupt, Metadata, ResumeEntry, RunAgentInput } from "../protocol/index.ts";
import { recordedAnswers } from "./answer-record.ts";
import type { Log } from "./log.ts";
import { checkOf, jsonSchemaOf } from "./schema.ts";
import type { Schema } from "./schema.ts";
import type { Scope } from "./scope.ts";

/** What is asked. */
export interface InterruptRequest<T = unknown> {
  /** The same in every run that asks it. Default: counted, so name questions that are asked in no fixed order. */
  readonly id?: string;
  /** Why the run stops, for programs: `confirmation`, `input_required`, or a word of the application's own. */
  readonly reason: string;
  /** The question, for people. */
  readonly message?: string;
  /** The tool call that it is about. */
  readonly toolCallId?: string;
  /** What an answer has to look like; it is checked when it comes. */
  readonly responseSchema?: Schema<T>;
  /** When it is too late to answer, in ISO 8601. */
  readonly expiresAt?: string;
  /** Extra information, open by key. */
  readonly metadata?: Metadata;
}

/** What came back: an answer, or that there will be none. */
export type InterruptAnswer<T = unknown> =
  | { readonly status: "resolved"; readonly payload: T; readonly metadata?: Metadata }
  | { readonly status: "cancelled"; readonly metadata?: Metadata };

/** Work that holds back the end of the run. */
export interface ToolWork {
  /** Resolves when the work has asked something and waits for the answer. */
  readonly asked: Promise<void>;
  /** The work waits for an answer. */
  wait(): void;
  /** The work is done. Calling it again changes nothing. */
  done(): void;
}

/** What a question without an answer gives: the run ends instead. */
export const NEVER = new Promise<never>(() => {});

/** The questions and answers of one run. */
export class Interrupts {
  readonly #input: RunAgentInput;
  readonly #log: Log;
  readonly #onAsked: () => void;
  readonly #answers = new Map<string, ResumeEntry[]>();
  readonly #used: ResumeEntry[] = [];
  readonly #open: Interrupt[] = [];
  #counted = 0;
  #working = 0;
  #scheduled = false;

  constructor(input: RunAgentInput, log: Log, onAsked: () => void) {
    this.#input = input;
    this.#log = log;
    this.#onAsked = onAsked;
    for (const entry of [...recordedAnswers(input), ...(input.resume ?? [])]) {
      const list = this.#answers.get(entry.interruptId) ?? [];
      this.#answers.set(entry.interruptId, [...list, entry]);
    }
  }

  /** Questions that wait for an answer. */
  get open(): readonly Interrupt[] {
    return this.#open;
  }

  /** Answers that this run has taken, in order. */
  get used(): readonly ResumeEntry[] {
    return this.#used;
  }

  /** Whether an answer is there for a question of this id. */
  hasAnswer(id: string): boolean {
    return (this.#answers.get(id)?.length ?? 0) > 0;
  }

  /** Whether an answer is there for a question that a tool call asked while it worked. */
  hasAnswerFor(toolCallId: string): boolean {
    return [...this.#answers.keys()].some((id) => id.startsWith(`${toolCallId}/`) && this.hasAnswer(id));
  }

  /** Asks. Resolves with the answer where there is one; else never, and the run ends. */
  ask<T>(scope: Scope, request: InterruptRequest<T>): Promise<InterruptAnswer<T>> {
    const id = request.id ?? this.#nextId(scope);
    const interrupt = interruptOf(scope, request, id);
    const answer = this.#take(id);
    if (answer !== undefined) return checked(answer, request.responseSchema);
    if (this.#open.some((other) => other.id === id)) {
      const details = { rule: "interrupt-ids", clause: "R-INT-03" };
      throw new HeddleError(
        "sequence-violation",
        `The question ${id} is asked already: give each its own id.`,
        details,
      );
    }
    this.#open.push(interrupt);
    scope.work?.wait();
    this.#schedule();
    return NEVER;
  }

  /** Asks what another agent asked. Its answers are its own to read, from the input. */
  raise(scope: Scope, interrupts: readonly Interrupt[]): void {
    const { subagentRunId } = scope;
    const tag = subagentRunId === undefined ? {} : { subagentRunId };
    for (const interrupt of interrupts) this.#open.push({ ...tag, ...interrupt });
    this.#schedule();
  }

  /** Holds the end of the run back until the work is done. */
  work(): ToolWork {
    this.#working++;
    let working = true;
    const asked = Promise.withResolvers<void>();
    const done = (): void => {
      if (!working) return;
      working = false;
      this.#working--;
      this.#schedule();
    };
    const wait = (): void => {
      asked.resolve();
      done();
    };
    return { asked: asked.promise, wait, done };
  }

  /** The answers are read by somebody else, from the input. */
  leaveAnswers(): void {
    this.#answers.clear();
  }

  /** Says which answers nobody asked for. */
  reportUnused(): void {
    for (const interruptId of [...this.#answers].flatMap(([id, list]) => (list.length > 0 ? [id] : []))) {
      this.#log.warn("An answer was sent to a question that the agent did not ask.", { interruptId });
    }
  }

  /** Ids that nobody gave are counted. The run is part of them, so that no other run asks under the same. */
  #nextId(scope: Scope): string {
    if (scope.toolCallId !== undefined) return `${scope.toolCallId}/${++scope.asked}`;
    const place = `/ask-${++this.#counted}`;
    const known = [...this.#answers].find(([id, list]) => list.length > 0 && id.endsWith(place));
    return known?.[0] ?? `${this.#input.runId}${place}`;
  }

  #take(id: string): ResumeEntry | undefined {
    const answer = this.#answers.get(id)?.shift();
    if (answer !== undefined) this.#used.push(answer);
    return answer;
  }

  #schedule(): void {
    if (this.#scheduled || this.#open.length === 0) return;
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      if (this.#working === 0) this.#onAsked();
    });
  }
}

/** The question as it travels. Throws `event-invalid` where a value is wrong. */
function interruptOf(scope: Scope, request: InterruptRequest, id: string): Interrupt {
  const { responseSchema, toolCallId = scope.toolCallId, ...rest } = request;
  const interrupt: Interrupt = {
    ...rest,
    id,
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(responseSchema === undefined ? {} : { responseSchema: jsonSchemaOf(responseSchema, "responseSchema") }),
    ...(scope.subagentRunId === undefined ? {} : { subagentRunId: scope.subagentRunId }),
  };
  const { outcome } = runFinished({ threadId: "", runId: "", outcome: { type: "interrupt", interrupts: [interrupt] } });
  return outcome?.type === "interrupt" ? (outcome.interrupts[0] ?? interrupt) : interrupt;
}

/** The answer as the question's schema makes it. Rejects with `resume-invalid` where it does not fit. */
async function checked<T>(entry: ResumeEntry, schema: Schema<T> | undefined): Promise<InterruptAnswer<T>> {
  const { interruptId, status, payload, metadata } = entry;
  const extra = metadata === undefined ? {} : { metadata };
  if (status === "cancelled") return { status, ...extra };
  // Without a schema nobody has said what the answer is: its type is unknown then.
  if (schema === undefined) return { status, payload: payload as T, ...extra };
  const result = await checkOf<T>(schema)(payload);
  if (result.ok) return { status, payload: result.value, ...extra };
  const message = `The answer to ${interruptId} does not fit: ${result.problems.join("; ")}. Answer it again.`;
  throw new HeddleError("resume-invalid", message, { interruptId, problems: result.problems });
}

/**
 * What went wrong lately: runs that failed, with what their viewers were told, and trouble of the process. Stacks and causes are
 * for the log.
 *
 * Errors of runs are for their tenant. More are kept than are told, so that a tenant with much trouble does not hide the little of
 * another; trouble that repeats itself is kept once, with its newest time.
 */
import { HeddleError } from "../protocol/index.ts";
import type { RunKey } from "../store/index.ts";

/** Something that went wrong. */
export interface RecentError {
  /** When, as a date of ISO 8601. */
  readonly at: string;
  /** Its code: one of ours, or an agent's own. */
  readonly code: string;
  /** What happened, in a sentence. */
  readonly message: string;
  /** The thread that it happened in. */
  readonly threadId?: string;
  /** The run that failed. */
  readonly runId?: string;
  /** Whose run it was. */
  readonly agent?: string;
}

/** What is told of a failure. */
export type Failure = Pick<RecentError, "code" | "message">;

/** So many are kept. */
const KEPT = 500;

/** So many are told. */
const TOLD = 50;

/** Longest message that is kept. */
const MAX_MESSAGE_CHARS = 500;

/** Longest code: an agent's may be anything. */
const MAX_CODE_CHARS = 100;

/** What may be told of whatever was thrown: the words of our own errors only. */
export function failureOf(error: unknown): Failure {
  if (error instanceof HeddleError) return { code: error.code, message: error.message };
  return { code: "internal-error", message: "Something failed inside the server: its log has the cause." };
}

/** Remembers what went wrong. */
export class RecentErrors {
  /** Newest first. */
  readonly #errors: { readonly tenant: string | undefined; readonly error: RecentError }[] = [];

  /** A run failed, or could not be ended here. */
  run({ tenant, threadId, runId }: RunKey, agent: string | undefined, failure: Failure): void {
    this.#add(tenant, { ...shortened(failure), threadId, runId, ...(agent !== undefined && { agent }) });
  }

  /** Something went wrong that no thread is told of. Words that may be about one are left to the log. */
  trouble(error: unknown): void {
    const { code, message } = failureOf(error);
    const isOfProcess = code.startsWith("store-") || code === "internal-error";
    const told = isOfProcess ? message : "Something on the side failed: the log of the server has the cause.";
    const failure = shortened({ code, message: told });
    const known = this.#errors.findIndex(
      ({ tenant, error: each }) => tenant === undefined && each.code === code && each.message === failure.message,
    );
    if (known >= 0) this.#errors.splice(known, 1);
    this.#add(undefined, failure);
  }

  #add(tenant: string | undefined, error: Omit<RecentError, "at">): void {
    this.#errors.unshift({ tenant, error: { at: new Date().toISOString(), ...error } });
    this.#errors.splice(KEPT);
  }

  /** What an operator of a tenant may know of, the newest first. */
  of(tenant: string): readonly RecentError[] {
    return this.#errors
      .filter(({ tenant: whose }) => whose === undefined || whose === tenant)
      .slice(0, TOLD)
      .map(({ error }) => error);
  }
}

const shortened = ({ code, message }: Failure): Failure => ({
  code: code.slice(0, MAX_CODE_CHARS),
  message: message.length > MAX_MESSAGE_CHARS ? `${message.slice(0, MAX_MESSAGE_CHARS)} …` : message,
});

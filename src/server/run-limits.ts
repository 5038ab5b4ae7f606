/** How much one run may say. An agent may be endless, by mistake or on purpose: its run is not. */
import { HeddleError } from "../protocol/index.ts";

/** How much one run may say. */
export interface RunLimits {
  /** Largest event, as bytes of JSON. */
  readonly maxEventBytes: number;
  /** Most events. */
  readonly maxEvents: number;
  /** Most of everything together, as characters of JSON. */
  readonly maxChars: number;
  /** Most messages, calls, steps and subagents that are open at a time. */
  readonly maxOpen: number;
}

/** What a run may say where nothing else is set. */
export const DEFAULT_LIMITS: RunLimits = {
  maxEventBytes: 1024 * 1024,
  maxEvents: 1_000_000,
  maxChars: 64 * 1024 * 1024,
  maxOpen: 10_000,
};

/** After so many events the rest of the process has a turn: a fast agent must not starve everybody else. */
export const EVENTS_PER_TURN = 64;

/** The error for who says too much. */
export function tooMuch(limit: string, allowed: number, actual: number): HeddleError {
  const message = `The agent was stopped: ${allowed} ${limit} are allowed.`;
  return new HeddleError("limit-exceeded", message, { limit, allowed, actual });
}

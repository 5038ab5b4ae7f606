/**
 * The one interface between the tool loop and whatever holds a model.
 *
 * A model is a function: one request in, the events of one answer out. It yields text, reasoning, tool calls and usage,
 * and nothing of the run's frame: no RUN_*, no tool results. AG-UI has no event for usage before the end of a run, so a
 * model says it by `modelUsage`, which becomes part of the run's terminal event and never leaves as itself. It throws a
 * `HeddleError` with one of the `model-*` codes where the provider fails, and stops at once when the signal aborts.
 */
import { custom } from "../protocol/index.ts";
import type { Context, Event, Message, TokenUsage, Tool } from "../protocol/index.ts";

/** One call of a model. */
export interface ModelRequest {
  /** The conversation so far: what the input held, and what this run has added. */
  readonly messages: readonly Message[];
  /** Every tool that the model may call, server and frontend ones alike. */
  readonly tools: readonly Tool[];
  /** What the client said about its surroundings. */
  readonly context: readonly Context[];
  /** Aborts when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}

/** Something that answers: the events of one assistant turn. */
export type Model = (request: ModelRequest) => AsyncIterable<Event>;

/** Name of the event by which a model says what it spent. */
export const USAGE_EVENT = "heddle.usage";

/** The event by which a model says what it spent; yielded any number of times, each for tokens not yet counted. */
export const modelUsage = (usage: TokenUsage): Event => custom({ name: USAGE_EVENT, value: usage });

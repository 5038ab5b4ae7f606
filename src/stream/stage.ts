/**
 * Any step function over arrays, iterables and web streams.
 *
 * A stage owns its state: make a new one for each stream. What a stage throws ends the stream it stands in; what came
 * out before stays out.
 */
import type { Event } from "../protocol/index.ts";
import { createExpandState, expand } from "./expand.ts";
import { createReduceState, reduce, view } from "./reduce.ts";
import type { ReduceOptions } from "./reduce.ts";
import type { Advice } from "./rules.ts";
import { createVerifyState, verify, verifyEnd } from "./verify.ts";
import type { ThreadView } from "./view.ts";

/** A step function with its state inside. */
export interface Stage {
  /** The events in place of one. */
  readonly push: (event: Event) => readonly Event[];
  /** The events that were only waiting for the end. */
  readonly end: () => readonly Event[];
}

/** A stage that expands chunks. */
export function expanding(): Stage {
  const state = createExpandState();
  return { push: (event) => expand(state, event), end: () => [] };
}

/** Options of `verifying`. */
export interface VerifyingOptions {
  /** Version that the reader declares. */
  readonly version?: string;
  /** Told what a producer should do otherwise. */
  readonly onAdvice?: (advice: Advice) => void;
}

/** A stage that lets verified events pass. Throws `sequence-violation`, also where the stream ends too early. */
export function verifying({ version, onAdvice }: VerifyingOptions = {}): Stage {
  const state = createVerifyState(version);
  return {
    push: (event) => {
      for (const advice of verify(state, event)) onAdvice?.(advice);
      return [event];
    },
    end: () => {
      verifyEnd(state);
      return [];
    },
  };
}

/** Stages one behind the other. */
export function chain(...stages: readonly Stage[]): Stage {
  const from = (index: number, events: readonly Event[]): readonly Event[] => {
    const stage = stages[index];
    return stage === undefined
      ? events
      : from(
          index + 1,
          events.flatMap((event) => stage.push(event)),
        );
  };
  return {
    push: (event) => from(0, [event]),
    end: () => stages.flatMap((stage, index) => from(index + 1, stage.end())),
  };
}

/** Events through a stage, all at once. */
export function throughArray(stage: Stage, events: readonly Event[]): readonly Event[] {
  return [...events.flatMap((event) => stage.push(event)), ...stage.end()];
}

/** Events through a stage, as they come. */
export async function* throughIterable(
  stage: Stage,
  source: AsyncIterable<Event> | Iterable<Event>,
): AsyncGenerator<Event, void, undefined> {
  for await (const event of source) yield* stage.push(event);
  yield* stage.end();
}

/** A stage as a web stream. */
export function throughStream(stage: Stage): TransformStream<Event, Event> {
  return new TransformStream({
    transform: (event, controller) => {
      for (const out of stage.push(event)) controller.enqueue(out);
    },
    flush: (controller) => {
      for (const out of stage.end()) controller.enqueue(out);
    },
  });
}

/** What events make of a thread. Takes expanded events. */
export function reduceAll(events: Iterable<Event>, options?: ReduceOptions): ThreadView {
  const state = createReduceState(options);
  for (const event of events) reduce(state, event);
  return view(state);
}

/**
 * Events that were made elsewhere: by a generator, a model, or another agent.
 *
 * Values are judged first: a malformed one throws `event-invalid`, an unknown one is dropped with a warning. A run's
 * own frame is absorbed: whose events these are has its frame from us. What a frame says about the end is kept for
 * whoever reads it. The rest is sent, put right in sequence, in the name of the scope's owner where it names none.
 */
import { parseEvent } from "../protocol/index.ts";
import type { Event, RunErrorEvent, RunFinishedEvent, TokenUsage } from "../protocol/index.ts";
import { USAGE_EVENT } from "./model.ts";
import type { Scope } from "./scope.ts";

const NONE: readonly Event[] = Object.freeze([]);

/** Takes events in, one source after the other. */
export class Forwarder {
  readonly #scope: Scope;
  #end: RunFinishedEvent | RunErrorEvent | undefined;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  /** How the source said that its run ended; undefined where it did not. */
  get end(): RunFinishedEvent | RunErrorEvent | undefined {
    return this.#end;
  }

  /** Takes one event in. Returns what went out in its place. */
  take(given: Event): readonly Event[] {
    const { channel } = this.#scope.run;
    const { value: event, warnings } = parseEvent(given);
    for (const { message, path } of warnings) channel.log.warn(message, { path });
    if (event === undefined) return NONE;
    switch (event.type) {
      case "RUN_STARTED":
        // A stream may replay earlier runs before the one that counts (R-IN-01).
        this.#end = undefined;
        return NONE;
      case "RUN_FINISHED":
      case "RUN_ERROR":
        if (event.type === "RUN_FINISHED" && event.outcome?.type === "interrupt") {
          this.#scope.run.interrupts.raise(this.#scope, event.outcome.interrupts);
        }
        for (const usage of event.usage ?? []) channel.usage.add(usage);
        this.#end = event;
        return NONE;
      case "CUSTOM":
        if (event.name !== USAGE_EVENT) break;
        // Judged by the tally.
        channel.usage.add(event.value as TokenUsage);
        return NONE;
    }
    // META stands outside of runs, so no end comes before it.
    if (this.#end === undefined || event.type === "META") return channel.forward(this.#tagged(event));
    channel.log.warn(`${event.type} came after the end of its run. It is dropped.`, { rule: "after-finish" });
    return NONE;
  }

  #tagged(event: Event): Event {
    const { subagentRunId } = this.#scope;
    if (subagentRunId === undefined) return event;
    switch (event.type) {
      case "MESSAGES_SNAPSHOT":
      case "META":
      case "SUBAGENT_FINISHED":
      case "SUBAGENT_ERROR":
      case "RUN_STARTED":
      case "RUN_FINISHED":
      case "RUN_ERROR":
        return event;
      case "SUBAGENT_STARTED":
        return event.parentSubagentRunId === undefined ? { ...event, parentSubagentRunId: subagentRunId } : event;
      default:
        return event.subagentRunId === undefined ? { ...event, subagentRunId } : event;
    }
  }
}

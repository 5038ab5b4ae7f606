/**
 * What a run has opened and not closed yet, in the order in which it was opened.
 *
 * Closing goes the other way round: what was opened last is closed first, so that whatever stands inside something else
 * is closed before it.
 */
import type { Event } from "../protocol/index.ts";

/** Says how a subagent that is still open ends. */
export type SubagentCloser = (subagentRunId: string) => Event;

interface OpenItem {
  /** The subagent that it belongs to; for a subagent, its parent. */
  readonly owner: string | undefined;
  /** What closes it; of a subagent only its id, since how it ends is not known yet. */
  readonly end: Event | { readonly subagentRunId: string };
}

/** Open messages, reasoning, calls, steps and subagents. */
export class OpenItems {
  readonly #items = new Map<string, OpenItem>();

  /** Whether a tool call is open. */
  hasCall(toolCallId: string): boolean {
    return this.#items.has(`call ${toolCallId}`);
  }

  /** Takes note of an event that goes out. Deltas open and close nothing, and need not be noted. */
  note(event: Event): void {
    switch (event.type) {
      case "TEXT_MESSAGE_START":
        return this.#add(event, `text ${event.messageId}`, { type: "TEXT_MESSAGE_END", messageId: event.messageId });
      case "TEXT_MESSAGE_END":
        return this.#remove(`text ${event.messageId}`);
      case "REASONING_START":
        return this.#add(event, `span ${event.messageId}`, { type: "REASONING_END", messageId: event.messageId });
      case "REASONING_END":
        return this.#remove(`span ${event.messageId}`);
      case "REASONING_MESSAGE_START": {
        const { messageId } = event;
        return this.#add(event, `thought ${messageId}`, { type: "REASONING_MESSAGE_END", messageId });
      }
      case "REASONING_MESSAGE_END":
        return this.#remove(`thought ${event.messageId}`);
      case "TOOL_CALL_START":
        return this.#add(event, `call ${event.toolCallId}`, { type: "TOOL_CALL_END", toolCallId: event.toolCallId });
      case "TOOL_CALL_END":
        return this.#remove(`call ${event.toolCallId}`);
      case "STEP_STARTED":
        return this.#add(event, stepKey(event), { type: "STEP_FINISHED", stepName: event.stepName });
      case "STEP_FINISHED":
        return this.#remove(stepKey(event));
      case "SUBAGENT_STARTED": {
        const { subagentRunId, parentSubagentRunId: owner } = event;
        return void this.#items.set(`subagent ${subagentRunId}`, { owner, end: { subagentRunId } });
      }
      case "SUBAGENT_FINISHED":
      case "SUBAGENT_ERROR":
        return this.#remove(`subagent ${event.subagentRunId}`);
    }
  }

  /** What closes everything that is open, the last opened first. */
  closing(closeSubagent: SubagentCloser): readonly Event[] {
    return this.#endsOf(() => true, closeSubagent);
  }

  /** What closes everything that belongs to a subagent, or to one below it. The subagent itself stays open. */
  closingWithin(subagentRunId: string, closeSubagent: SubagentCloser): readonly Event[] {
    const owners = new Set<string | undefined>([subagentRunId]);
    for (const { owner, end } of this.#items.values()) {
      if (!("type" in end) && owners.has(owner)) owners.add(end.subagentRunId);
    }
    return this.#endsOf(({ owner }) => owners.has(owner), closeSubagent);
  }

  #endsOf(isMeant: (item: OpenItem) => boolean, closeSubagent: SubagentCloser): readonly Event[] {
    return [...this.#items.values()]
      .filter(isMeant)
      .toReversed()
      .map(({ end }) => ("type" in end ? { ...end, timestamp: Date.now() } : closeSubagent(end.subagentRunId)));
  }

  #add({ subagentRunId: owner }: { readonly subagentRunId?: string }, key: string, end: Event): void {
    this.#items.set(key, { owner, end: owner === undefined ? end : { ...end, subagentRunId: owner } });
  }

  #remove(key: string): void {
    this.#items.delete(key);
  }
}

/** Steps are told apart by their name and their owner. */
const stepKey = ({ stepName, subagentRunId }: { readonly stepName: string; readonly subagentRunId?: string }): string =>
  `step ${JSON.stringify([subagentRunId ?? null, stepName])}`;

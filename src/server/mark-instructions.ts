/**
 * Marks streamed text of role system and developer, all of it, so that whoever shows events knows each fragment for what it
 * is: instructions to a model, which people see only where they ask for them. Only its start tells a message's role.
 */
import { METADATA_KEY } from "../protocol/index.ts";
import type { Event, Message } from "../protocol/index.ts";
import { withOurs } from "./with-ours.ts";

/** A word that stands in the text of every event that is marked. */
export const INSTRUCTION_WORD = '"instruction"';

/** Whether messages of a role are for the model alone. */
export const isInstruction = (role: Message["role"]): boolean => role === "system" || role === "developer";

/** Whether an event streams an instruction: a marked one, or a start that says so, as a prelude tells it. */
export function isStreamedInstruction(event: Event): boolean {
  const isText = event.type === "TEXT_MESSAGE_START" || event.type === "TEXT_MESSAGE_CHUNK";
  if (isText && event.role !== undefined && isInstruction(event.role)) return true;
  const ours: unknown = event.metadata?.[METADATA_KEY];
  return typeof ours === "object" && ours !== null && "instruction" in ours && ours.instruction === true;
}

/** Marks the events of one run. */
export class InstructionMarker {
  readonly #open = new Set<string>();

  /** The event, marked where it streams an instruction. */
  mark(event: Event): Event {
    if (event.type === "TEXT_MESSAGE_START" && event.role !== undefined && isInstruction(event.role)) {
      this.#open.add(event.messageId);
      return marked(event);
    }
    if (this.#open.size === 0) return event;
    const isText = event.type === "TEXT_MESSAGE_CONTENT" || event.type === "TEXT_MESSAGE_END";
    if (!isText || !this.#open.has(event.messageId)) return event;
    if (event.type === "TEXT_MESSAGE_END") this.#open.delete(event.messageId);
    return marked(event);
  }
}

const marked = (event: Event): Event => withOurs(event, { instruction: true });

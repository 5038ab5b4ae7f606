/**
 * Sets apart by id what views may hide: instructions, thoughts, and all other messages.
 *
 * AG-UI asks for ids that are unique by kind only, and the fold keeps one message for each id. A thought under the id of
 * an answer would become part of it, and be seen by who sees no thoughts; a call that names its message after a hidden one
 * would be folded otherwise by who does not have that. So whatever takes an id of another kind is logged under one of its own.
 */
import type { Event, Message } from "../protocol/index.ts";
import type { ReduceState } from "../stream/index.ts";
import { isInstruction } from "./mark-instructions.ts";

type Held = ReduceState["list"];

const kindOf = (role: Message["role"]): "instruction" | "thought" | "message" =>
  role === "reasoning" ? "thought" : isInstruction(role) ? "instruction" : "message";

/** Sets the events of one run apart. */
export class SetApart {
  /** Messages that are being streamed under another id than they came with. */
  readonly #texts = new Map<string, string>();
  readonly #thoughts = new Map<string, string>();

  /** The event, under an id of its own where it came with one that is not for its kind. */
  tell(event: Event, held: Held): Event {
    switch (event.type) {
      case "TEXT_MESSAGE_CONTENT":
      case "TEXT_MESSAGE_END":
        return renamed(event, this.#texts);
      case "REASONING_MESSAGE_CONTENT":
      case "REASONING_MESSAGE_END":
        return renamed(event, this.#thoughts);
      case "TEXT_MESSAGE_START":
        return start(event, event.role ?? "assistant", held, this.#texts);
      case "REASONING_MESSAGE_START":
        return start(event, event.role, held, this.#thoughts);
      case "TOOL_CALL_START":
        return this.#carried(event, held);
      default:
        return event;
    }
  }

  #carried(event: Extract<Event, { readonly type: "TOOL_CALL_START" }>, held: Held): Event {
    const { toolCallId, parentMessageId: said } = event;
    if (held.carrierOf(toolCallId) !== undefined) return event;
    const parentMessageId = said === undefined ? undefined : (this.#texts.get(said) ?? said);
    const parent = parentMessageId === undefined ? undefined : held.get(parentMessageId);
    const isFound = parent?.role === "assistant";
    const isApart = isFound || (!isHideable(parent) && !isHideable(held.get(toolCallId)));
    const name = isApart ? parentMessageId : fresh(toolCallId, "call", held);
    return name === said || name === undefined ? event : { ...event, parentMessageId: name };
  }
}

const isHideable = (message: Message | undefined): boolean =>
  message !== undefined && kindOf(message.role) !== "message";

type Streamed = Extract<Event, { readonly type: `${"TEXT" | "REASONING"}_MESSAGE_${"START" | "CONTENT" | "END"}` }>;

function start<E extends Streamed>(event: E, role: Message["role"], held: Held, names: Map<string, string>): E {
  const { messageId } = event;
  const before = held.get(messageId);
  // An activity holds no text, so nothing becomes a part of it.
  const isApart = before === undefined || before.role === "activity" || kindOf(before.role) === kindOf(role);
  if (isApart) names.delete(messageId);
  else names.set(messageId, fresh(messageId, kindOf(role), held));
  return renamed(event, names);
}

function renamed<E extends Streamed>(event: E, names: ReadonlyMap<string, string>): E {
  if (names.size === 0) return event;
  const messageId = names.get(event.messageId);
  return messageId === undefined ? event : { ...event, messageId };
}

/** An id that no message has. */
function fresh(id: string, suffix: string, held: Held): string {
  let name = id;
  while (held.get(name) !== undefined) name = `${name}-${suffix}`;
  return name;
}

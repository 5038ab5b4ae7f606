/**
 * Keeps an agent from saying again what the conversation holds already: a message is told once, by the log.
 *
 * Some agents stream their input back under the ids that it came with. Text that is streamed into a message which is not
 * the agent's would be added to it, and a result that is sent again would be shown twice. An echo is dropped; what
 * only borrows the id of somebody else's message gets an id of its own.
 */
import type { Event, Message } from "../protocol/index.ts";
import type { Repair } from "../stream/repair/index.ts";

type TextEvent = Extract<Event, { readonly type: `TEXT_MESSAGE_${string}` }>;

/** What an agent may not say again, in one run. */
export class EchoFilter {
  /** Roles of the messages that are not the agent's, by id. */
  readonly #held = new Map<string, Message["role"]>();
  /** What became of ids that an agent used again: null for an echo. */
  readonly #fates = new Map<string, string | null>();
  readonly #onRepair: (repair: Repair) => void;

  constructor(messages: readonly Message[], onRepair: (repair: Repair) => void) {
    for (const { id, role } of messages) if (role !== "assistant" && role !== "reasoning") this.#held.set(id, role);
    this.#onRepair = onRepair;
  }

  /** The event as it may pass; undefined for an echo. */
  pass(event: Event): Event | undefined {
    switch (event.type) {
      case "TEXT_MESSAGE_START":
      case "TEXT_MESSAGE_CONTENT":
      case "TEXT_MESSAGE_END":
      case "TEXT_MESSAGE_CHUNK":
        return this.#passText(event);
      case "TOOL_CALL_RESULT":
        if (this.#held.get(event.messageId) !== "tool") return event;
        this.#onRepair({ rule: "id-taken", message: `${event.messageId} is known already. It is dropped.`, event });
        return undefined;
      default:
        return event;
    }
  }

  #passText(event: TextEvent): Event | undefined {
    const { messageId } = event;
    const role = messageId === undefined ? undefined : this.#held.get(messageId);
    if (messageId === undefined || role === undefined) return event;
    const fate = this.#fateOf(event, messageId, role);
    return fate === null ? undefined : { ...event, messageId: fate };
  }

  #fateOf(event: TextEvent, messageId: string, role: Message["role"]): string | null {
    const known = this.#fates.get(messageId);
    if (known !== undefined) return known;
    const says = "role" in event ? (event.role ?? "assistant") : "assistant";
    const fate = says === role ? null : this.#freeId(messageId);
    this.#fates.set(messageId, fate);
    const what = fate === null ? "It is dropped." : `It becomes ${fate}.`;
    const message = `${messageId} is a message of the ${role}, which the conversation holds already. ${what}`;
    this.#onRepair({ rule: "id-taken", message, event });
    return fate;
  }

  #freeId(messageId: string): string {
    let id = `${messageId}-reply`;
    while (this.#held.has(id)) id += "-reply";
    return id;
  }
}

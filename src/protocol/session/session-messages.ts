/**
 * The texts and thoughts of a run, as the session dialect tells of them: when each is opened in AG-UI, and closed.
 *
 * A message opens with the first chunk that names it, and belongs to whom that chunk says. Messages may be open side by
 * side. One is closed when the dialect says that it is whole, and a thought also when its author goes on to something
 * else, since old servers do not always say it; a chunk that comes later opens it again, which continues it. A message
 * without a name is over, once and for all, when its author goes on to something else.
 */
import type { Event, TextMessageRole } from "../generated/model.ts";
import type { MessageIds } from "./message-ids.ts";
import { inLane } from "./session-event-draft.ts";

/** Whose words these are; `reasoning` are thoughts. */
export type Speaker = TextMessageRole | "reasoning";

/** Where words belong. */
export interface Place {
  /** The message that the event names. */
  readonly messageId: string | undefined;
  /** The subagent that the event names. */
  readonly lane: string | undefined;
}

interface Item {
  readonly id: string;
  readonly speaker: Speaker;
  readonly place: Place;
  isOpen: boolean;
}

/** The messages of one run. */
export class SessionMessages {
  readonly #ids: MessageIds;
  readonly #items = new Map<string, Item>();
  /** Open ones, in the order in which they were opened. */
  readonly #open = new Set<Item>();

  constructor(ids: MessageIds) {
    this.#ids = ids;
  }

  /** Somebody says something. */
  say(speaker: Speaker, place: Place, text: string): readonly Event[] {
    const item = this.#find(speaker, place);
    const delta = text === "" ? [] : [contentOf(item, text)];
    return [...this.#opened(item), ...delta];
  }

  /** A message is whole. One that never began was empty; without a name it is the newest of its kind. */
  complete(speaker: Speaker, place: Place): readonly Event[] {
    const { messageId, lane } = place;
    const isSame = (item: Item): boolean => isThought(item.speaker) === isThought(speaker);
    if (messageId === undefined) {
      const newest = [...this.#open].findLast((item) => isSame(item) && item.place.lane === lane);
      return newest === undefined ? [] : this.#closed(newest);
    }
    const named = [...this.#items.values()].filter((item) => isSame(item) && item.place.messageId === messageId);
    if (named.length > 0) return named.flatMap((item) => this.#closed(item));
    const empty = this.#find(speaker, place);
    return [...this.#opened(empty), ...this.#closed(empty)];
  }

  /** Somebody goes on to text, thoughts or tools: what that ends is closed. */
  turnTo(what: "text" | "thought" | "tool", lane: string | undefined): readonly Event[] {
    const isOver = ({ speaker, place }: Item): boolean => {
      const kind = isThought(speaker) ? "thought" : "text";
      return place.lane === lane && kind !== what && (kind === "thought" || place.messageId === undefined);
    };
    return [...this.#open].filter(isOver).flatMap((item) => this.#closed(item));
  }

  /** Closes what is open. */
  closeAll(): readonly Event[] {
    return [...this.#open].flatMap((item) => this.#closed(item));
  }

  /** Whose message an id is: undefined where nothing was said in it, otherwise its subagent, if any. */
  ownerOf(id: string): { readonly lane: string | undefined } | undefined {
    for (const item of this.#items.values()) if (item.id === id) return { lane: item.place.lane };
    return undefined;
  }

  #find(speaker: Speaker, place: Place): Item {
    const { messageId, lane } = place;
    const key = JSON.stringify(messageId === undefined ? [speaker, null, lane] : [speaker, messageId]);
    let item = this.#items.get(key);
    // What has no name cannot be continued.
    if (item === undefined || (messageId === undefined && !item.isOpen)) {
      const id = messageId === undefined ? this.#ids.mint() : this.#ids.of(speaker, messageId);
      this.#items.set(key, (item = { id, speaker, place, isOpen: false }));
    }
    return item;
  }

  #opened(item: Item): readonly Event[] {
    if (item.isOpen) return [];
    item.isOpen = true;
    this.#open.add(item);
    const { id: messageId, speaker: role, place } = item;
    const common = { messageId, ...inLane(place.lane) };
    if (role !== "reasoning") return [{ type: "TEXT_MESSAGE_START", role, ...common }];
    return [
      { type: "REASONING_START", ...common },
      { type: "REASONING_MESSAGE_START", role, ...common },
    ];
  }

  #closed(item: Item): readonly Event[] {
    if (!item.isOpen) return [];
    item.isOpen = false;
    this.#open.delete(item);
    const common = { messageId: item.id, ...inLane(item.place.lane) };
    if (item.speaker !== "reasoning") return [{ type: "TEXT_MESSAGE_END", ...common }];
    return [
      { type: "REASONING_MESSAGE_END", ...common },
      { type: "REASONING_END", ...common },
    ];
  }
}

const isThought = (speaker: Speaker): boolean => speaker === "reasoning";

function contentOf({ id: messageId, speaker, place }: Item, delta: string): Event {
  const common = { messageId, delta, ...inLane(place.lane) };
  return speaker === "reasoning"
    ? { type: "REASONING_MESSAGE_CONTENT", ...common }
    : { type: "TEXT_MESSAGE_CONTENT", ...common };
}

/**
 * The hand-over between an agent and whoever reads its run: in order, and never without bound.
 *
 * Up to `ROOM_EVENTS` or `ROOM_CHARS` wait freely; then a push asks its caller to wait. A caller that does not is tolerated, since
 * many sources cannot pause, until `MAX_WAITING_CHARS` wait: then the queue overflows, says so once, and refuses.
 * Refusals are promises that reject without ever counting as unhandled: an agent may ignore them.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";

/** How many events wait before writers are asked to. */
export const ROOM_EVENTS = 64;

/** How much text waits before writers are asked to. */
const ROOM_CHARS = 1024 * 1024;

/** How much may wait at all, counted as characters of text and `EVENT_CHARS` for every event. */
export const MAX_WAITING_CHARS = 16 * 1024 * 1024;

const EVENT_CHARS = 128;

const READY = Promise.resolve();

/** Events on their way from one agent to one reader. */
export class EventQueue {
  #waiting: Event[] = [];
  #waitingCount = 0;
  #waitingChars = 0;
  #refusal: { readonly reason: unknown } | undefined;
  #ended = false;
  #wake: (() => void) | undefined;
  #roomAgain: PromiseWithResolvers<void> | undefined;
  readonly #onOverflow: (error: HeddleError<"limit-exceeded">) => void;

  constructor(onOverflow: (error: HeddleError<"limit-exceeded">) => void) {
    this.#onOverflow = onOverflow;
  }

  /** Whether events are taken. */
  get accepts(): boolean {
    return this.#refusal === undefined;
  }

  /** Adds an event. Resolves when there is room for another, and rejects where events are not taken any more. */
  push(event: Event): Promise<void> {
    if (this.accepts) {
      this.#add(event);
      if (this.#waitingChars > MAX_WAITING_CHARS) this.#overflow();
    }
    return this.room();
  }

  /** Why events are not taken any more, as a rejection; undefined while they are. */
  refusal(): Promise<never> | undefined {
    return this.#refusal === undefined ? undefined : refused(this.#refusal.reason);
  }

  /** Resolves when there is room, and rejects where events are not taken any more. */
  room(): Promise<void> {
    if (this.#refusal !== undefined) return refused(this.#refusal.reason);
    if (this.#hasRoom) return READY;
    if (this.#roomAgain === undefined) {
      this.#roomAgain = Promise.withResolvers();
      ignoreRejection(this.#roomAgain.promise);
    }
    return this.#roomAgain.promise;
  }

  /** Takes no more events than these last ones. What waits can still be read; whoever writes gets the reason. */
  end(last: readonly Event[], reason: unknown): void {
    if (this.#ended) return;
    this.#refuse(reason);
    for (const event of last) this.#add(event);
    this.#ended = true;
    this.#wake?.();
  }

  /** What waits, handed over as a whole; each event makes room by `release`. For one reader. */
  take(): readonly Event[] {
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  /** Makes room again: an event that was taken is about to be read. */
  release(event: Event): void {
    this.#waitingCount--;
    this.#waitingChars -= charsOf(event);
    if (this.#roomAgain === undefined || !this.#hasRoom) return;
    this.#roomAgain.resolve();
    this.#roomAgain = undefined;
  }

  /** Resolves to true when events wait to be taken, and to false when there will be none. */
  async more(): Promise<boolean> {
    while (this.#waiting.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
    return this.#waiting.length > 0;
  }

  get #hasRoom(): boolean {
    return this.#waitingCount < ROOM_EVENTS && this.#waitingChars < ROOM_CHARS;
  }

  #add(event: Event): void {
    this.#waiting.push(event);
    this.#waitingCount++;
    this.#waitingChars += charsOf(event);
    this.#wake?.();
  }

  #refuse(reason: unknown): void {
    this.#refusal ??= { reason };
    this.#roomAgain?.reject(reason);
    this.#roomAgain = undefined;
  }

  #overflow(): void {
    const details = { limit: "waiting text", allowed: MAX_WAITING_CHARS, actual: this.#waitingChars };
    const message = "The agent writes faster than its run is read: await write(), which says when there is room.";
    const error = new HeddleError("limit-exceeded", message, details);
    this.#refuse(error);
    this.#onOverflow(error);
  }
}

function charsOf(event: Event): number {
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CONTENT":
    case "TOOL_CALL_ARGS":
      return EVENT_CHARS + event.delta.length;
    case "TOOL_CALL_RESULT":
      return EVENT_CHARS + event.content.length;
    default:
      return EVENT_CHARS;
  }
}

/** A rejection that nobody has to await. */
export function refused(reason: unknown): Promise<never> {
  const promise = Promise.reject<never>(reason);
  ignoreRejection(promise);
  return promise;
}

/** Whoever awaits the promise still sees it reject; whoever does not is not punished by an unhandled rejection. */
function ignoreRejection(promise: Promise<void>): void {
  promise.catch(() => {});
}

/**
 * The hubs of one server: made when somebody follows or writes a thread, gone when nobody does any more.
 *
 * One timer polls for all of them, each hub once in `pollMs`: hints can be lost, so somebody has to look now and then.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import { Hub } from "./hub.ts";
import { KeptOpenings } from "./kept-openings.ts";

/** Options of `Hubs`. */
export interface HubsOptions {
  /** How often a hub looks although nothing hinted at news. */
  readonly pollMs: number;
  /** Told of failures that are being tried again. */
  readonly onTrouble: (error: unknown) => void;
  /** Told when a run of this process begins to write, and when it is done. Default: nobody. */
  readonly onWriter?: () => void;
}

/** Somebody who follows. */
export interface Follower {
  /** How many events of the log it has not been given yet. */
  readonly behind: number;
}

/** The polls of a period are spread over so many ticks. */
const SLOTS = 8;

interface Place {
  readonly hub: Hub;
  readonly slot: number;
  users: number;
}

/** All hubs of a server. */
export class Hubs {
  /** Openings that were encoded before. */
  readonly openings = new KeptOpenings();
  readonly #store: Store;
  readonly #options: HubsOptions;
  readonly #places = new Map<string, Place>();
  #timer: NodeJS.Timeout | undefined;
  #tick = 0;
  #made = 0;
  readonly #followers = new Set<Follower>();
  #closing = false;
  readonly #left: (() => void)[] = [];

  constructor(store: Store, options: HubsOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** How many hubs there are. */
  get size(): number {
    return this.#places.size;
  }

  /** How many follow. */
  get viewers(): number {
    return this.#followers.size;
  }

  /** How far the slowest of them is behind, in events of its log. */
  get lag(): number {
    let most = 0;
    for (const { behind } of this.#followers) most = Math.max(most, behind);
    return most;
  }

  /** The hub of a thread, for somebody who follows it. Every call is answered by one `unfollow`. */
  follow(thread: ThreadInfo, follower: Follower): Hub {
    const hub = this.#join(thread);
    this.#followers.add(follower);
    hub.heard(thread.tail);
    return hub;
  }

  /** Whoever followed is gone. */
  unfollow(hub: Hub, follower: Follower): void {
    this.#followers.delete(follower);
    if (this.#followers.size === 0) for (const resolve of this.#left.splice(0)) resolve();
    this.#leave(hub);
  }

  /** The hub of a thread, for a run that writes. `thread` is as it was before the run. Answered by one `endWrite`. */
  write(thread: ThreadInfo): Hub {
    const hub = this.#join(thread);
    hub.addWriter();
    this.#options.onWriter?.();
    return hub;
  }

  /** The run is done. */
  endWrite(hub: Hub): void {
    hub.removeWriter();
    this.#leave(hub);
    this.#options.onWriter?.();
  }

  /** The thread was deleted: whoever follows it gets to the end. */
  drop(key: ThreadKey): void {
    this.#places.get(nameOf(key))?.hub.end();
  }

  /** Ends every hub: viewers get what is there, and then their end. */
  end(): void {
    this.#closing = true;
    for (const { hub } of this.#places.values()) hub.end();
    clearInterval(this.#timer);
  }

  /** Resolves when nobody follows anything. */
  async left(): Promise<void> {
    if (this.#followers.size === 0) return;
    await new Promise<void>((resolve) => this.#left.push(resolve));
  }

  #join(thread: ThreadInfo): Hub {
    const name = nameOf(thread);
    const known = this.#places.get(name);
    if (known !== undefined && known.hub.logId === thread.logId && !known.hub.failed) {
      known.users += 1;
      return known.hub;
    }
    known?.hub.end({ error: gone(thread) });
    const hub = new Hub(this.#store, thread, this.#options.onTrouble);
    this.#places.set(name, { hub, slot: this.#made++ % SLOTS, users: 1 });
    if (this.#closing) hub.end();
    else this.#timer ??= setInterval(() => this.#poll(), this.#options.pollMs / SLOTS).unref();
    return hub;
  }

  #leave(hub: Hub): void {
    const name = nameOf(hub.key);
    const place = this.#places.get(name);
    // One that was replaced has no place any more.
    if (place === undefined || place.hub !== hub) return;
    place.users -= 1;
    if (place.users > 0) return;
    hub.end();
    this.#places.delete(name);
    if (this.#places.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #poll(): void {
    this.#tick = (this.#tick + 1) % SLOTS;
    for (const { hub, slot } of this.#places.values()) if (slot === this.#tick) hub.poll();
  }
}

/** Unambiguous whatever the ids hold. */
const nameOf = ({ tenant, threadId }: ThreadKey): string => `${tenant.length} ${tenant} ${threadId}`;

function gone({ threadId }: ThreadKey): HeddleError {
  return new HeddleError("thread-unknown", "The thread was deleted.", { threadId });
}

/**
 * The lists of threads that somebody watches. Those who ask for the same share one stretch; one timer ticks for all, for
 * what other processes change, and runs only while somebody watches. What happens in this process is a reason to look at once.
 */
import type { ListRequest, Store } from "../store/index.ts";
import { ListStretch } from "./list-stretch.ts";
import type { ThreadListChange } from "./list-stretch.ts";

/** Options of `LiveLists`. */
export interface LiveListsOptions {
  /** How often lists are read although nothing is known to have happened. */
  readonly pollMs: number;
  /** Told of failures that are being tried again. */
  readonly onTrouble: (error: unknown) => void;
}

/** Least time between something that happened here and the reading, so that many of them are one. */
const GATHER_MS = 50;

interface Place {
  readonly stretch: ListStretch;
  users: number;
}

/** All lists that somebody watches. */
export class LiveLists {
  readonly #store: Store;
  readonly #options: LiveListsOptions;
  readonly #places = new Map<string, Place>();
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #closing = false;

  constructor(store: Store, options: LiveListsOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** How many lists are read. */
  get size(): number {
    return this.#places.size;
  }

  /** Watches a list from its top, until the signal aborts or the server stops. */
  async *watch(
    { tenant, query, archived, limit }: Omit<ListRequest, "after">,
    signal?: AbortSignal,
  ): AsyncGenerator<ThreadListChange, void, undefined> {
    const name = JSON.stringify([tenant, query, archived]);
    const place = this.#join(name, { tenant, query, archived });
    try {
      yield* place.stretch.watch(limit, signal);
    } finally {
      this.#leave(name, place);
    }
  }

  /** Something happened in this process. */
  look(): void {
    if (this.#places.size > 0) this.#soon ??= setTimeout(() => this.#lookAll(), GATHER_MS).unref();
  }

  /** Nothing more is told: whoever watches gets to the end. */
  end(): void {
    this.#closing = true;
    for (const { stretch } of this.#places.values()) stretch.end();
  }

  #join(name: string, request: Omit<ListRequest, "after" | "limit">): Place {
    const known = this.#places.get(name);
    if (known !== undefined && !known.stretch.failed) {
      known.users += 1;
      return known;
    }
    const place = { stretch: new ListStretch(this.#store, request, this.#options.onTrouble), users: 1 };
    if (this.#closing) place.stretch.end();
    this.#places.set(name, place);
    this.#timer ??= setInterval(() => this.#lookAll(), this.#options.pollMs).unref();
    return place;
  }

  #leave(name: string, place: Place): void {
    place.users -= 1;
    // One that was replaced has no place any more.
    if (place.users > 0 || this.#places.get(name) !== place) return;
    this.#places.delete(name);
    if (this.#places.size > 0) return;
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    this.#timer = this.#soon = undefined;
  }

  #lookAll(): void {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    for (const { stretch } of this.#places.values()) void stretch.look();
  }
}

/**
 * Access while somebody watches: a stream ends when its principal has to show anew who it is, or when its role in the
 * thread is another than it was. Who comes back is judged as anybody is.
 *
 * A change by this process counts at once, one by another when it is looked for next. Only roles that a thread gives can
 * change; those who watch one thread under one name are looked for together, by one timer that runs while there are any.
 */
import type { ThreadKey } from "../store/index.ts";
import type { Access } from "./access.ts";
import { callAt } from "./call-at.ts";
import type { Role } from "./auth/index.ts";

/** Something that can end a viewer. */
export interface Guard {
  /** Somebody begins to watch, and is cut when they may not any more. Returns what to call when they are gone. */
  enter(cut: () => void): () => void;
}

/** Options of `LiveAccess`. */
export interface LiveAccessOptions {
  /** How often roles are looked for that another process may have changed. */
  readonly everyMs: number;
  /** Told of failures; what was allowed stays so until the next look. */
  readonly onTrouble: (error: unknown) => void;
}

interface Seat {
  readonly access: Access;
  readonly key: ThreadKey;
  readonly role: Role;
  readonly cuts: Set<() => void>;
  /** Takes the end of the token back, where it has one. */
  readonly outlive: (() => void) | undefined;
}

/** All that are watched under a role that may end. */
export class LiveAccess {
  readonly #options: LiveAccessOptions;
  readonly #seats = new Map<string, Seat>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LiveAccessOptions) {
    this.#options = options;
  }

  /** How many are watched. */
  get size(): number {
    return this.#seats.size;
  }

  /** What ends a stream of this principal; undefined where nothing can. */
  guard(access: Access, key: ThreadKey, role: Role): Guard | undefined {
    const { principal, everywhere } = access;
    const { tenant, user, expiresAtMs } = principal;
    if (expiresAtMs === undefined && role === everywhere) return undefined;
    const name = JSON.stringify([tenant, key.threadId, user, role, everywhere, expiresAtMs]);
    return {
      enter: (cut) => {
        const seat = this.#seat(name, access, key, role);
        seat.cuts.add(cut);
        return () => this.#leave(name, seat, cut);
      },
    };
  }

  /** The members of a thread were changed here. Resolves when whoever had to go has gone. */
  async changed({ tenant, threadId }: ThreadKey): Promise<void> {
    const there = [...this.#seats].filter(([, { key }]) => key.tenant === tenant && key.threadId === threadId);
    await Promise.all(there.map(([name, seat]) => this.#look(name, seat)));
  }

  #seat(name: string, access: Access, key: ThreadKey, role: Role): Seat {
    const known = this.#seats.get(name);
    if (known !== undefined) return known;
    const { expiresAtMs } = access.principal;
    const outlive = expiresAtMs === undefined ? undefined : callAt(expiresAtMs, () => this.#end(name));
    const seat = { access, key, role, cuts: new Set<() => void>(), outlive };
    this.#seats.set(name, seat);
    this.#timer ??= setInterval(() => this.#lookAll(), this.#options.everyMs).unref();
    return seat;
  }

  #leave(name: string, seat: Seat, cut: () => void): void {
    seat.cuts.delete(cut);
    if (seat.cuts.size === 0 && this.#seats.get(name) === seat) this.#remove(name, seat);
  }

  #remove(name: string, { outlive }: Seat): void {
    this.#seats.delete(name);
    outlive?.();
    if (this.#seats.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #lookAll(): void {
    for (const [name, seat] of this.#seats) void this.#look(name, seat);
  }

  /** Never rejects. */
  async #look(name: string, { access, key, role }: Seat): Promise<void> {
    if (role === access.everywhere) return;
    try {
      if ((await access.role(key)) !== role) this.#end(name);
    } catch (error) {
      this.#options.onTrouble(error);
    }
  }

  #end(name: string): void {
    const seat = this.#seats.get(name);
    if (seat === undefined) return;
    this.#remove(name, seat);
    for (const cut of seat.cuts) cut();
  }
}

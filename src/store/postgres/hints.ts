/**
 * Word of commits from process to process: `NOTIFY` with the names of threads that have more, never with data.
 *
 * Hints may be lost, doubled or late; nobody's correctness hangs on them. They are gathered for 10 ms and sent apart from
 * the appends, because a NOTIFY inside of them would make all commits of the database wait for each other. Behind them
 * stands a poll, slow while the listener is healthy and quicker while it is not. Threads are named by a hash, since
 * anybody with a connection can listen.
 */
import { createHash } from "node:crypto";
import { Client } from "pg";
import type { ClientConfig } from "pg";
import type { ThreadKey } from "../index.ts";
import type { ThreadWatchers } from "../thread-watchers.ts";

/** How word gets around. */
export interface HintsOptions {
  /** How to connect. */
  readonly connection: ClientConfig;
  /** The channel, one for all threads of a schema. */
  readonly channel: string;
  /** Whether to listen at all; where a pooler stands in between, it is not possible. */
  readonly listen: boolean;
  /** How often to poll while there is no listener. */
  readonly pollMs: number;
  /** Who waits for more. */
  readonly watchers: ThreadWatchers;
  /** Sends a payload. */
  readonly notify: (payload: string) => Promise<void>;
  /** A mark for each thread, in their order, which is another one when there is more in its log or another queue. */
  readonly marksOf: (keys: readonly ThreadKey[]) => Promise<readonly (string | undefined)[]>;
}

/** Hints are gathered for so long. */
const GATHER_MS = 10;
/** While the listener is healthy the poll is so much slower. */
const HEALTHY_FACTOR = 5;
/** A payload may have 8,000 bytes; a name has 12 with its comma. */
const NAMES_PER_PAYLOAD = 600;
/** Longest pause between two attempts to listen. */
const MAX_BACKOFF_MS = 10_000;

/** Sends and hears hints. */
export class Hints {
  readonly #options: HintsOptions;
  readonly #dirty = new Set<string>();
  readonly #marks = new Map<string, string>();
  #listener: Client | undefined;
  #gather: ReturnType<typeof setTimeout> | undefined;
  #poll: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: HintsOptions) {
    this.#options = options;
  }

  /** Begins to listen and to poll. Not being able to listen is no failure. */
  async start(): Promise<void> {
    this.#schedulePoll();
    if (this.#options.listen) await this.#listen(100);
  }

  /** Whether hints of others are heard at the moment. */
  get listening(): boolean {
    return this.#listener !== undefined;
  }

  /** Says soon that a thread has more. */
  tell(key: ThreadKey): void {
    if (this.#closed || !this.#options.listen) return;
    this.#dirty.add(nameOf(key));
    this.#gather ??= setTimeout(() => this.#send(), GATHER_MS);
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#poll);
    clearTimeout(this.#retry);
    if (this.#gather !== undefined) {
      clearTimeout(this.#gather);
      this.#send();
    }
    await this.#sending;
    const listener = this.#listener;
    this.#listener = undefined;
    await listener?.end().catch(() => undefined);
  }

  #send(): void {
    this.#gather = undefined;
    const names = [...this.#dirty];
    this.#dirty.clear();
    for (let from = 0; from < names.length; from += NAMES_PER_PAYLOAD) {
      const payload = names.slice(from, from + NAMES_PER_PAYLOAD).join(",");
      // A hint that cannot be sent is a hint that got lost: the poll of the others finds out.
      this.#sending = this.#sending.then(() => this.#options.notify(payload)).catch(() => undefined);
    }
  }

  async #listen(backoffMs: number): Promise<void> {
    if (this.#closed) return;
    const client = new Client({ ...this.#options.connection, keepAlive: true });
    const again = (): void => {
      client.removeAllListeners();
      client.on("error", () => undefined);
      void client.end().catch(() => undefined);
      if (this.#listener === client) this.#listener = undefined;
      if (this.#closed) return;
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => void this.#listen(Math.min(MAX_BACKOFF_MS, backoffMs * 2)), backoffMs);
      this.#retry.unref();
    };
    client.on("error", again);
    client.on("end", again);
    client.on("notification", ({ payload }) => this.#heard(payload ?? ""));
    try {
      await client.connect();
      await client.query(`LISTEN "${this.#options.channel}"`);
      if (this.#closed) return again();
      this.#listener = client;
      backoffMs = 100;
      // Whatever was said while nobody listened.
      this.#options.watchers.callAll();
    } catch {
      again();
    }
  }

  #heard(payload: string): void {
    const names = new Set(payload.split(","));
    for (const key of this.#options.watchers.keys()) if (names.has(nameOf(key))) this.#options.watchers.call(key);
  }

  #schedulePoll(): void {
    if (this.#closed) return;
    const { pollMs } = this.#options;
    this.#poll = setTimeout(() => void this.#look(), this.listening ? pollMs * HEALTHY_FACTOR : pollMs);
    this.#poll.unref();
  }

  async #look(): Promise<void> {
    const { watchers, marksOf } = this.#options;
    const keys = watchers.keys();
    try {
      const marks = keys.length === 0 ? [] : await marksOf(keys);
      const before = new Map(this.#marks);
      this.#marks.clear();
      keys.forEach((key, index) => {
        const mark = marks[index] ?? "";
        const name = nameOf(key);
        this.#marks.set(name, mark);
        if (before.get(name) !== mark) watchers.call(key);
      });
    } catch {
      // The database is away: whoever watches asks again after the next poll.
    } finally {
      this.#schedulePoll();
    }
  }
}

/** Names by whoever keeps saying them: a lease names its thread with every commit. */
const names = new WeakMap<ThreadKey, string>();

/** A name for a thread that tells nothing about it. */
function nameOf(key: ThreadKey): string {
  const known = names.get(key);
  if (known !== undefined) return known;
  const { tenant, threadId } = key;
  const name = createHash("sha256")
    .update(JSON.stringify([tenant, threadId]))
    .digest("base64url")
    .slice(0, 11);
  names.set(key, name);
  return name;
}

/**
 * Word of commits from process to process: `NOTIFY` with the names of threads that have more, never with data.
 *
 * Hints may be lost, doubled or late; nobody's correctness hangs on them. The first goes at once, those of the next 10 ms
 * together, and all of them apart from the appends, because a NOTIFY inside of those would make all commits of the database
 * wait for each other. Behind them stands a poll, slow while the listener is healthy and quicker while it is not. Nobody
 * waits for a listener, neither to begin nor to end. Threads are named by a hash, since anybody with a connection can listen.
 */
import { createHash } from "node:crypto";
import { Socket } from "node:net";
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
  /** A mark for each thread, in their order, which is another one when its log, its queue or its members have changed. */
  readonly marksOf: (keys: readonly ThreadKey[]) => Promise<readonly (string | undefined)[]>;
}

/** Least time between two payloads: what comes meanwhile goes together. */
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
  /** The connection that listens, or is to. */
  #socket: Socket | undefined;
  #listening = false;
  #gather: ReturnType<typeof setTimeout> | undefined;
  #poll: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> | undefined;
  #sentAtMs = -Infinity;
  #closed = false;

  constructor(options: HintsOptions) {
    this.#options = options;
  }

  /** Begins to listen and to poll. Not being able to listen is no failure. */
  start(): void {
    this.#schedulePoll();
    if (this.#options.listen) void this.#listen(100);
  }

  /** Whether hints of others are heard at the moment. */
  get listening(): boolean {
    return this.#listening;
  }

  /** Says soon that a thread has more. */
  tell(key: ThreadKey): void {
    if (this.#closed || !this.#options.listen) return;
    this.#dirty.add(nameOf(key));
    this.#sendSoon();
  }

  /** Ends it, once what was to be told is told. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#poll);
    clearTimeout(this.#retry);
    clearTimeout(this.#gather);
    await this.#sending;
    this.#send();
    await this.#sending;
    this.#socket?.destroy();
  }

  #sendSoon(): void {
    if (this.#gather !== undefined || this.#sending !== undefined) return;
    const waitMs = Math.max(0, this.#sentAtMs + GATHER_MS - performance.now());
    this.#gather = setTimeout(() => this.#send(), waitMs);
  }

  #send(): void {
    this.#gather = undefined;
    this.#sentAtMs = performance.now();
    const names = [...this.#dirty];
    this.#dirty.clear();
    this.#sending = this.#notify(names).finally(() => {
      this.#sending = undefined;
      if (this.#dirty.size > 0 && !this.#closed) this.#sendSoon();
    });
  }

  async #notify(names: readonly string[]): Promise<void> {
    for (let from = 0; from < names.length; from += NAMES_PER_PAYLOAD) {
      const payload = names.slice(from, from + NAMES_PER_PAYLOAD).join(",");
      // A hint that cannot be sent is a hint that got lost: the poll of the others finds out.
      await this.#options.notify(payload).catch(() => undefined);
    }
  }

  async #listen(backoffMs: number): Promise<void> {
    if (this.#closed) return;
    const socket = (this.#socket = new Socket());
    const client = new Client({ ...this.#options.connection, keepAlive: true, stream: () => socket });
    const again = (): void => {
      client.removeAllListeners();
      client.on("error", () => undefined);
      // Nothing is under way on it: there is nobody to take leave of, who might not answer.
      socket.destroy();
      this.#listening = false;
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
      this.#listening = true;
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

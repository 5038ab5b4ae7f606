/**
 * A session while it lives: who holds it, what it waits for, and when it ends. What was said in it is in the log of its
 * thread, which outlives it.
 *
 * It ends when it has been idle too long, when it is ended, or when nobody holds it any more. One that has a request under
 * way is not idle. Ended, it has no timer and nobody listens.
 */
import type { SessionEndedData } from "../../protocol/session/index.ts";
import type { SessionSettings } from "./session-options.ts";

/** Told once that a session has ended, and why. */
export type EndListener = (end: SessionEndedData) => void;

/** What a session begins with. */
export interface SessionBeginning {
  /** Its id, which is its thread's. */
  readonly sessionId: string;
  /** Name of its endpoint. */
  readonly endpoint: string;
  /** Its rules. */
  readonly settings: SessionSettings;
  /** When it, or its thread, began. */
  readonly createdAtMs: number;
  /** What the application keeps with it. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Whether its thread is in the log already. */
  readonly isStored: boolean;
}

/** What a session is taken to cost while nothing waits in it, in bytes: its object, its timer and its socket. */
export const SESSION_BYTES = 16 * 1024;

/** A session. */
export class LiveSession {
  /** Its id, which is its thread's. */
  readonly sessionId: string;
  /** Name of its endpoint. */
  readonly endpoint: string;
  /** Its rules. */
  readonly settings: SessionSettings;
  /** When it, or its thread, began. */
  readonly createdAtMs: number;
  /** What the application keeps with it. */
  metadata: Readonly<Record<string, unknown>>;
  /** Whether its thread is in the log. */
  isStored: boolean;
  /** When something was last sent or received. */
  lastActivityMs: number = Date.now();
  /** Connections and callers that have it. */
  holders = 0;
  /** Bytes of requests that wait in it. */
  waitingBytes = 0;
  readonly #listeners = new Set<EndListener>();
  readonly #onEnd: EndListener;
  #requests = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(beginning: SessionBeginning, onEnd: EndListener) {
    this.sessionId = beginning.sessionId;
    this.endpoint = beginning.endpoint;
    this.settings = beginning.settings;
    this.createdAtMs = beginning.createdAtMs;
    this.metadata = beginning.metadata;
    this.isStored = beginning.isStored;
    this.#onEnd = onEnd;
    this.#wait(this.settings.timeoutMs);
  }

  /** Whether nothing is under way in it. */
  get isIdle(): boolean {
    return this.#requests === 0 && this.waitingBytes === 0;
  }

  /** What it holds, in bytes, by our own count. */
  get heldBytes(): number {
    return SESSION_BYTES + this.waitingBytes;
  }

  /** Something was sent or received: the time that it may be idle begins anew. */
  touch(): void {
    this.lastActivityMs = Date.now();
  }

  /** A request begins; to be called when it has ended. */
  begin(): () => void {
    this.#requests += 1;
    this.touch();
    return () => {
      this.#requests -= 1;
      this.touch();
    };
  }

  /** Tells when the session ends. Returns what stops listening. */
  listen(listener: EndListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends it, once. */
  end(end: SessionEndedData): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#onEnd(end);
    for (const listener of this.#listeners) listener(end);
    this.#listeners.clear();
  }

  /** One timer, set again for what is left: activity costs nothing. */
  #wait(ms: number): void {
    this.#timer = setTimeout(() => this.#look(), ms).unref();
  }

  #look(): void {
    const { timeoutMs } = this.settings;
    const leftMs = this.isIdle ? this.lastActivityMs + timeoutMs - Date.now() : timeoutMs;
    if (leftMs > 0) this.#wait(leftMs);
    else this.end({ reason: "timeout" });
  }
}

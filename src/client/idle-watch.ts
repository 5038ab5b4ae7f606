/** Ends a request whose server was not heard for so long: one that has nothing to say still sends a comment now and then. */
import { unreachable } from "./http.ts";

/** A watch over one request. */
export class IdleWatch {
  /** Aborts where the given signal does, and where nothing was heard for too long. */
  readonly signal: AbortSignal;
  readonly #idle = new AbortController();
  readonly #idleMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(idleMs: number, signal: AbortSignal | null | undefined) {
    this.#idleMs = idleMs;
    this.signal = signal ? AbortSignal.any([signal, this.#idle.signal]) : this.#idle.signal;
    this.heard();
  }

  /** Something was heard. */
  heard(): void {
    this.end();
    this.#timer = setTimeout(() => this.#idle.abort(unreachable("nothing came for too long")), this.#idleMs);
  }

  /** It need not be heard any more. */
  end(): void {
    clearTimeout(this.#timer);
  }
}

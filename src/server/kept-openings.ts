/**
 * Openings of runs that have ended, encoded: who opens a thread that rests gets what others got before.
 *
 * Such an opening never changes, and its name says all that it depends on; so it is right for as long as it is kept. Few are
 * kept, and none that is large: the log has them all.
 */
import type { Encoding } from "./encoding.ts";

/** Most openings that are kept. */
const MAX_OPENINGS = 256;

/** Most bytes of all of them. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Most bytes of one. */
const MAX_OPENING_BYTES = 1024 * 1024;

interface Kept {
  readonly encoding: Encoding;
  readonly bytes: Uint8Array;
}

/** The openings that one server keeps. */
export class KeptOpenings {
  /** Those that were used last are at the end. */
  readonly #openings = new Map<string, Kept>();
  #bytes = 0;

  /** The opening of a name in a form, as bytes that are shared: do not change them. */
  find(name: string, encoding: Encoding): Uint8Array | undefined {
    const kept = this.#openings.get(name);
    if (kept?.encoding !== encoding) return undefined;
    this.#openings.delete(name);
    this.#openings.set(name, kept);
    return kept.bytes;
  }

  /** Keeps an opening. */
  keep(name: string, encoding: Encoding, bytes: Uint8Array): void {
    this.#drop(name);
    if (bytes.length > MAX_OPENING_BYTES) return;
    this.#openings.set(name, { encoding, bytes });
    this.#bytes += bytes.length;
    for (const oldest of this.#openings.keys()) {
      if (this.#openings.size <= MAX_OPENINGS && this.#bytes <= MAX_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    this.#bytes -= this.#openings.get(name)?.bytes.length ?? 0;
    this.#openings.delete(name);
  }
}

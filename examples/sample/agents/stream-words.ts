/**
 * Streaming, as a model does it: a text in small pieces, with a short wait between them.
 *
 * `paceMs` is the wait; 0 writes as fast as the run is logged. The wait ends at once when the run is stopped.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** How fast an agent speaks. */
export interface Pace {
  /** Milliseconds between two words. */
  readonly paceMs: number;
}

/** The words of a text, one by one, each with the space behind it. */
export async function* streamWords(text: string, { paceMs }: Pace, signal: AbortSignal): AsyncGenerator<string> {
  for (const word of text.split(/(?<=\s)/)) {
    yield word;
    if (paceMs > 0) await sleep(paceMs, undefined, { signal });
  }
}

/** How many words there are: what the sample counts in place of tokens. */
export const countWords = (text: string): number => text.split(/\s+/).filter(Boolean).length;

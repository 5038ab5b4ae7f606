/**
 * What stands before a thinking block, in short.
 *
 * Newer models take thinking back only behind the very system prompt, tools and messages that it came from; anything
 * else, a context that changed between two runs say, is refused as forged, and so is all thinking after it. So each
 * block remembers what it came from, and is left out where that is not what would be sent.
 */
import type { AnthropicBlock, AnthropicBody, AnthropicMessage } from "./to-anthropic.ts";

/** Name under which a sealed block keeps what it came from; never sent. */
export const PREFIX = "heddle.prefix";

/** Longer texts count by their length and their ends: bytes of images do not change in the middle only. */
const WHOLE_CHARS = 64 * 1024;

/** Takes a request in, piece by piece. */
export class PrefixHash {
  #high = 0xdeadbeef;
  #low = 0x41c6ce57;

  constructor({ system, tools }: Pick<AnthropicBody, "system" | "tools">) {
    this.#mix(JSON.stringify([system ?? null, tools ?? null]));
  }

  /** Takes in what someone says. Turns may be cut in pieces: only the blocks count. */
  add(role: AnthropicMessage["role"], content: readonly AnthropicBlock[]): void {
    for (const block of content) this.#mix(`${role}${JSON.stringify(block)}`);
  }

  /** What was taken in so far. */
  digest(): string {
    return `${this.#high.toString(16)}${this.#low.toString(16).padStart(8, "0")}`;
  }

  #mix(text: string): void {
    const long = text.length > WHOLE_CHARS;
    const short = long ? `${text.length}${text.slice(0, WHOLE_CHARS / 2)}${text.slice(-WHOLE_CHARS / 2)}` : text;
    for (let index = 0; index < short.length; index++) {
      const code = short.charCodeAt(index);
      this.#high = Math.imul(this.#high ^ code, 2654435761) >>> 0;
      this.#low = Math.imul(this.#low ^ code, 1597334677) >>> 0;
    }
    this.#high = (this.#high ^ (this.#low >>> 15)) >>> 0;
    this.#low = (this.#low ^ (this.#high >>> 13)) >>> 0;
  }
}

/** What a request holds. */
export function prefixOf(body: AnthropicBody): string {
  const hash = new PrefixHash(body);
  for (const { role, content } of body.messages) hash.add(role, content);
  return hash.digest();
}

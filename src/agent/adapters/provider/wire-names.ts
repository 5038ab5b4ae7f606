/**
 * Names and ids that a provider accepts, for tools and calls that may be called anything in AG-UI.
 *
 * What fits is left alone. The rest is rewritten in the order in which it comes up, so that a longer conversation
 * gives the same names for its beginning, which is what a provider's prompt cache asks for.
 */
import type { Tool } from "../../../protocol/index.ts";

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Names of tools, there and back. */
export class WireNames {
  readonly #toWire = new Map<string, string>();
  readonly #fromWire = new Map<string, string>();

  constructor(tools: readonly Tool[] = []) {
    // Names that fit go first: no rewritten name may take theirs.
    for (const fits of [true, false]) for (const { name } of tools) if (NAME.test(name) === fits) this.toWire(name);
  }

  /** The name that the provider gets. */
  toWire(name: string): string {
    const known = this.#toWire.get(name);
    if (known !== undefined) return known;
    const base = NAME.test(name) ? name : name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 56) || "tool";
    let wire = base;
    for (let count = 2; this.#fromWire.has(wire); count++) wire = `${base.slice(0, 56)}_${count}`;
    this.#toWire.set(name, wire);
    this.#fromWire.set(wire, name);
    return wire;
  }

  /** The name that the tool has here. */
  fromWire(wire: string): string {
    return this.#fromWire.get(wire) ?? wire;
  }
}

/** Ids of calls that a provider accepts: of its characters, not too long, and each once. */
export class WireIds {
  readonly #fits: RegExp;
  readonly #used: Set<string>;
  #count = 0;

  constructor(fits: RegExp, reserved: Iterable<string> = []) {
    this.#fits = fits;
    this.#used = new Set(reserved);
  }

  /** The id that the next call gets. */
  next(id: string): string {
    let wire = id;
    while (!this.#fits.test(wire) || this.#used.has(wire)) wire = `call_${++this.#count}`;
    this.#used.add(wire);
    return wire;
  }
}

/** Each tool once: the first of a name counts. */
export function uniqueTools(tools: readonly Tool[]): readonly Tool[] {
  return [...new Map(tools.toReversed().map((tool) => [tool.name, tool])).values()].toReversed();
}

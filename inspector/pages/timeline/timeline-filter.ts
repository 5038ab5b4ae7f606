/**
 * Which events are shown, worked out as they are read, in slices that leave the page usable. Text is looked for in the JSON of
 * each event as it is shown, also as JSON writes it within a text (`say "hi"`, `C:\\temp`), and in what the parts of a message,
 * thought or call come to: a word that was said in two parts is found in the second.
 */
import type { Kind } from "../../log/event-kinds.ts";
import { bareEvent } from "../../log/thread-log.ts";
import { deltaOf } from "./settle-group.ts";
import type { Group } from "./timeline-group.ts";
import { problemOf } from "./timeline-index.ts";
import type { TimelineIndex } from "./timeline-index.ts";

/** What is asked for. Empty members ask for nothing. */
export interface FilterSpec {
  /** One of these kinds. */
  readonly kinds: readonly Kind[];
  /** Of this run. */
  readonly runId: string;
  /** Of a subagent of this name. */
  readonly subagent: string;
  /** With this text, in capitals or not. */
  readonly text: string;
  /** A repair, a warning or an error. */
  readonly problems: boolean;
}

/** Whether anything is asked for. */
export const asksAnything = ({ kinds, runId, subagent, text, problems }: FilterSpec): boolean =>
  kinds.length > 0 || runId !== "" || subagent !== "" || text !== "" || problems;

/** So many events are looked at before the clock is. */
const STRIDE = 256;

/** Which events are shown. */
export class TimelineFilter {
  /** How many events are shown. */
  hits = 0;
  readonly #index: TimelineIndex;
  readonly #spec: FilterSpec;
  readonly #kinds: ReadonlySet<Kind>;
  readonly #text: string;
  /** The text as it stands within a text in JSON. */
  readonly #escaped: string;
  readonly #places: number[] = [];
  readonly #isHit: boolean[] = [];
  readonly #groupHits = new Map<Group, number>();
  /** The end of what the parts of a group come to, as long as a match may begin there. */
  readonly #tails = new Map<Group, string>();

  constructor(index: TimelineIndex, spec: FilterSpec) {
    this.#index = index;
    this.#spec = spec;
    this.#kinds = new Set(spec.kinds);
    this.#text = spec.text.toLowerCase();
    this.#escaped = JSON.stringify(this.#text).slice(1, -1);
  }

  /** How many events were looked at. */
  get read(): number {
    return this.#isHit.length;
  }

  /** Looks at more events, for so long at most. True when all were looked at. */
  advance(budgetMs = Infinity): boolean {
    const deadline = performance.now() + budgetMs;
    const { count } = this.#index;
    while (this.read < count) {
      if (this.read % STRIDE === 0 && performance.now() > deadline) return false;
      this.#take(this.read);
    }
    return true;
  }

  /** Whether an event is shown. */
  has(place: number): boolean {
    return this.#isHit[place] === true;
  }

  /** How many events of a group are shown. */
  hitsIn(group: Group): number {
    return this.#groupHits.get(group) ?? 0;
  }

  /** The places of the events that are shown. */
  places(): readonly number[] {
    return this.#places;
  }

  /** The match behind a place, or before it, beginning anew at the end; and the so manieth that it is. */
  next(place: number, step: 1 | -1): { readonly place: number; readonly number: number } | undefined {
    const places = this.#places;
    if (places.length === 0) return undefined;
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[middle] ?? 0) < place + (step === 1 ? 1 : 0)) low = middle + 1;
      else high = middle;
    }
    const at = (step === 1 ? low : low - 1 + places.length) % places.length;
    const found = places[at];
    return found === undefined ? undefined : { place: found, number: at + 1 };
  }

  #take(place: number): void {
    const isHit = this.#matches(place);
    this.#isHit.push(isHit);
    if (!isHit) return;
    this.hits += 1;
    this.#places.push(place);
    for (let group = this.#index.owners[place]; group !== undefined; group = group.parent) {
      this.#groupHits.set(group, this.hitsIn(group) + 1);
    }
  }

  #matches(place: number): boolean {
    const { entries, owners, kinds } = this.#index;
    const [entry, owner, kind] = [entries[place], owners[place], kinds[place]];
    if (entry === undefined || owner === undefined || kind === undefined) return false;
    const { runId, subagent, problems } = this.#spec;
    // The text has to be followed through whatever else is not asked for.
    const hasText = this.#text === "" || this.#hasText(JSON.stringify(bareEvent(entry)), deltaOf(entry.event), owner);
    if (!hasText) return false;
    if (this.#kinds.size > 0 && !this.#kinds.has(kind)) return false;
    if (runId !== "" && entry.runId !== runId) return false;
    if (problems && problemOf(entry.event) === undefined) return false;
    return subagent === "" || isWithin(owner, subagent);
  }

  #hasText(json: string, delta: string | undefined, owner: Group): boolean {
    const lower = json.toLowerCase();
    const isInJson = lower.includes(this.#text) || (this.#escaped !== this.#text && lower.includes(this.#escaped));
    if (delta === undefined || this.#text.length < 2) return isInJson;
    const joined = (this.#tails.get(owner) ?? "") + delta.toLowerCase();
    this.#tails.set(owner, joined.slice(-(this.#text.length - 1)));
    return isInJson || joined.includes(this.#text);
  }
}

function isWithin(owner: Group, subagent: string): boolean {
  for (let group: Group | undefined = owner; group !== undefined; group = group.parent) {
    if (group.kind === "subagent" && group.name === subagent) return true;
  }
  return false;
}

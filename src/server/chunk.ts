/**
 * Successive events of a log, handed on together: what one commit or one read brought, up to 64 KiB.
 *
 * A chunk is the unit of everything behind the log: the ring holds chunks, viewers take chunks, sockets get chunks. What
 * it looks like in a view is worked out when the first viewer asks, and then shared.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { formatCursor } from "../store/index.ts";
import type { StoredEvent } from "../store/index.ts";
import type { Encoding } from "./encoding.ts";
import { isDelta } from "./is-delta.ts";
import { PLAIN, shown } from "./show.ts";
import type { Show } from "./show.ts";
import { startsOf } from "./view.ts";
import type { RunStart, Selection } from "./view.ts";

/** Most bytes of a chunk, unless a single event has more. */
export const MAX_CHUNK_BYTES = 64 * 1024;

/** What a frame adds to the JSON of its event, about. */
const FRAME_BYTES = 48;

/** From so many characters on the JSON of an event is long. */
const LONG_CHARS = 16 * 1024;

/** The JSON of long events in UTF-8, where it was made before: an event that is shown as it is need not be encoded again. */
const MADE = new WeakMap<StoredEvent, Uint8Array>();

/** The JSON of long events in UTF-8, undefined for others. Whatever else there is to do first is done first. */
export async function longBytes(jsons: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
  if (!jsons.some(isLong)) return [];
  await nextTurn();
  return jsons.map((json) => (isLong(json) ? Buffer.from(json) : undefined));
}

const isLong = (json: string): boolean => json.length >= LONG_CHARS;

/** Remembers what `longBytes` has made of an event. */
export function rememberBytes(event: StoredEvent, bytes: Uint8Array | undefined): StoredEvent {
  if (bytes !== undefined) MADE.set(event, bytes);
  return event;
}

/** Successive events of one log. Nothing about it changes. */
export class Chunk {
  /** Id of the log. */
  readonly logId: string;
  /** Everything up to this seq that a view wants is in here or before. */
  readonly throughSeq: number;
  /** The events, in order. */
  readonly events: readonly StoredEvent[];
  /** The run that all of it belongs to; null where there are several. */
  #soleRun: string | null | undefined;
  #ends: ReadonlySet<string> | undefined;
  #parts: Map<string, Chunk> | undefined;
  #starts: readonly RunStart[] | undefined;
  #bytes: Map<Encoding, Map<string, Uint8Array>> | undefined;

  constructor(logId: string, throughSeq: number, events: readonly StoredEvent[]) {
    this.logId = logId;
    this.throughSeq = throughSeq;
    this.events = events;
  }

  /** The events of a selection: this chunk itself where it holds no others. */
  select({ key, runIds }: Selection): Chunk {
    if (runIds === undefined) return this;
    if (this.#soleRun === undefined) this.#soleRun = soleRunOf(this.events);
    if (this.#soleRun !== null && runIds.has(this.#soleRun)) return this;
    const known = this.#parts?.get(key);
    if (known !== undefined) return known;
    const events = this.events.filter(({ runId }) => runIds.has(runId));
    const part = events.length === this.events.length ? this : new Chunk(this.logId, this.throughSeq, events);
    this.#parts ??= new Map();
    this.#parts.set(key, part);
    return part;
  }

  /** What comes after a seq. */
  after(seq: number): Chunk {
    const first = this.events[0];
    if (first === undefined || first.seq > seq) return this;
    const events = this.events.filter((event) => event.seq > seq);
    return new Chunk(this.logId, this.throughSeq, events);
  }

  /** The runs that end in here. */
  get ends(): ReadonlySet<string> {
    this.#ends ??= endsOf(this.events);
    return this.#ends;
  }

  /** The runs that start in here, in order. */
  get starts(): readonly RunStart[] {
    this.#starts ??= startsOf(this.events);
    return this.#starts;
  }

  /** The events in a form, as bytes that are shared: do not change them. */
  encode(encoding: Encoding, show: Show = PLAIN): Uint8Array {
    this.#bytes ??= new Map();
    const shows = this.#bytes.get(encoding) ?? new Map<string, Uint8Array>();
    this.#bytes.set(encoding, shows);
    const bytes = shows.get(show.key) ?? this.#encode(encoding, show);
    shows.set(show.key, bytes);
    return bytes;
  }

  #encode(encoding: Encoding, show: Show): Uint8Array {
    const frames = new FrameWriter();
    let hidden: string | undefined;
    for (const event of this.events) {
      const cursor = formatCursor(this.logId, event.seq);
      const seen = shown(event, show);
      hidden = seen === undefined ? cursor : undefined;
      if (seen !== undefined) frames.addEvent(encoding, seen, cursor);
    }
    // What follows a hidden event moves the cursor past it; where nothing does, this has to.
    if (hidden !== undefined) frames.add(encoding.moveCursor?.(hidden) ?? "");
    return frames.bytes();
  }
}

/** Puts frames of text or bytes together. */
export class FrameWriter {
  #text = "";
  readonly #pieces: Uint8Array[] = [];

  /** Adds a frame. */
  add(frame: string | Uint8Array): void {
    if (typeof frame === "string") this.#text += frame;
    else {
      this.#flush();
      this.#pieces.push(frame);
    }
  }

  /** Adds the frame of an event. A long one is not put together as text first: that would be written twice. */
  addEvent(encoding: Encoding, event: StoredEvent, cursor: string): void {
    if (encoding.around === undefined || !isLong(event.json)) this.add(encoding.encode(event, cursor));
    else this.addText(encoding, [MADE.get(event) ?? Buffer.from(event.json)], cursor);
  }

  /** Adds the frame of an event whose JSON is bytes already, in parts. Only in a form that writes JSON as it is. */
  addText({ around }: Encoding, parts: readonly Uint8Array[], cursor: string): void {
    const [before = "", behind = ""] = around?.(cursor) ?? [];
    this.add(before);
    for (const part of parts) this.add(part);
    this.add(behind);
  }

  /** All frames so far. */
  bytes(): Uint8Array {
    this.#flush();
    const [only] = this.#pieces;
    return only !== undefined && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
  }

  #flush(): void {
    if (this.#text !== "") this.#pieces.push(Buffer.from(this.#text));
    this.#text = "";
  }
}

/** About how many bytes an event takes on its way to a viewer. */
const weigh = (event: StoredEvent): number => (MADE.get(event)?.length ?? Buffer.byteLength(event.json)) + FRAME_BYTES;

/** Cuts events into pieces that fit into a chunk each: at least one event, and at most so many. */
export function* pieces(
  events: readonly StoredEvent[],
  maxEvents: number,
): Generator<{ readonly events: readonly StoredEvent[]; readonly bytes: number }, void, undefined> {
  let from = 0;
  let bytes = 0;
  for (const [index, event] of events.entries()) {
    const more = weigh(event);
    if (index > from && (bytes + more > MAX_CHUNK_BYTES || index - from === maxEvents)) {
      yield { events: events.slice(from, index), bytes };
      from = index;
      bytes = 0;
    }
    bytes += more;
  }
  if (from < events.length) yield { events: from === 0 ? events : events.slice(from), bytes };
}

function soleRunOf(events: readonly StoredEvent[]): string | null {
  const first = events[0]?.runId ?? null;
  return events.every(({ runId }) => runId === first) ? first : null;
}

const NONE: ReadonlySet<string> = new Set();

function endsOf(events: readonly StoredEvent[]): ReadonlySet<string> {
  const terminal = events.filter(isTerminal);
  return terminal.length === 0 ? NONE : new Set(terminal.map(({ runId }) => runId));
}

/** Looks for the word before it reads the event: most events are no terminal ones. */
function isTerminal({ json }: StoredEvent): boolean {
  // A start may hold a whole history: its beginning tells enough.
  if (isDelta(json) || json.startsWith('{"type":"RUN_STARTED",')) return false;
  if (!json.includes('"RUN_FINISHED"') && !json.includes('"RUN_ERROR"')) return false;
  const { type }: { readonly type?: unknown } = JSON.parse(json);
  return type === "RUN_FINISHED" || type === "RUN_ERROR";
}

/**
 * What had to be put right in a run, as events of its log: META beside what it is about, for who asks for META.
 *
 * META of a type that begins with `heddle.` is the server's word, so nothing that an agent or a person says may have such a
 * type. Ours are known by being the very objects that were made here; whatever else comes by that name is dropped. A run has
 * a bounded number of notes, each of bounded length: who gets everything wrong must not fill the log with it.
 */
import type { Log, LogFields } from "../agent/index.ts";
import type { Event, Warning, WarningCode } from "../protocol/index.ts";
import type { Repair } from "../stream/repair/index.ts";

/** Types of notes. */
export const NOTE_TYPES = { repair: "heddle.repair", warning: "heddle.warning" } as const;

/** Most notes of a run; one more says that there would be others. */
export const MAX_NOTES = 200;

/** Longest text in a note: ids and names of an agent may be of any length. */
const MAX_CHARS = 500;

const WARNING_CODES: Readonly<Record<WarningCode, true>> = {
  "unknown-event": true,
  "unknown-property": true,
  "unknown-member": true,
  "retired-form": true,
  "lossy-projection": true,
  "unknown-variant": true,
  "not-applied": true,
};

const NONE: readonly Event[] = Object.freeze([]);

/** Whether a type of META is the server's. */
export const isReserved = (metaType: string): boolean => metaType.startsWith("heddle.");

/** The notes of one run. */
export class RunNotes {
  readonly #ours = new WeakSet<Event>();
  readonly #onForged: (message: string, fields: LogFields) => void;
  #count = 0;

  constructor(onForged: (message: string, fields: LogFields) => void = () => undefined) {
    this.#onForged = onForged;
  }

  /** A repair as events: one, or none where there are enough. */
  ofRepair({ rule, message, event }: Repair): readonly Event[] {
    return this.#note("repair", { rule, message: short(message), ...(event !== undefined && { event: event.type }) });
  }

  /** A warning as events. */
  ofWarning({ message, path, code }: Warning): readonly Event[] {
    return this.#note("warning", { message: short(message), path: short(path), code });
  }

  /** Whether an event is a note of this run, made here. */
  isOurs(event: Event): boolean {
    return event.type === "META" && this.#ours.has(event);
  }

  /** What stands in place of an event that an agent said; undefined for the event itself. */
  inPlaceOf(event: Event): readonly Event[] | undefined {
    if (event.type !== "META" || !isReserved(event.metaType)) return undefined;
    this.#onForged(FORGED.message, { path: FORGED.path });
    return this.#note("warning", FORGED);
  }

  #note(type: keyof typeof NOTE_TYPES, payload: Readonly<Record<string, string>>): readonly Event[] {
    this.#count += 1;
    if (this.#count > MAX_NOTES + 1) return NONE;
    return [this.#count > MAX_NOTES ? this.#made("warning", ENOUGH) : this.#made(type, payload)];
  }

  #made(type: keyof typeof NOTE_TYPES, payload: Readonly<Record<string, string>>): Event {
    const note: Event = { type: "META", metaType: NOTE_TYPES[type], payload, timestamp: Date.now() };
    this.#ours.add(note);
    return note;
  }
}

const FORGED = {
  message: "META of a type that begins with heddle. is the server's to say. It is dropped.",
  path: "/metaType",
};

const ENOUGH = { message: `The run has ${MAX_NOTES} notes: what else is put right is counted and not noted.` };

const short = (text: string): string => (text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text);

/** The same log, which also tells of lines that are warnings about data: adapters judge what they read, and only log it. */
export function overheard(log: Log, onWarning: (warning: Warning) => void): Log {
  return {
    debug: (message, fields) => log.debug(message, fields),
    info: (message, fields) => log.info(message, fields),
    error: (message, fields) => log.error(message, fields),
    warn(message, fields = {}) {
      log.warn(message, fields);
      const { code, path } = fields;
      if (isWarningCode(code) && typeof path === "string") onWarning({ code, path, message });
    },
  };
}

const isWarningCode = (code: unknown): code is WarningCode =>
  typeof code === "string" && Object.hasOwn(WARNING_CODES, code);

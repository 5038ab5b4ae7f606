/**
 * How somebody sees each event: as their version understands it, and without what was not asked for.
 *
 * RAW events and `rawEvent` may hold what no browser should get, META stands outside of the grammar of runs; both stay
 * hidden unless asked for. The plain show, of a current reader who asks for nothing, is the text of the log itself.
 */
import { HeddleError, METADATA_KEY, PROTOCOL_VERSION } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { projectEvent } from "../protocol/dialects/index.ts";
import type { Peer } from "../protocol/dialects/index.ts";
import type { StoredEvent } from "../store/index.ts";

/** What a reader is, and what it asks for. */
export interface ShowOptions {
  /** Version and dialect of the reader. Default: current. */
  readonly peer?: Peer | undefined;
  /** Whether it gets META events. Default false. */
  readonly meta?: boolean | undefined;
  /** Whether it gets RAW events and `rawEvent`. Default false. */
  readonly raw?: boolean | undefined;
  /** Whether every event names its run, in our metadata: for who sees several runs at once. Default false. */
  readonly names?: boolean | undefined;
}

/** How events are seen. The same key, the same sight. */
export interface Show {
  /** Tells shows apart. */
  readonly key: string;
  /** Who reads, with whether it gets META. */
  readonly peer: Peer;
  /** Whether the reader is current, so that nothing has to be translated. */
  readonly current: boolean;
  /** Whether RAW events and `rawEvent` are seen. */
  readonly raw: boolean;
  /** Whether every event names its run. */
  readonly names: boolean;
}

/** A show from what is asked for. */
export function showOf({ peer = {}, meta = false, raw = false, names = false }: ShowOptions = {}): Show {
  const { version, interrupts = "list" } = peer;
  const current = (version === undefined || version === PROTOCOL_VERSION) && interrupts === "list";
  const key = JSON.stringify([current ? null : version, interrupts, meta, raw, names]);
  return { key, peer: { version, interrupts, meta }, current, raw, names };
}

/** A current reader who asks for nothing. */
export const PLAIN: Show = showOf();

/** An event as it is shown; undefined where it is hidden. */
export function shown(event: StoredEvent, show: Show): StoredEvent | undefined {
  if (show.current && !show.names && !mayHide(event, show)) return event;
  const original: Event = JSON.parse(event.json);
  const seen = uncovered(original, show);
  if (seen === undefined) return undefined;
  const named = show.names ? naming(seen, event.runId) : seen;
  if (show.current) return named === original ? event : { ...event, json: JSON.stringify(named) };
  const value = projected(named, show.peer);
  return value === undefined ? undefined : { ...event, json: JSON.stringify(value) };
}

/** Looks for the words before anything is read: hardly an event has them. */
function mayHide({ json }: StoredEvent, { raw, peer }: Show): boolean {
  if (!raw && (json.includes('"RAW"') || json.includes('"rawEvent"'))) return true;
  return peer.meta !== true && json.includes('"META"');
}

function uncovered(event: Event, { raw, peer }: Show): Event | undefined {
  if (event.type === "META" && peer.meta !== true) return undefined;
  if (raw) return event;
  if (event.type === "RAW") return undefined;
  if (event.rawEvent === undefined) return event;
  const { rawEvent: _rawEvent, ...rest } = event;
  return rest;
}

function naming(event: Event, runId: string): Event {
  const { metadata = {} } = event;
  const kept: unknown = metadata[METADATA_KEY];
  const ours = typeof kept === "object" && kept !== null ? { ...kept, runId } : { runId };
  return { ...event, metadata: { ...metadata, [METADATA_KEY]: ours } };
}

/** The event for an older peer. An end that it would misread is told as a failure, which it understands. */
function projected(event: Event, peer: Peer): unknown {
  try {
    return projectEvent(event, peer).value;
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "projection-refused") throw error;
    if (event.type !== "RUN_FINISHED") throw error;
    const { message, code } = error;
    const { timestamp } = event;
    return { type: "RUN_ERROR", message, code, ...(timestamp === undefined ? {} : { timestamp }) };
  }
}

/**
 * How somebody sees each event: as their version understands it, and without what was not asked for.
 *
 * RAW events, `rawEvent` and messages of role system and developer may hold what no browser should get, META stands outside
 * of the grammar of runs; all of it stays hidden unless asked for. The plain show, of a current reader who asks for nothing, is the text of the log itself.
 */
import { HeddleError, PROTOCOL_VERSION } from "../protocol/index.ts";
import type { Event, Message } from "../protocol/index.ts";
import { projectEvent } from "../protocol/dialects/index.ts";
import type { Peer } from "../protocol/dialects/index.ts";
import type { StoredEvent } from "../store/index.ts";
import { isDelta } from "./is-delta.ts";
import { INSTRUCTION_MARK, isInstruction, isStreamedInstruction } from "./mark-instructions.ts";
import { withOurs } from "./with-ours.ts";
import { wordPattern } from "./word-pattern.ts";

/** A run that somebody knows by another id than the log does. */
export interface RunAlias {
  /** Its id in the log. */
  readonly runId: string;
  /** The id that it is shown under. */
  readonly shownAs: string;
}

/** What a reader is, and what it asks for. */
export interface ShowOptions {
  /** Version and dialect of the reader. Default: current. */
  readonly peer?: Peer | undefined;
  /** Whether it gets META events. Default false. */
  readonly meta?: boolean | undefined;
  /** Whether it gets RAW events, `rawEvent`, and messages that instruct the model. Default false. */
  readonly raw?: boolean | undefined;
  /** Whether every event names its run, in our metadata: for who sees several runs at once. Default false. */
  readonly names?: boolean | undefined;
  /** A run that the reader knows by another id. */
  readonly alias?: RunAlias | undefined;
}

/** How events are seen. The same key, the same sight. */
export interface Show {
  /** Tells shows apart. */
  readonly key: string;
  /** Who reads, with whether it gets META. */
  readonly peer: Peer;
  /** Whether the reader is current, so that nothing has to be translated. */
  readonly current: boolean;
  /** Whether RAW events, `rawEvent` and instructions are seen. */
  readonly raw: boolean;
  /** Whether every event names its run. */
  readonly names: boolean;
  /** A run that the reader knows by another id. */
  readonly alias: RunAlias | undefined;
}

/** A show from what is asked for. */
export function showOf(options: ShowOptions = {}): Show {
  const { peer = {}, meta = false, raw = false, names = false, alias } = options;
  const { version, interrupts = "list" } = peer;
  const current = (version === undefined || version === PROTOCOL_VERSION) && interrupts === "list";
  const key = JSON.stringify([current ? null : version, interrupts, meta, raw, names, alias]);
  return { key, peer: { version, interrupts, meta }, current, raw, names, alias };
}

/** A current reader who asks for nothing. */
export const PLAIN: Show = showOf();

/** An event as it is shown; undefined where it is hidden. */
export function shown(event: StoredEvent, show: Show): StoredEvent | undefined {
  if (isShownAsIs(event.json, show)) return event;
  const original: Event = JSON.parse(event.json);
  const value = shownValue(original, event.runId, show);
  if (value === original) return event;
  return value === undefined ? undefined : { ...event, json: JSON.stringify(value) };
}

/** Whether an event with this text, or with this in its text, is certainly shown as it is. */
export const isShownAsIs = (json: string, show: Show): boolean => show.current && !show.names && !mayChange(json, show);

/** The same for an event that is no text yet: itself where nothing of it changes. */
export function shownValue(original: Event, runId: string, show: Show): unknown {
  const seen = uncovered(original, show);
  if (seen === undefined) return undefined;
  const called = show.alias === undefined ? seen : renamed(seen, show.alias);
  const named = show.names ? withOurs(called, { runId }) : called;
  return show.current ? named : projected(named, show.peer);
}

const HIDDEN = wordPattern(['"RAW"', '"rawEvent"', '"role":"system"', '"role":"developer"', INSTRUCTION_MARK]);
const HIDDEN_IN_DELTA = wordPattern(['"rawEvent"', INSTRUCTION_MARK]);

/** Looks for the words before anything is read: hardly an event has them. */
function mayChange(json: string, { raw, peer, alias }: Show): boolean {
  if (isDelta(json)) return !raw && HIDDEN_IN_DELTA.test(json);
  if (alias !== undefined && json.includes('"runId"')) return true;
  if (!raw && HIDDEN.test(json)) return true;
  return peer.meta !== true && json.includes('"META"');
}

function uncovered(event: Event, { raw, peer }: Show): Event | undefined {
  if (event.type === "META" && peer.meta !== true) return undefined;
  if (raw) return event;
  if (event.type === "RAW" || isStreamedInstruction(event)) return undefined;
  if (event.rawEvent === undefined) return withoutInstructions(event);
  const { rawEvent: _rawEvent, ...rest } = event;
  return withoutInstructions(rest);
}

/** The event without messages that are for the model alone. */
function withoutInstructions(event: Event): Event {
  if (event.type === "MESSAGES_SNAPSHOT") return { ...event, messages: event.messages.filter(isForPeople) };
  if (event.type !== "RUN_STARTED" || event.input === undefined) return event;
  const { input } = event;
  return { ...event, input: { ...input, messages: input.messages.filter(isForPeople) } };
}

const isForPeople = ({ role }: Message): boolean => !isInstruction(role);

/** Only the frame of a run says its id, once more in its input. */
function renamed(event: Event, { runId, shownAs }: RunAlias): Event {
  if ((event.type !== "RUN_STARTED" && event.type !== "RUN_FINISHED") || event.runId !== runId) return event;
  const asked = { ...event, runId: shownAs };
  if (asked.type === "RUN_FINISHED" || asked.input === undefined) return asked;
  return { ...asked, input: { ...asked.input, runId: shownAs } };
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

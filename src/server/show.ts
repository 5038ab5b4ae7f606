/**
 * How somebody sees each event: as their version understands it, and without what is not for them.
 *
 * RAW events, `rawEvent` and messages of role system and developer may hold what no browser should get, META stands outside
 * of the grammar of runs; all of it stays hidden unless asked for. Reasoning and places of the state are hidden where the
 * rules say so (`view-rules.ts`, `shown-content.ts`). An event of which nothing is left is hidden; cursors move past it.
 * The plain show, of a current reader who asks for nothing, is the text of the log itself.
 */
import { HeddleError, PROTOCOL_VERSION } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { projectEvent } from "../protocol/dialects/index.ts";
import type { Peer } from "../protocol/dialects/index.ts";
import type { StoredEvent } from "../store/index.ts";
import { HiddenPaths } from "./hidden-paths.ts";
import { isDelta } from "./is-delta.ts";
import { INSTRUCTION_WORD } from "./mark-instructions.ts";
import { shownContent } from "./shown-content.ts";
import type { Sight } from "./shown-content.ts";
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
  /** Whether it gets reasoning, in any form. Default true. */
  readonly reasoning?: boolean | undefined;
  /** Places of the state that it does not get: JSON Pointers, in which `*` is any member or element. Default none. */
  readonly hiddenState?: readonly string[] | undefined;
  /** Whether every event names its run, in our metadata: for who sees several runs at once. Default false. */
  readonly names?: boolean | undefined;
  /** A run that the reader knows by another id. */
  readonly alias?: RunAlias | undefined;
}

/** How events are seen. The same key, the same sight. */
export interface Show extends Sight {
  /** Tells shows apart. */
  readonly key: string;
  /** Who reads, with whether it gets META. */
  readonly peer: Peer;
  /** Whether the reader is current, so that nothing has to be translated. */
  readonly current: boolean;
  /** Whether every event names its run. */
  readonly names: boolean;
  /** A run that the reader knows by another id. */
  readonly alias: RunAlias | undefined;
  /** What stands in the text of a delta that may have to change. */
  readonly deltaWords: RegExp;
  /** What stands in the text of any other event that may have to change. */
  readonly words: RegExp;
}

/** A show from what is asked for. Throws `config-invalid` for hidden places that are none. */
export function showOf(options: ShowOptions = {}): Show {
  const { peer = {}, meta = false, names = false, alias } = options;
  const { version, interrupts = "list" } = peer;
  const current = (version === undefined || version === PROTOCOL_VERSION) && interrupts === "list";
  const sight = sightOf(options);
  const { instructions, reasoning, hiddenState } = sight;
  const shape = [current ? null : version, interrupts, meta, instructions, names, alias, reasoning, hiddenState?.key];
  const seen = { peer: { version, interrupts, meta }, current, names, alias };
  return { key: JSON.stringify(shape), ...seen, ...sight, ...wordsOf(sight, alias, meta) };
}

/** What of the content of events and threads is seen. */
export function sightOf({ raw = false, reasoning = true, hiddenState = [] }: ShowOptions): Sight {
  const hidden = hiddenState.length === 0 ? undefined : new HiddenPaths(hiddenState);
  // What a provider said may hold anything, so it is not for who may not see everything.
  return { instructions: raw, raw: raw && reasoning && hidden === undefined, reasoning, hiddenState: hidden };
}

/** An escape in which letters could be spelled. Ours never are, but a text that was brought in is kept as it came. */
const SPELLED = String.raw`\u00`;

/** The words by which events that may have to change are known, whatever stands around them: hardly an event has any. */
function wordsOf(
  { raw, instructions, reasoning, hiddenState }: Sight,
  alias: RunAlias | undefined,
  meta: boolean,
): Pick<Show, "deltaWords" | "words"> {
  const marks = [...(raw ? [] : ['"rawEvent"']), ...(instructions ? [] : [INSTRUCTION_WORD])];
  const spelled = raw && instructions && reasoning && hiddenState === undefined ? [] : [SPELLED];
  return {
    deltaWords: wordPattern([...(reasoning ? [] : ['"REASONING_']), ...marks]),
    words: wordPattern([
      ...(alias === undefined ? [] : ['"runId"']),
      ...(raw ? [] : ['"RAW"']),
      ...(instructions ? [] : ['"system"', '"developer"']),
      ...marks,
      ...spelled,
      ...(reasoning ? [] : ['"REASONING_', '"reasoning"', '"encryptedValue']),
      ...(hiddenState === undefined ? [] : ['"STATE_', '"state"']),
      ...(meta && reasoning && hiddenState === undefined ? [] : ['"META"']),
    ]),
  };
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
  if (original.type === "META" && show.peer.meta !== true) return undefined;
  const seen = shownContent(original, show);
  if (seen === undefined) return undefined;
  const called = show.alias === undefined ? seen : renamed(seen, show.alias);
  const named = show.names ? withOurs(called, { runId }) : called;
  return show.current ? named : projected(named, show.peer);
}

/** Looks for the words before anything is read. */
const mayChange = (json: string, { deltaWords, words }: Show): boolean =>
  (isDelta(json) ? deltaWords : words).test(json);

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

/**
 * The opening for somebody who joins a run or a branch with nothing: a prelude, and the seq behind which they go on.
 *
 * It was never logged, so its frames have no place of their own: only the last one carries the cursor, and somebody who is
 * cut off before it begins again.
 */
import type { Event, Message } from "../protocol/index.ts";
import { foldBranch, formatCursor, keptText } from "../store/index.ts";
import type { KeptEvent, RunInfo, RunKey, Store, StoredEvent } from "../store/index.ts";
import { prelude, view } from "../stream/index.ts";
import type { PreludeState } from "../stream/index.ts";
import { FrameWriter } from "./chunk.ts";
import type { Encoding } from "./encoding.ts";
import type { KeptOpenings } from "./kept-openings.ts";
import { shownValue } from "./show.ts";
import type { Show } from "./show.ts";
import { messagesIn, textShownAsIs, wholeEvent } from "./told-event.ts";

/** A prelude at a place of a log. */
export interface Opening {
  /** The run that it leads into. */
  readonly runId: string;
  /** That run as it was then; absent where it has just begun. */
  readonly run?: RunInfo;
  /** Everything up to this seq is told by it. */
  readonly seq: number;
  /** Whether it is the same whenever it is told, and whoever asks. */
  readonly lasting: boolean;
  /** The events. */
  readonly tell: () => Promise<readonly KeptEvent[]>;
}

/** The opening at the newest event of a run, for who holds messages of these ids, in this order. */
export async function openingOf(store: Store, key: RunKey, held: readonly string[] = []): Promise<Opening> {
  const ended = await store.run(key);
  if (ended?.settled === true) {
    const tell = async (): Promise<readonly KeptEvent[]> => inOrder(await settledEvents(store, ended), held);
    return { runId: ended.runId, run: ended, seq: ended.lastSeq, lasting: held.length === 0, tell };
  }
  const { run, seq, state } = await foldBranch(store, key);
  return { runId: run.runId, run, seq, ...toldOnce(inOrder(asTold(prelude(state)), held)) };
}

/** The opening at the first event of a run, for who holds messages of these ids; undefined where that is all there is to tell. */
export async function openingBefore(
  store: Store,
  run: RunInfo,
  held: readonly string[] = [],
): Promise<Opening | undefined> {
  const { seq, state } = await foldBranch(store, run, run.firstSeq);
  const ids = view(state.reduce)
    .messages.filter(isPosted)
    .map(({ id }) => id);
  const isHeld = ids.length === held.length && ids.every((id, index) => id === held[index]);
  if (isHeld && state.reduce.document === undefined) return undefined;
  return { runId: run.runId, run, seq, ...toldOnce(inOrder(asTold(prelude(state)), held)) };
}

/** A run that is settled has its opening in the log. */
async function settledEvents(store: Store, run: RunInfo): Promise<readonly KeptEvent[]> {
  const snapshot = await store.snapshot(run, run.lastSeq);
  if (snapshot?.seq === run.lastSeq) return keptText(snapshot) ?? asTold(snapshot.events);
  return asTold(prelude((await foldBranch(store, run, run.lastSeq)).state));
}

const asTold = (events: readonly Event[]): readonly KeptEvent[] => events.map((event) => ({ event }));

const toldOnce = (events: readonly KeptEvent[]): Pick<Opening, "lasting" | "tell"> => ({
  lasting: false,
  tell: async () => events,
});

/** The opening of a run that has just begun: what whoever started it lacks of what was before. */
export function startingAt(runId: string, seq: number, state: PreludeState, held: readonly Message[]): Opening {
  const ids = held.map(({ id }) => id);
  // Told now: the state goes on.
  return { runId, seq, ...toldOnce(inOrder(asTold(prelude(state)), ids)) };
}

/**
 * Stock clients put what a snapshot has and they have not behind what they hold. Where that would be another order than
 * the snapshot's, they are made to forget what they hold: by a snapshot with nothing of it, but with a message of each
 * kind that would otherwise be kept.
 */
function inOrder(events: readonly KeptEvent[], held: readonly string[]): readonly KeptEvent[] {
  const place = events.findLastIndex(({ event }) => event.type === "MESSAGES_SNAPSHOT");
  const snapshot = events[place];
  if (snapshot === undefined) {
    // Who holds what does not count here has to hear that there is nothing.
    return held.length === 0 ? events : events.toSpliced(1, 0, restating([]));
  }
  if (isBeginning(held, snapshot)) return events;
  const told = [...messagesIn(snapshot)];
  const ids = told.filter(isPosted).map(({ id }) => id);
  const [ours, theirs] = [new Set(ids), new Set(held)];
  const merged = [...held.filter((id) => ours.has(id)), ...ids.filter((id) => !theirs.has(id))];
  if (merged.every((id, index) => id === ids[index])) return events;
  const has = (role: Message["role"]): boolean => told.some((message) => message.role === role);
  const messages: readonly Message[] = [
    ...(has("reasoning") ? [{ id: "forgotten-reasoning", role: "reasoning", content: "" } as const] : []),
    ...(has("activity")
      ? [{ id: "forgotten-activity", role: "activity", activityType: "", content: {} } as const]
      : []),
  ];
  return events.toSpliced(place, 0, restating(messages));
}

const restating = (messages: readonly Message[]): KeptEvent => ({ event: { type: "MESSAGES_SNAPSHOT", messages } });

/** Activities are never posted. */
const isPosted = ({ role }: Message): boolean => role !== "activity";

/** Whether who holds these holds nothing but the first messages of a snapshot: read no further than that takes. */
function isBeginning(held: readonly string[], snapshot: KeptEvent): boolean {
  let matched = 0;
  if (held.length === 0) return true;
  for (const message of messagesIn(snapshot)) {
    if (!isPosted(message)) continue;
    if (message.id !== held[matched]) return false;
    matched += 1;
    if (matched === held.length) return true;
  }
  return false;
}

/** An opening as somebody sees it. */
export async function shownOpening({ runId, seq, tell }: Opening, show: Show): Promise<readonly StoredEvent[]> {
  return (await tell()).flatMap((told) => shownTold(told, { runId, seq }, show));
}

function shownTold(told: KeptEvent, place: Pick<StoredEvent, "runId" | "seq">, show: Show): readonly StoredEvent[] {
  const value = shownValue(wholeEvent(told), place.runId, show);
  return value === undefined ? [] : [{ ...place, json: JSON.stringify(value) }];
}

/** An opening in a form, as bytes that may be shared: do not change them. */
export async function encodeOpening(
  opening: Opening,
  logId: string,
  encoding: Encoding,
  show: Show,
  kept: KeptOpenings,
): Promise<Uint8Array> {
  const { runId, seq, lasting } = opening;
  if (!lasting) return encoded(opening, logId, encoding, show);
  const name = JSON.stringify([logId, runId, seq, show.key]);
  const known = kept.find(name, encoding);
  if (known !== undefined) return known;
  const bytes = await encoded(opening, logId, encoding, show);
  kept.keep(name, encoding, bytes);
  return bytes;
}

async function encoded(opening: Opening, logId: string, encoding: Encoding, show: Show): Promise<Uint8Array> {
  const { runId, seq, tell } = opening;
  const seen = (await tell()).flatMap((told): readonly (StoredEvent | readonly Uint8Array[])[] => {
    const text = encoding.around === undefined ? undefined : textShownAsIs(told, show);
    return text === undefined ? shownTold(told, { runId, seq }, show) : [text];
  });
  const frames = new FrameWriter();
  for (const [index, event] of seen.entries()) {
    const cursor = index === seen.length - 1 ? formatCursor(logId, seq) : "";
    if ("json" in event) frames.addEvent(encoding, event, cursor);
    else frames.addText(encoding, event, cursor);
  }
  return frames.bytes();
}

/**
 * The text of snapshots, where a store keeps them as text: whoever passes one on need not read its messages, and write them
 * again. It is an aid beside the snapshot: a store may have none, and a copy of a snapshot has none.
 *
 * The text is what this package wrote: JSON without line breaks, in UTF-8, as `JSON.stringify` makes it.
 */
import type { Event } from "../protocol/index.ts";
import type { Snapshot } from "./store.ts";

/** An event of a snapshot as it is kept. */
export interface KeptEvent {
  /** The event; without its messages, where those stand apart. */
  readonly event: Event;
  /** Its messages in order, some in each part, which is the text of a list; absent where none stand apart. */
  readonly messages?: readonly Uint8Array[];
}

const TEXTS = new WeakMap<Snapshot, readonly KeptEvent[]>();

/** Remembers how a snapshot is kept. Nobody may change the bytes. */
export function rememberText(snapshot: Snapshot, kept: readonly KeptEvent[]): Snapshot {
  TEXTS.set(snapshot, kept);
  return snapshot;
}

/** The events of a snapshot as they are kept, if they are kept as text. */
export const keptText = (snapshot: Snapshot): readonly KeptEvent[] | undefined => TEXTS.get(snapshot);

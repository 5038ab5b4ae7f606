/**
 * Snapshots in parts, so that what two snapshots share is kept once: the messages in chunks, the state, and the rest.
 *
 * A conversation grows at its end, so all chunks but the last are the same from snapshot to snapshot, and a state that
 * did not change is the same blob. Blobs are named by their content within one thread: nothing is shared between threads,
 * so nobody can learn from a hash what others keep.
 */
import { createHash } from "node:crypto";
import { HeddleError } from "../../protocol/index.ts";
import type { Event, Message } from "../../protocol/index.ts";
import type { KeptEvent } from "../kept-text.ts";

/** A part that is kept once. */
export interface Blob {
  /** Name by content. */
  readonly hash: string;
  /** Its text. */
  readonly text: string;
}

/** A snapshot in parts. */
export interface SnapshotParts {
  /** The events as JSON, each taken-out value replaced by the names of its blobs. */
  readonly shell: string;
  /** The blobs that the shell names. */
  readonly blobs: readonly Blob[];
}

/** An event of the shell: as it is, or with its large value somewhere else. */
type ShellEvent =
  | { readonly e: Event }
  | { readonly e: Event; readonly messages: readonly string[] }
  | { readonly e: Event; readonly state: string };

/** What a list begins and ends with. */
const [OPENING, CLOSING] = [0x5b, 0x5d] as const;

/** Messages in one chunk. */
const CHUNK_MESSAGES = 32;

/** Takes a snapshot apart. */
export function splitSnapshot(events: readonly Event[]): SnapshotParts {
  const blobs = new Map<string, Blob>();
  const keep = (value: unknown): string => {
    const text = JSON.stringify(value);
    const hash = createHash("sha256").update(text).digest("base64url").slice(0, 22);
    blobs.set(hash, { hash, text });
    return hash;
  };
  const shell = events.map((event): ShellEvent => {
    if (event.type === "MESSAGES_SNAPSHOT") {
      return { e: { ...event, messages: [] }, messages: chunksOf(event.messages).map((chunk) => keep(chunk)) };
    }
    if (event.type === "STATE_SNAPSHOT") return { e: { ...event, snapshot: null }, state: keep(event.snapshot) };
    return { e: event };
  });
  return { shell: JSON.stringify(shell), blobs: [...blobs.values()] };
}

/** The names of the blobs that a shell needs. */
export function namedBlobs(shell: string): readonly string[] {
  return parsed<readonly ShellEvent[]>(shell).flatMap((event) =>
    "messages" in event ? event.messages : "state" in event ? [event.state] : [],
  );
}

/** Finds the text of a blob, in UTF-8. */
type TextOf = (hash: string) => Uint8Array | undefined;

/** Puts a snapshot together. Throws `store-corrupt` where a blob is something else. */
export function joinSnapshot(kept: readonly KeptEvent[]): readonly Event[] {
  return kept.map(({ event, messages }): Event => {
    if (messages === undefined || event.type !== "MESSAGES_SNAPSHOT") return event;
    return { ...event, messages: messages.flatMap((text): readonly Message[] => messagesIn(read(text))) };
  });
}

/** Puts a snapshot together without reading its messages. Throws `store-corrupt` where a blob is missing. */
export function keptEvents(shell: string, textOf: TextOf): readonly KeptEvent[] {
  const found = (hash: string): Uint8Array => {
    const text = textOf(hash);
    if (text === undefined) throw new HeddleError("store-corrupt", "A part of a snapshot is missing.", { hash });
    return text;
  };
  return parsed<readonly ShellEvent[]>(shell).map((event): KeptEvent => {
    if ("messages" in event) return { event: event.e, messages: event.messages.map((hash) => listIn(found(hash))) };
    if ("state" in event && event.e.type === "STATE_SNAPSHOT") {
      return { event: { ...event.e, snapshot: read(found(event.state)) } };
    }
    return { event: event.e };
  });
}

const read = (text: Uint8Array): unknown =>
  parsed(Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString());

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HeddleError("store-corrupt", "A part of a snapshot is no JSON: restore a backup.", {}, { cause });
  }
}

function messagesIn(value: unknown): readonly Message[] {
  if (Array.isArray(value)) return value;
  throw new HeddleError("store-corrupt", "A part of a snapshot should be a list of messages.", {});
}

/** A text that may be joined with others as it is. */
function listIn(text: Uint8Array): Uint8Array {
  if (text[0] === OPENING && text.at(-1) === CLOSING) return text;
  throw new HeddleError("store-corrupt", "A part of a snapshot should be a list of messages.", {});
}

function chunksOf(messages: readonly Message[]): readonly (readonly Message[])[] {
  const chunks: (readonly Message[])[] = [];
  for (let from = 0; from < messages.length; from += CHUNK_MESSAGES) {
    chunks.push(messages.slice(from, from + CHUNK_MESSAGES));
  }
  return chunks;
}

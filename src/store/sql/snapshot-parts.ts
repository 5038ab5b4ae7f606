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

/** Puts a snapshot together. Throws `store-corrupt` where a blob is missing. */
export function joinSnapshot(shell: string, textOf: (hash: string) => string | undefined): readonly Event[] {
  const read = (hash: string): unknown => {
    const text = textOf(hash);
    if (text === undefined) throw new HeddleError("store-corrupt", "A part of a snapshot is missing.", { hash });
    return parsed(text);
  };
  return parsed<readonly ShellEvent[]>(shell).map((event): Event => {
    if ("messages" in event && event.e.type === "MESSAGES_SNAPSHOT") {
      return { ...event.e, messages: event.messages.flatMap((hash): readonly Message[] => messagesIn(read(hash))) };
    }
    if ("state" in event && event.e.type === "STATE_SNAPSHOT") return { ...event.e, snapshot: read(event.state) };
    return event.e;
  });
}

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

function chunksOf(messages: readonly Message[]): readonly (readonly Message[])[] {
  const chunks: (readonly Message[])[] = [];
  for (let from = 0; from < messages.length; from += CHUNK_MESSAGES) {
    chunks.push(messages.slice(from, from + CHUNK_MESSAGES));
  }
  return chunks;
}

/** The rows of DESIGN 12 on decoding, enforcement and encoding, against the published packages. */
import { enforceEvents, parseSSEStream } from "@ag-ui/client";
import { EventEncoder as PeerEncoder } from "@ag-ui/encoder";
import { createSseDecoder, createSseEncoder, encodeSseBytes, parseEvent } from "heddle/protocol";
import type { Event } from "heddle/protocol";
import { decodeBinaryMessage, encodeBinaryMessage } from "heddle/protocol/binary";
import * as peerBinary from "@ag-ui/proto";
import { Subject, from } from "rxjs";
import type { Observable } from "rxjs";
import { compare } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { w1, w2, w4 } from "./workloads.ts";

type PeerEvent = Parameters<PeerEncoder["encode"]>[0];
/** The peer's events are typed as open records; ours are the same values. */
const asPeer = (events: readonly Event[]): PeerEvent[] => JSON.parse(JSON.stringify(events)) as PeerEvent[];

export function protocolRows(effort: Effort): readonly Row[] {
  const deltas = w1();
  const mixed = [...w1(), ...w2(), ...w4()];
  return [
    decodeAndEnforce("W1", deltas, effort),
    decodeAndEnforce("W1+W2+W4", mixed, effort),
    enforce("W1+W2+W4", mixed, effort),
    enforce("one of each type of W2 and W4", oneOfEach(mixed), effort),
    encodeText("W1", deltas, effort),
    encodeText("W1+W2+W4", mixed, effort),
    encodeBytes("W1", deltas, effort),
    decodeText("W1, 16 KB reads", deltas, effort),
    bigEvent(effort),
    binaryEncode(deltas, effort),
    binaryDecode(deltas, effort),
  ];
}

function oneOfEach(events: readonly Event[]): readonly Event[] {
  return [...new Map(events.map((event) => [event.type, event])).values()];
}

function decodeAndEnforce(name: string, events: readonly Event[], effort: Effort): Row {
  const texts = events.map((event) => JSON.stringify(event));
  return compare(
    { what: `decode + enforce, ${name}`, peer: "JSON.parse alone", kind: "cost", target: 1.25 },
    () => texts.reduce((count, text) => (parseEvent(JSON.parse(text)).value === undefined ? count : count + 1), 0),
    () => texts.reduce((count, text) => (JSON.parse(text) === undefined ? count : count + 1), 0),
    effort,
  );
}

function enforce(name: string, events: readonly Event[], effort: Effort): Row {
  const own: unknown[] = asPeer(events);
  const peers = asPeer(events);
  return compare(
    { what: `enforce, ${name}`, peer: "@ag-ui/client enforceEvents", kind: "faster", target: 25 },
    () => own.reduce((count: number, event) => (parseEvent(event).value === undefined ? count : count + 1), 0),
    () => {
      let count = 0;
      from(peers)
        .pipe(enforceEvents())
        .subscribe(() => count++);
      return count;
    },
    effort,
  );
}

function encodeText(name: string, events: readonly Event[], effort: Effort): Row {
  const peer = new PeerEncoder();
  const peers = asPeer(events);
  return compare(
    { what: `SSE encode to text, ${name}`, peer: "EventEncoder", kind: "faster", target: name === "W1" ? 3 : 1 },
    () => {
      const encode = createSseEncoder();
      return events.reduce((length, event) => length + flat(encode(event)).length, 0);
    },
    () => peers.reduce((length, event) => length + flat(peer.encodeSSE(event)).length, 0),
    effort,
  );
}

/** Reads a character, so that a string that was only promised is built. */
function flat(text: string): string {
  if (text.charCodeAt(text.length - 1) !== 10) throw new Error("A frame ends in a newline.");
  return text;
}

function encodeBytes(name: string, events: readonly Event[], effort: Effort): Row {
  const peer = new PeerEncoder();
  const peers = asPeer(events);
  const batches = Array.from({ length: Math.ceil(events.length / 32) }, (_, index) =>
    events.slice(index * 32, index * 32 + 32),
  );
  return compare(
    { what: `SSE encode to bytes, ${name}, 32 a batch`, peer: "EventEncoder", kind: "faster", target: 2.5 },
    () => batches.reduce((length, batch) => length + encodeSseBytes(batch).length, 0),
    () => peers.reduce((length, event) => length + peer.encodeBinary(event).length, 0),
    effort,
  );
}

function decodeText(name: string, events: readonly Event[], effort: Effort): Row {
  const reads = chunks(encodeSseBytes(events), 16 * 1024);
  return compare(
    { what: `SSE decode, ${name}`, peer: "@ag-ui/client parseSSEStream", kind: "faster", target: 1.6 },
    () => decodeOurs(reads),
    () => decodeTheirs(reads),
    effort,
  );
}

/** One event of 8 MB in 16 KB reads: a state of many small rows. */
function bigEvent(effort: Effort): Row {
  const rows = Array.from({ length: 75_000 }, (_, at) => ({
    id: at,
    name: `row — ${at}`,
    done: at % 3 === 0,
    note: "x".repeat(50),
  }));
  const event: Event = { type: "STATE_SNAPSHOT", snapshot: { rows } };
  const text = JSON.stringify(event);
  const reads = chunks(encodeSseBytes([event]), 16 * 1024);
  return compare(
    {
      what: `SSE decode of one event of ${Math.round(text.length / 1e6)} MB`,
      peer: "JSON.parse alone",
      kind: "cost",
      target: 1.5,
    },
    () => decodeOurs(reads),
    () => JSON.parse(text),
    // Several executions a round, since each makes tens of megabytes of garbage that somebody has to collect.
    { ...effort, sliceMs: effort.sliceMs * 6 },
  );
}

function decodeOurs(reads: readonly Uint8Array[]): number {
  const decoder = createSseDecoder();
  return reads.reduce((count, read) => count + decoder.push(read).length, 0) + decoder.end().length;
}

type HttpEvent = Parameters<typeof parseSSEStream>[0] extends Observable<infer E> ? E : never;

function decodeTheirs(reads: readonly Uint8Array[]): number {
  const source = new Subject<HttpEvent>();
  let count = 0;
  parseSSEStream(source).subscribe(() => count++);
  // The peer does not export the enum that its own input is typed with.
  for (const data of reads) source.next({ type: "data", data } as unknown as HttpEvent);
  source.complete();
  return count;
}

function chunks(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

function binaryEncode(events: readonly Event[], effort: Effort): Row {
  const peers = asPeer(events);
  return compare(
    { what: "protobuf encode, W1", peer: "@ag-ui/proto", kind: "faster", target: 1 },
    () => events.reduce((length, event) => length + encodeBinaryMessage(event).length, 0),
    () => peers.reduce((length, event) => length + peerBinary.encode(event).length, 0),
    effort,
  );
}

function binaryDecode(events: readonly Event[], effort: Effort): Row {
  const messages = events.map((event) => encodeBinaryMessage(event));
  return compare(
    { what: "protobuf decode, W1", peer: "@ag-ui/proto", kind: "faster", target: 1 },
    () => messages.reduce((count, bytes) => (decodeBinaryMessage(bytes) === undefined ? count : count + 1), 0),
    () => messages.reduce((count, bytes) => (peerBinary.decode(bytes) === undefined ? count : count + 1), 0),
    effort,
  );
}

/** The forms that events are sent in. What a form makes of events is made once for all who share it. */
import { SSE_MEDIA_TYPE, encodeSseCursor, parseEvent } from "../protocol/index.ts";
import { BINARY_MEDIA_TYPE, encodeBinary } from "../protocol/binary/index.ts";
import type { StoredEvent } from "../store/index.ts";

/** A form that events are sent in. One object for each form: it is what encoded events are kept under. */
export interface Encoding {
  /** Media type of the stream. */
  readonly mediaType: string;
  /** Writes one event. The cursor is empty where an event has no place of its own: all of a prelude but its last. */
  encode(event: StoredEvent, cursor: string): string | Uint8Array;
  /** What it writes before and behind the JSON of an event, where it writes that as it is; absent where it does not. */
  around?(cursor: string): readonly [before: string, behind: string];
  /** Writes what moves a reader's cursor and nothing else; absent where the form has no such thing. */
  moveCursor?(cursor: string): string | Uint8Array;
}

/** Server-Sent Events: the cursor, and the event as the log has it, which is JSON without line breaks. */
export const SSE: Encoding = {
  mediaType: SSE_MEDIA_TYPE,
  encode: ({ json }, cursor) => (cursor === "" ? `data: ${json}\n\n` : `id: ${cursor}\ndata: ${json}\n\n`),
  around: (cursor) => [cursor === "" ? "data: " : `id: ${cursor}\ndata: `, "\n\n"],
  moveCursor: encodeSseCursor,
};

const NOTHING = new Uint8Array();

/** AG-UI's protobuf frames. They have no room for a cursor. */
export const PROTOBUF: Encoding = {
  mediaType: BINARY_MEDIA_TYPE,
  encode({ json }) {
    // What an older peer calls otherwise, and what is of no run, has no place in protobuf.
    const { value } = parseEvent(JSON.parse(json));
    return value === undefined || value.type === "META" ? NOTHING : encodeBinary(value);
  },
};

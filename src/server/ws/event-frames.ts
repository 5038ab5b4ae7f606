/**
 * Events as WebSocket frames, whole: header and payload. Frames of a server are not masked, so those of a thread are the same
 * for everybody who sees it the same way, and are made once for all of them like any other form of events.
 */
import type { StoredEvent } from "../../store/index.ts";
import type { Encoding } from "../index.ts";

/** Name of the subprotocol. */
export const SUBPROTOCOL = "heddle.v1";

/** First byte of a text frame that is whole. */
const TEXT_FRAME = 0x81;
/** Longest payload whose length stands in one byte, and in two more. */
const [SHORT, MEDIUM] = [125, 0xffff];

/** A text as a frame. */
export function frameOf(text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  const head = length <= SHORT ? 2 : length <= MEDIUM ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + length);
  frame[0] = TEXT_FRAME;
  if (head === 2) frame[1] = length;
  else if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, head);
  return frame;
}

/** The texts of frames that `frameOf` made, one behind the other. */
export function textsIn(frames: Uint8Array): readonly string[] {
  const bytes = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
  const texts: string[] = [];
  for (let place = 0; place < bytes.length;) {
    const short = bytes.readUInt8(place + 1);
    const head = short <= SHORT ? 2 : short === 126 ? 4 : 10;
    const length =
      head === 2 ? short : head === 4 ? bytes.readUInt16BE(place + 2) : Number(bytes.readBigUInt64BE(place + 2));
    texts.push(bytes.toString("utf8", place + head, place + head + length));
    place += head + length;
  }
  return texts;
}

/** The forms of threads that are watched. One object for each thread: it is what encoded events are kept under. */
export class EventFrames {
  readonly #forms = new Map<string, { readonly encoding: Encoding; users: number }>();

  /** How many threads are watched. */
  get size(): number {
    return this.#forms.size;
  }

  /** The form of a thread's events. Every call is answered by one `leave`. */
  enter(threadId: string): Encoding {
    const known = this.#forms.get(threadId);
    if (known !== undefined) {
      known.users += 1;
      return known.encoding;
    }
    const encoding = encodingOf(threadId);
    this.#forms.set(threadId, { encoding, users: 1 });
    return encoding;
  }

  /** One who watched is gone. */
  leave(threadId: string): void {
    const form = this.#forms.get(threadId);
    if (form !== undefined && --form.users === 0) this.#forms.delete(threadId);
  }
}

function encodingOf(threadId: string): Encoding {
  const thread = JSON.stringify(threadId);
  return {
    mediaType: SUBPROTOCOL,
    encode: ({ runId, json }: StoredEvent, cursor: string): Uint8Array => {
      const id = cursor === "" ? "" : `,"id":"${cursor}"`;
      return frameOf(`{"type":"event","thread":${thread},"run":${JSON.stringify(runId)}${id},"event":${json}}`);
    },
    moveCursor: (cursor) => frameOf(`{"type":"moved","thread":${thread},"id":"${cursor}"}`),
  };
}

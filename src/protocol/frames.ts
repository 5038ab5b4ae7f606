/**
 * What every wire format decodes to, and the loop that reads one from a byte source.
 *
 * A decoder only turns bytes into JSON values (R-PROC-04). Whether a value is a known and valid event is judged
 * later, in one place, whatever wire it came by.
 */

/** One decoded frame. A frame without `value` moves the cursor and carries nothing else. */
export interface Frame {
  /** The JSON value of the frame, not judged yet. */
  readonly value?: unknown;
  /** The cursor that came with it, where the wire carries one. */
  readonly id?: string;
}

/** Turns chunks into frames; holds whatever is cut in the middle until the rest arrives. */
export interface FrameDecoder {
  /** Takes the next bytes or text, and returns the frames that are complete now. */
  push(chunk: Uint8Array | string): readonly Frame[];
  /** Says that nothing follows, and returns what was only waiting for an end. */
  end(): readonly Frame[];
}

/** Anything that yields bytes or text: a fetch body, a Node stream, an array of chunks. */
export type ByteSource =
  | ReadableStream<Uint8Array | string>
  | AsyncIterable<Uint8Array | string>
  | Iterable<Uint8Array | string>;

/** Limits of a decoder. */
export interface DecodeLimits {
  /** Largest frame that is accepted, in bytes or characters of text. Default 10 MiB. */
  readonly maxFrameBytes?: number;
}

/** Default of `DecodeLimits.maxFrameBytes`. */
export const DEFAULT_MAX_FRAME_BYTES = 10 * 1024 * 1024;

/** Reads a source to its end through a decoder. Stopping early cancels the source. */
export async function* readFrames(source: ByteSource, decoder: FrameDecoder): AsyncGenerator<Frame, void, undefined> {
  for await (const chunk of chunksOf(source)) yield* decoder.push(chunk);
  yield* decoder.end();
}

/** Safari's ReadableStream has no async iterator, so a reader is the form that works everywhere. */
function chunksOf(source: ByteSource): AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string> {
  return "getReader" in source ? readerChunks(source) : source;
}

async function* readerChunks(
  stream: ReadableStream<Uint8Array | string>,
): AsyncGenerator<Uint8Array | string, void, undefined> {
  const reader = stream.getReader();
  let finished = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        finished = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!finished) await reader.cancel();
    reader.releaseLock();
  }
}

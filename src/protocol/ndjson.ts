/**
 * Newline-delimited JSON, both ways: one event a line. Blank lines are ignored, the last line may lack its newline,
 * and a line of any length is read in linear time.
 */
import { DEFAULT_MAX_FRAME_BYTES, readFrames } from "./frames.ts";
import type { ByteSource, DecodeLimits, Frame, FrameDecoder } from "./frames.ts";
import type { Event } from "./generated/model.ts";
import { limitExceeded, parseJson } from "./json.ts";

/** Media type of newline-delimited JSON. */
export const NDJSON_MEDIA_TYPE = "application/x-ndjson";

/** Writes one event as a line. */
export const encodeNdjson = (event: Event): string => `${JSON.stringify(event)}\n`;

/** Reads lines of JSON from chunks of bytes or text. */
export function createNdjsonDecoder(limits: DecodeLimits = {}): FrameDecoder {
  const { maxFrameBytes = DEFAULT_MAX_FRAME_BYTES } = limits;
  const utf8 = new TextDecoder();
  // Pieces of the line that is not complete yet: joining them once keeps a long line linear.
  let pieces: string[] = [];
  let pending = 0;
  let failure: unknown;

  const hold = (piece: string): void => {
    if (piece === "") return;
    pieces.push(piece);
    pending += piece.length;
    if (pending > maxFrameBytes) throw limitExceeded("size of a frame", maxFrameBytes, pending);
  };

  const readLine = (frames: Frame[]): void => {
    const line = pieces.join("");
    pieces = [];
    pending = 0;
    if (line.trim() !== "") frames.push({ value: parseJson(line) });
  };

  /** What came before a bad line is delivered first; the failure is thrown when there is nothing left to give. */
  const guarded = (read: (frames: Frame[]) => void): readonly Frame[] => {
    if (failure !== undefined) throw failure;
    const frames: Frame[] = [];
    try {
      read(frames);
    } catch (error) {
      failure = error;
      if (frames.length === 0) throw error;
    }
    return frames;
  };

  const readText = (frames: Frame[], text: string): void => {
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      hold(text.slice(start, end));
      start = end + 1;
      readLine(frames);
    }
    hold(text.slice(start));
  };

  return {
    push: (chunk) =>
      guarded((frames) => readText(frames, typeof chunk === "string" ? chunk : utf8.decode(chunk, { stream: true }))),
    end: () =>
      guarded((frames) => {
        hold(utf8.decode());
        readLine(frames);
      }),
  };
}

/** Reads a whole stream of lines. Throws `json-invalid` or `limit-exceeded` where it is bad. */
export function decodeNdjson(source: ByteSource, limits?: DecodeLimits): AsyncGenerator<Frame, void, undefined> {
  return readFrames(source, createNdjsonDecoder(limits));
}

/**
 * Server-Sent Events, both ways.
 *
 * Out: LF only, one event a frame, the cursor in `id:`. A delta's frame is a constant part, built once per message,
 * and the delta. In: the grammar is eventsource-parser's (CR, LF, CRLF, a byte order mark, cuts anywhere). A frame
 * that the end of the stream cuts off is delivered only where its JSON is whole, and never with a cursor: half a
 * cursor looks like another one.
 */
import { createParser } from "eventsource-parser";
import { HeddleError } from "./errors.ts";
import { DEFAULT_MAX_FRAME_BYTES, readFrames } from "./frames.ts";
import type { ByteSource, DecodeLimits, Frame, FrameDecoder } from "./frames.ts";
import type {
  Event,
  ReasoningMessageContentEvent,
  TextMessageContentEvent,
  ToolCallArgsEvent,
} from "./generated/model.ts";
import { HeldBytes, endsLine } from "./held-bytes.ts";
import { limitExceeded, parseJson } from "./json.ts";

/** Media type of Server-Sent Events. */
export const SSE_MEDIA_TYPE = "text/event-stream";

type DeltaEvent = TextMessageContentEvent | ToolCallArgsEvent | ReasoningMessageContentEvent;

/** What JSON writes with an escape; lone surrogates are among them, so the whole range goes the safe way. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const NEEDS_ESCAPE = /["\\\u0000-\u001f\ud800-\udfff]/;

/** A text as JSON writes it, without the quotes around it. */
const escaped = (text: string): string => (NEEDS_ESCAPE.test(text) ? JSON.stringify(text).slice(1, -1) : text);

/** An encoder with a memory of the message whose deltas it wrote last: one for each stream is fastest. */
export function createSseEncoder(): (event: Event, id?: string) => string {
  let openType = "";
  let openId = "";
  let prefix = "";

  return (event, id) => {
    const head = id === undefined ? "" : `id: ${cursor(id)}\n`;
    if (!isPlainDelta(event)) return `${head}data: ${JSON.stringify(event)}\n\n`;
    const itemId = event.type === "TOOL_CALL_ARGS" ? event.toolCallId : event.messageId;
    if (itemId !== openId || event.type !== openType) {
      openType = event.type;
      openId = itemId;
      const idName = event.type === "TOOL_CALL_ARGS" ? "toolCallId" : "messageId";
      prefix = `data: {"type":"${openType}","${idName}":"${escaped(openId)}","delta":"`;
    }
    const tail = event.timestamp === undefined ? '"}\n\n' : `","timestamp":${event.timestamp}}\n\n`;
    return head + prefix + escaped(event.delta) + tail;
  };
}

/** Whether an event is a delta that says nothing but what, of which item, and perhaps when. */
function isPlainDelta(event: Event): event is DeltaEvent {
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
    case "TOOL_CALL_ARGS":
    case "REASONING_MESSAGE_CONTENT": {
      let keys = 0;
      for (const _ in event) keys++;
      return typeof event.delta === "string" && keys === (Number.isSafeInteger(event.timestamp) ? 4 : 3);
    }
    default:
      return false;
  }
}

/** Writes one event as a frame, with its cursor where there is one. */
export const encodeSse: (event: Event, id?: string) => string = /* @__PURE__ */ createSseEncoder();

/** Writes events as the bytes of their frames, in one piece. */
export function encodeSseBytes(events: Iterable<Event>): Uint8Array {
  let text = "";
  for (const event of events) text += encodeSse(event);
  return utf8.encode(text);
}

/** Writes a frame that moves the reader's cursor and carries nothing else. */
export const encodeSseCursor = (id: string): string => `id: ${cursor(id)}\n\n`;

/** Writes a comment, which readers ignore: a heartbeat. */
export const encodeSseComment = (text = ""): string => `:${text.replaceAll(/[\r\n]/g, " ")}\n\n`;

// Marked like `encodeSse`, so that bundlers leave both out where streams are only read.
const utf8 = /* @__PURE__ */ new TextEncoder();

function cursor(id: string): string {
  // oxlint-disable-next-line no-control-regex -- a NUL makes readers ignore the id
  if (!/[\r\n\u0000]/.test(id)) return id;
  throw new HeddleError("frame-invalid", "A cursor is one line of text without NUL.", { id });
}

/** Reads frames of Server-Sent Events from chunks of bytes or text. Comments are told as they are read, and are no frames. */
export function createSseDecoder(limits: DecodeLimits = {}, onComment?: (text: string) => void): FrameDecoder {
  const { maxFrameBytes = DEFAULT_MAX_FRAME_BYTES } = limits;
  const text = new TextDecoder();
  // Bytes that end no line wait as they are: a long line is then decoded once, and in one piece.
  const held = new HeldBytes();
  let frames: Frame[] = [];
  let failure: HeddleError | undefined;
  let ending = false;

  const parser = createParser({
    maxBufferSize: maxFrameBytes,
    // Told before the event that it belongs to, and also where no event follows.
    onId: (id) => {
      if (failure === undefined && !ending) frames.push({ id });
    },
    onEvent: ({ id, data }) => {
      if (failure !== undefined) return;
      try {
        const value = parseJson(data);
        if (id === undefined || ending) frames.push({ value });
        else frames[frames.length - 1] = { value, id };
      } catch (error) {
        if (!(error instanceof HeddleError)) throw error;
        if (!ending) failure = error;
      }
    },
    ...(onComment === undefined ? {} : { onComment }),
    onError: ({ type }) => {
      // Unknown fields are no fault: the grammar says to ignore them.
      if (type === "max-buffer-size-exceeded") failure ??= limitExceeded(FRAME_SIZE, maxFrameBytes, maxFrameBytes + 1);
    },
  });

  /** What came before a bad frame is delivered first; the failure is thrown when there is nothing left to give. */
  const take = (): readonly Frame[] => {
    if (failure !== undefined && frames.length === 0) throw failure;
    const taken = frames;
    frames = [];
    return taken;
  };

  const feed = (bytes: Uint8Array): void => parser.feed(text.decode(bytes, { stream: true }));

  const readBytes = (chunk: Uint8Array): void => {
    const ends = endsLine(chunk);
    if (ends && held.size === 0) return feed(chunk);
    held.add(chunk);
    if (ends) feed(held.take());
    else if (held.size > maxFrameBytes) failure = limitExceeded(FRAME_SIZE, maxFrameBytes, held.size);
  };

  return {
    push(chunk) {
      if (failure === undefined && typeof chunk !== "string") readBytes(chunk);
      else if (failure === undefined && typeof chunk === "string") {
        feed(held.take());
        parser.feed(chunk);
      }
      return take();
    },
    end() {
      if (failure === undefined) {
        ending = true;
        parser.feed(`${text.decode(held.take())}\n\n`);
      }
      return take();
    },
  };
}

const FRAME_SIZE = "size of a frame";

/** Reads a whole stream of Server-Sent Events. Throws `json-invalid` or `limit-exceeded` where the stream is bad. */
export function decodeSse(source: ByteSource, limits?: DecodeLimits): AsyncGenerator<Frame, void, undefined> {
  return readFrames(source, createSseDecoder(limits));
}

/**
 * One encoder per response, chosen by what the reader accepts: Server-Sent Events, or protobuf where `Accept` names it.
 *
 * A wildcard does not name it, although the rules would allow that reading: a plain `curl` should see text
 * (PROTO-WIRE-2). Protobuf itself comes from `heddle/protocol/binary`, so that a page that never uses it never loads it.
 */
import type { Event } from "./generated/model.ts";
import { SSE_MEDIA_TYPE, createSseEncoder } from "./sse.ts";

/** A binary wire format, as `heddle/protocol/binary` exports one. */
export interface BinaryCodec {
  /** Its media type. */
  readonly mediaType: string;
  /** Writes one event as a frame. */
  readonly encode: (event: Event) => Uint8Array;
}

/** What an encoder is chosen by. */
export interface EventEncoderOptions {
  /** The request's `Accept` header. */
  readonly accept?: string | null | undefined;
  /** The binary format on offer; none means that readers get text whatever they accept. */
  readonly binary?: BinaryCodec;
}

/** Writes events in the format that the reader accepts. */
export class EventEncoder {
  /** `Content-Type` of what it writes. */
  readonly contentType: string;
  /** Writes one event; text for Server-Sent Events, bytes for protobuf. A cursor travels in text only. */
  readonly encode: (event: Event, id?: string) => string | Uint8Array;

  constructor({ accept, binary }: EventEncoderOptions = {}) {
    const chosen = binary !== undefined && names(accept ?? "", binary.mediaType) ? binary : undefined;
    this.contentType = chosen?.mediaType ?? SSE_MEDIA_TYPE;
    this.encode = chosen?.encode ?? createSseEncoder();
  }

  /** Writes one event as bytes, whatever the format. */
  encodeBytes(event: Event, id?: string): Uint8Array {
    const written = this.encode(event, id);
    return typeof written === "string" ? utf8.encode(written) : written;
  }
}

const utf8 = new TextEncoder();

/** Whether an `Accept` header names a media type, and does not give it quality 0. */
function names(accept: string, mediaType: string): boolean {
  return accept.split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return type === mediaType && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

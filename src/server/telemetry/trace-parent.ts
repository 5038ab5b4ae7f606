/**
 * W3C Trace Context: the headers `traceparent` and `tracestate`, which say what trace a request belongs to. What cannot be read
 * counts as absent, as the recommendation asks. Baggage is not taken: it would carry a caller's words into every span.
 */
import { createTraceState, isSpanContextValid } from "@opentelemetry/api";
import type { SpanContext } from "@opentelemetry/api";
import type { TraceHeaders } from "../../agent/index.ts";

/** Headers of a request, as far as they are there. */
export type TraceRequest = { readonly [N in keyof TraceHeaders]?: string | undefined };

/** Version, trace, span and flags; a later version may say more behind that. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Longest text that is read; later versions may be longer than the 55 characters of this one. */
const MAX_CHARS = 512;

/** The span that headers name; undefined where they name none. */
export function readTrace({ traceparent, tracestate }: TraceRequest): SpanContext | undefined {
  if (traceparent === undefined || traceparent.length > MAX_CHARS) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === "00" && more !== undefined) return undefined;
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  if (!isSpanContextValid(span)) return undefined;
  const isShort = tracestate !== undefined && tracestate.length <= MAX_CHARS;
  return isShort ? { ...span, traceState: createTraceState(tracestate) } : span;
}

/** The headers that name a span; undefined where it is none. */
export function writeTrace(span: SpanContext): TraceHeaders | undefined {
  if (!isSpanContextValid(span)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = span;
  const traceparent = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
  const tracestate = traceState?.serialize() ?? "";
  return tracestate === "" ? { traceparent } : { traceparent, tracestate };
}

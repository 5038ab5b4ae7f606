/**
 * Views: which events of a thread somebody sees, and in which form. What a view gives is made once for all who share it,
 * and views are the same where their parts are.
 */
import { SSE_MEDIA_TYPE } from "../protocol/index.ts";
import type { StoredEvent } from "../store/index.ts";

/** Which runs of a thread are seen. */
export interface Selection {
  /** Tells selections apart: the same key, the same events. */
  readonly key: string;
  /** The runs; undefined for all. */
  readonly runIds: ReadonlySet<string> | undefined;
}

/** Everything. */
export const WHOLE_THREAD: Selection = { key: "", runIds: undefined };

/** One run alone. */
export const onlyRun = (runId: string): Selection => ({ key: runId, runIds: new Set([runId]) });

/** A form that events are sent in. One object for each form: it is what encoded events are kept under. */
export interface Encoding {
  /** Media type of the stream. */
  readonly mediaType: string;
  /** Writes one event. */
  encode(event: StoredEvent, cursor: string): string;
}

/** Server-Sent Events: the cursor, and the event as the log has it, which is JSON without line breaks. */
export const SSE: Encoding = {
  mediaType: SSE_MEDIA_TYPE,
  encode: ({ json }, cursor) => `id: ${cursor}\ndata: ${json}\n\n`,
};

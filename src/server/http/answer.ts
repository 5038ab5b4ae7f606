/**
 * What a route answers with, before any host has it: a status, headers, and a text or a stream of frames.
 *
 * A stream carries what its host has to know to keep it alive and to let its reader go: the bytes that say nothing, and
 * the bytes that ask to come back.
 */

/** Headers of an answer; names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string>>;

/** An answer that is there as a whole. */
export interface PlainAnswer {
  /** Status. */
  readonly status: number;
  /** Headers. */
  readonly headers: AnswerHeaders;
  /** The body; none where absent. */
  readonly body?: string;
}

/** An answer that goes on. */
export interface StreamAnswer {
  /** Status. */
  readonly status: number;
  /** Headers. */
  readonly headers: AnswerHeaders;
  /** The bytes, as they come. */
  readonly frames: AsyncIterator<Uint8Array>;
  /** What keeps an idle connection open; none where the form has nothing to say it with. */
  readonly heartbeat?: Uint8Array;
  /** What tells the reader of a server that closes to come back. */
  readonly farewell?: Uint8Array;
}

/** An answer. */
export type Answer = PlainAnswer | StreamAnswer;

/** Whether an answer is a stream. */
export const isStream = (answer: Answer): answer is StreamAnswer => "frames" in answer;

/** What every answer says to browsers: it is what it says it is, runs nothing, and stands in no page and no address. */
export const SAFE_HEADERS: AnswerHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "cross-origin",
};

/** A JSON document. */
export function jsonAnswer(value: unknown, status = 200, headers: AnswerHeaders = {}): PlainAnswer {
  return {
    status,
    headers: {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      ...headers,
    },
    body: JSON.stringify(value),
  };
}

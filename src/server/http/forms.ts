/**
 * The forms that events are read in, and the answer that carries them. Server-Sent Events for whoever follows; lines of
 * JSON for programs; one JSON document for whoever wants it whole. Lines and documents name cursor and run beside each
 * event, where Server-Sent Events have their `id:`.
 */
import { NDJSON_MEDIA_TYPE, encodeSseComment } from "../../protocol/index.ts";
import { PROTOBUF, SSE } from "../index.ts";
import type { Attachment, Encoding } from "../index.ts";
import { accepted } from "./accept.ts";
import type { AnswerHeaders, StreamAnswer } from "./answer.ts";

/** An event with its run, and with its cursor where it has one. */
const entry = (runId: string, json: string, cursor: string): string =>
  `{${cursor === "" ? "" : `"id":${JSON.stringify(cursor)},`}"runId":${JSON.stringify(runId)},"event":${json}}`;

/** One line for each event; one with an `id` alone moves the reader's cursor. */
const NDJSON: Encoding = {
  mediaType: NDJSON_MEDIA_TYPE,
  encode: ({ runId, json }, cursor) => `${entry(runId, json, cursor)}\n`,
  moveCursor: (cursor) => `{"id":${JSON.stringify(cursor)}}\n`,
};

/** The members of an array, each with the comma before it. */
const JSON_MEMBERS: Encoding = {
  mediaType: "application/json",
  encode: ({ runId, json }, cursor) => `,${entry(runId, json, cursor)}`,
};

/** How long a reader waits before it comes back, as Server-Sent Events say it. */
const RETRY_MS = 1000;

const utf8 = new TextEncoder();
const CAUGHT_UP = utf8.encode(encodeSseComment(" caught-up"));
const FAREWELL = utf8.encode(`retry: ${RETRY_MS}\n\n`);

/** What says nothing, in the forms that can say it. */
const HEARTBEATS: ReadonlyMap<Encoding, Uint8Array> = new Map([
  [SSE, utf8.encode(encodeSseComment())],
  [NDJSON, utf8.encode("\n")],
]);

/** The form of a run that a reader accepts. */
export const runForm = (accept: string | undefined): Encoding => formOf(accept, [SSE, PROTOBUF]);

/** The form of a log that a reader accepts. */
export const logForm = (accept: string | undefined): Encoding => formOf(accept, [SSE, NDJSON, JSON_MEMBERS]);

function formOf(accept: string | undefined, forms: readonly [Encoding, ...Encoding[]]): Encoding {
  const [first, ...others] = forms;
  const mediaType = accepted(accept, [first.mediaType, ...others.map((form) => form.mediaType)]);
  return forms.find((form) => form.mediaType === mediaType) ?? first;
}

/** Whether a form is a document, which has to end. */
export const isDocument = (form: Encoding): boolean => form === JSON_MEMBERS;

const STREAM_HEADERS: AnswerHeaders = {
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};

/** Lines of JSON that come to an end, as an answer. */
export const linesAnswer = (frames: AsyncIterator<Uint8Array>): StreamAnswer => ({
  status: 200,
  headers: { "content-type": NDJSON_MEDIA_TYPE, ...STREAM_HEADERS },
  frames,
});

/** Values as Server-Sent Events without cursors, for readers who come back for all of it. */
export function valuesAnswer(values: AsyncIterable<unknown>): StreamAnswer {
  const heartbeat = HEARTBEATS.get(SSE);
  return {
    status: 200,
    headers: { "content-type": SSE.mediaType, ...STREAM_HEADERS },
    frames: valueFrames(values),
    ...(heartbeat === undefined ? {} : { heartbeat }),
    farewell: FAREWELL,
  };
}

async function* valueFrames(values: AsyncIterable<unknown>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const value of values) yield utf8.encode(`data: ${JSON.stringify(value)}\n\n`);
}

/** Events as an answer. */
export function eventsAnswer(attachment: Attachment, form: Encoding, headers: AnswerHeaders = {}): StreamAnswer {
  const heartbeat = HEARTBEATS.get(form);
  const frames = attachment.frames(form);
  return {
    status: 200,
    headers: { "content-type": form.mediaType, ...STREAM_HEADERS, ...headers },
    frames: isDocument(form) ? inDocument(frames) : frames,
    ...(heartbeat === undefined ? {} : { heartbeat }),
  };
}

/** The same, for readers who come back where the server ends their stream. */
export function attachedAnswer(attachment: Attachment, form: Encoding, headers: AnswerHeaders = {}): StreamAnswer {
  if (form !== SSE) return eventsAnswer(attachment, form, headers);
  const marked = {
    ...attachment,
    frames: (encoding: Encoding) => withMark((mark) => attachment.frames(encoding, mark)),
  };
  return { ...eventsAnswer(marked, form, headers), farewell: FAREWELL };
}

/** Says that all there is was given, as soon as that is so: by a comment, which whoever does not look for it overlooks. */
function withMark(
  framesOf: (onCaughtUp: () => void) => AsyncIterableIterator<Uint8Array>,
): AsyncIterableIterator<Uint8Array> {
  /** What comes next, where it was asked for already. */
  let waiting: Promise<IteratorResult<Uint8Array>> | undefined;
  /** Tells whoever waits; one promise for all would keep every piece that came before it is kept. */
  let tell: (() => void) | undefined;
  let [isDue, isMarked] = [false, false];
  const frames = framesOf(() => {
    isDue = true;
    tell?.();
  });
  const mark = (): IteratorResult<Uint8Array> => {
    isMarked = true;
    return { done: false, value: CAUGHT_UP };
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      const next = (waiting ??= frames.next());
      if (isDue && !isMarked) return Promise.resolve(mark());
      waiting = undefined;
      if (isMarked) return next;
      return new Promise((resolve, reject) => {
        tell = () => {
          waiting = next;
          resolve(mark());
        };
        next.then(resolve, reject).finally(() => (tell = undefined));
      });
    },
    return: () => frames.return?.() ?? Promise.resolve({ done: true, value: undefined }),
  };
}

/** Members of an array, with what stands around them. */
async function* inDocument(members: AsyncIterableIterator<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  yield utf8.encode('{"events":[');
  let isFirst = true;
  for await (const bytes of members) {
    yield isFirst ? bytes.subarray(1) : bytes;
    isFirst = false;
  }
  yield utf8.encode("]}");
}

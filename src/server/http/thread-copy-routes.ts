/** Threads out and in: as lines of JSON, lossless. */
import { NDJSON_MEDIA_TYPE } from "../../protocol/index.ts";
import { jsonAnswer } from "./answer.ts";
import { THREAD_SCHEMA, describeThread } from "./describe-thread.ts";
import { linesAnswer } from "./forms.ts";
import { text } from "./parameter.ts";
import type { Route } from "./route.ts";

/** Largest import, in bytes. */
const MAX_IMPORT_BYTES = 256 * 1024 * 1024;

/** Lines are sent together up to about so many characters. */
const CHUNK_CHARS = 1 << 16;

const as = text("as", "Under another id. Default: the thread's own.");

const exported: Route = {
  id: "exportThread",
  method: "GET",
  path: "/threads/{thread}/export",
  summary: "A thread as lines of JSON, lossless. One that was cut lacks its last line, and is refused by the import.",
  answers: { 200: { description: "The lines.", content: { [NDJSON_MEDIA_TYPE]: { type: "string" } } } },
  errors: ["thread-unknown"],
  streams: true,
  answer: async ({ heddle }, { path: { thread = "" } }) => linesAnswer(together(await heddle.threads.export(thread))),
};

async function* together(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array, void, undefined> {
  const utf8 = new TextEncoder();
  let chunk = "";
  for await (const line of lines) {
    chunk += line;
    if (chunk.length < CHUNK_CHARS) continue;
    yield utf8.encode(chunk);
    chunk = "";
  }
  if (chunk !== "") yield utf8.encode(chunk);
}

const imported: Route = {
  id: "importThread",
  method: "POST",
  path: "/threads/import",
  summary: "Makes a thread of exported lines. Runs that had not ended are closed as lost.",
  parameters: [as],
  bytes: { mediaType: NDJSON_MEDIA_TYPE, maxBytes: MAX_IMPORT_BYTES },
  answers: {
    201: {
      description: "The thread, with how much of it there is. Location names it.",
      content: {
        "application/json": {
          type: "object",
          required: ["thread", "runs", "events", "closedRunIds"],
          properties: {
            thread: THREAD_SCHEMA,
            runs: { type: "integer" },
            events: { type: "integer" },
            closedRunIds: { type: "array", items: { type: "string" } },
          },
        },
      },
    },
  },
  errors: [
    "import-invalid",
    "input-invalid",
    "limit-exceeded",
    "media-type-unsupported",
    "query-invalid",
    "request-invalid",
    "thread-exists",
  ],
  needs: "operator",
  async answer({ heddle, prefix }, request) {
    const { thread, threadId, runs, events, closedRunIds } = await heddle.threads.import(
      request.bytes,
      as.read(request),
    );
    const location = `${prefix}/threads/${encodeURIComponent(threadId)}`;
    return jsonAnswer({ thread: describeThread(thread), runs, events, closedRunIds }, 201, { location });
  },
};

/** Threads out and in. */
export const THREAD_COPY_ROUTES: readonly Route[] = [exported, imported];

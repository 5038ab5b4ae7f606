/** The route of a log. */
import { NDJSON_MEDIA_TYPE, SSE_MEDIA_TYPE } from "../../protocol/index.ts";
import type { AttachOptions } from "../index.ts";
import type { Answer } from "./answer.ts";
import { SHOW_PARAMETERS, askedShow } from "./asked-show.ts";
import { attachedAnswer, isDocument, logForm } from "./forms.ts";
import { choice, flag, header, text } from "./parameter.ts";
import type { Route, RouteRequest } from "./route.ts";

const EVENT = { $ref: "#/components/schemas/Event" } as const;
const LOGGED = {
  type: "object",
  required: ["runId", "event"],
  properties: { id: { type: "string" }, runId: { type: "string" }, event: EVENT },
} as const;

const after = text("after", "Cursor of the last event that the reader has; absent, from the beginning.");
const lastEventId = header("Last-Event-ID", "The same, as a reader that reconnects sends it; it wins.");
const run = text("run", "Only this run, ending after its terminal event.");
const runAs = text("as", "The id that the run is shown under, with `run`: what its reader calls it. Default: its own.");
const head = text("head", "The branch of this run. Default: the thread's head.");
const all = flag("all", "The whole log, whatever branch; each event names its run. Default false.");
const follow = flag("follow", "False ends at the newest event. Default true, and false for one JSON document.");
const prelude = flag(
  "prelude",
  "True begins with what the branch comes to, as snapshots, for a reader who has nothing of it; not with `all`. Default false.",
);
const onGap = choice(
  "on_gap",
  ["reset", "error"],
  "What becomes of a cursor that is trimmed or of another log: `reset` gives a prelude, `error` a 410. Default reset.",
);

const events: Route = {
  id: "events",
  method: "GET",
  path: "/threads/{thread}/events",
  summary: "The log of a thread, from the beginning or after a cursor, and then live.",
  parameters: [after, lastEventId, run, runAs, head, all, follow, prelude, onGap, ...SHOW_PARAMETERS],
  answers: {
    200: {
      description: "The events, each with its cursor. AGUI-Resume: reset where a prelude stands in for the cursor.",
      content: {
        [SSE_MEDIA_TYPE]: EVENT,
        [NDJSON_MEDIA_TYPE]: LOGGED,
        "application/json": { type: "object", properties: { events: { type: "array", items: LOGGED } } },
      },
    },
    204: { description: "The run has ended, and nothing of it lies after the cursor." },
  },
  errors: ["thread-unknown", "run-unknown", "cursor-invalid", "cursor-trimmed", "query-invalid"],
  streams: true,
  async answer({ heddle }, request): Promise<Answer> {
    const form = logForm(request.header("accept"));
    const options = { ...attachOptions(request), follow: follow.read(request) ?? !isDocument(form) };
    const attachment = await heddle.attach(request.path["thread"] ?? "", options);
    if (attachment.finished) return { status: 204, headers: {} };
    return attachedAnswer(attachment, form, attachment.reset ? { "agui-resume": "reset" } : {});
  },
};

function attachOptions(request: RouteRequest): AttachOptions {
  return {
    // A reconnecting EventSource repeats its URL: the id that it saw last is the newer word.
    after: lastEventId.read(request) ?? after.read(request),
    runId: run.read(request),
    runAs: runAs.read(request),
    head: head.read(request),
    all: all.read(request),
    prelude: prelude.read(request),
    onGap: onGap.read(request),
    ...askedShow(request),
    signal: request.signal,
  };
}

/** Logs of threads. */
export const THREAD_ROUTES: readonly Route[] = [events];

/** Routes of runs: start or join one, connect to a thread, ask how one stands, stop it. */
import { SSE_MEDIA_TYPE } from "../../protocol/index.ts";
import type { JsonSchema } from "../../protocol/schema.ts";
import { BINARY_MEDIA_TYPE } from "../../protocol/binary/index.ts";
import { BUSY_POLICIES, ROOT, followStarted } from "../index.ts";
import type { StartOptions } from "../index.ts";
import { jsonAnswer } from "./answer.ts";
import type { Answer } from "./answer.ts";
import { SHOW_PARAMETERS, askedShow } from "./asked-show.ts";
import { RUN_SCHEMA, describeRun, describeWaiting } from "./describe-run.ts";
import { eventsAnswer, runForm } from "./forms.ts";
import { withForwardedHeaders } from "./forwarded-headers.ts";
import { choice, flag, header, text } from "./parameter.ts";
import type { Described, Route, RouteRequest, Site } from "./route.ts";

const EVENT = { $ref: "#/components/schemas/Event" } as const;

const STREAM: Described = {
  description: "The events, each after it was committed. Protobuf only where Accept names it.",
  content: { [SSE_MEDIA_TYPE]: EVENT, [BINARY_MEDIA_TYPE]: { type: "string", format: "binary" } },
};

/** Path of a run, as clients see it. */
const runPath = ({ prefix }: Site, { threadId, runId }: { threadId: string; runId: string }): string =>
  `${prefix}/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}`;

const onDisconnect = choice(
  "on_disconnect",
  ["continue", "cancel"],
  "`cancel` stops the run when the last one who reads it is gone. Default continue.",
);

const onBusy = choice(
  "on_busy",
  BUSY_POLICIES,
  "What becomes of the run while another is under way on its branch: refused, or that one is stopped first, or stopped and left aside, or left running beside. Default: the agent's.",
);
const parent = text(
  "parent",
  "The run that this one hangs on, or `root`. Default: the one that the body names, else the head.",
);

const after = text(
  "after",
  "Cursor of the newest event of the branch that the reader holds: nothing before it is told. Default: what the body lacks is told first.",
);
const replay = flag(
  "replay",
  "Of a run that is there already: its events from the first on, in place of what they come to, for who lost the answer. Default false.",
);
const prefer = header("Prefer", "`respond-async` starts the run and answers at once, without its events.");

/** Whether the answer need not wait for the run. */
const isAsync = (request: RouteRequest): boolean =>
  (prefer.read(request) ?? "").split(",").some((word) => word.trim().toLowerCase() === "respond-async");

/** How a run is asked to start. */
function startOptions(request: RouteRequest): StartOptions {
  const [busy, place] = [onBusy.read(request), parent.read(request)];
  return {
    ...(onDisconnect.read(request) === "cancel" && { onDisconnect: "cancel" }),
    ...(busy !== undefined && { onBusy: busy }),
    ...(place !== undefined && { parent: place === "root" ? ROOT : place }),
  };
}

const ASKED_SCHEMA: JsonSchema = {
  type: "object",
  required: ["threadId", "runId", "joined"],
  properties: {
    threadId: { type: "string" },
    runId: { type: "string" },
    joined: { type: "boolean" },
    queued: { type: "integer" },
  },
};

/** AG-UI's endpoint. */
export const START_ROUTE: Route = {
  id: "run",
  method: "POST",
  path: "/agents/{agent}",
  summary: "AG-UI's endpoint: starts a run, or joins the one that has its thread and run id, and answers its events.",
  parameters: [onDisconnect, onBusy, parent, after, replay, prefer, ...SHOW_PARAMETERS],
  body: { $ref: "#/components/schemas/RunAgentInput" },
  answers: {
    200: STREAM,
    202: {
      description: "The run has begun, or waits; whoever follows the thread gets its events.",
      content: { "application/json": ASKED_SCHEMA },
    },
  },
  errors: [
    "agent-unknown",
    "answers-missing",
    "cursor-invalid",
    "input-invalid",
    "json-invalid",
    "limit-exceeded",
    "media-type-unsupported",
    "query-invalid",
    "queue-full",
    "resume-invalid",
    "run-conflict",
    "run-unknown",
    "runs-full",
    "thread-busy",
    "thread-unknown",
  ],
  streams: true,
  async answer(desk, request): Promise<Answer> {
    const { heddle, forwardHeaders } = desk;
    const { path, body, signal, header } = request;
    const trace = { traceparent: header("traceparent"), tracestate: header("tracestate") };
    const seen = after.read(request);
    const options = { ...startOptions(request), holds: seen !== undefined, trace };
    const show = askedShow(request);
    const started = await withForwardedHeaders(forwardHeaders, header, () =>
      heddle.start(path["agent"] ?? "", body, options),
    );
    const { run, joined, queued, warnings } = started;
    if (warnings.length > 0) desk.onWarnings(warnings, run);
    const { threadId, runId } = run;
    const place = { "content-location": runPath(desk, run) };
    if (isAsync(request)) return jsonAnswer({ threadId, runId, joined, queued }, 202, place);
    const asked = { ...followStarted(started, { after: seen, replay: replay.read(request) }), ...show, signal };
    return eventsAnswer(await heddle.attach(threadId, asked), runForm(header("accept")), place);
  },
};

const connect: Route = {
  id: "connect",
  method: "POST",
  path: "/agents/{agent}/connect",
  summary:
    "Where a thread stands: its head as snapshots, then live to the end of that run. Nothing for an unknown thread.",
  parameters: SHOW_PARAMETERS,
  body: { $ref: "#/components/schemas/RunAgentInput" },
  answers: { 200: STREAM },
  errors: [
    "agent-unknown",
    "input-invalid",
    "json-invalid",
    "limit-exceeded",
    "media-type-unsupported",
    "query-invalid",
  ],
  streams: true,
  async answer(desk, request): Promise<Answer> {
    const { path, body, signal, header } = request;
    const attachment = await desk.heddle.connect(path["agent"] ?? "", body, { ...askedShow(request), signal });
    const { run } = attachment;
    const place = run === undefined ? {} : { "content-location": runPath(desk, run) };
    return eventsAnswer(attachment, runForm(header("accept")), place);
  },
};

const show: Route = {
  id: "runState",
  method: "GET",
  path: "/threads/{thread}/runs/{run}",
  summary: "How a run stands: status, lineage, times, usage, and what it left open.",
  answers: { 200: { description: "How the run stands.", content: { "application/json": RUN_SCHEMA } } },
  errors: ["run-unknown", "thread-unknown"],
  async answer({ heddle }, { path: { thread = "", run = "" } }) {
    const waiting = await heddle.waiting(thread, run);
    if (waiting !== undefined) return jsonAnswer(describeWaiting(thread, waiting));
    return jsonAnswer(describeRun(await heddle.run(thread, run)));
  },
};

const cancel: Route = {
  id: "cancel",
  method: "POST",
  path: "/threads/{thread}/runs/{run}/cancel",
  summary: "Stops a run, wherever it is executed, and answers how it ended. One that has ended stays as it is.",
  answers: { 200: { description: "How the run stands.", content: { "application/json": RUN_SCHEMA } } },
  errors: ["run-unknown", "thread-unknown"],
  answer: async ({ heddle }, { path }) =>
    jsonAnswer(describeRun(await heddle.cancel(path["thread"] ?? "", path["run"] ?? ""))),
};

/** Runs. */
export const RUN_ROUTES: readonly Route[] = [START_ROUTE, connect, show, cancel];

/** What people do beside runs: annotate one, claim a tool call. */
import { jsonAnswer } from "./answer.ts";
import type { Route } from "./route.ts";

const annotate: Route = {
  id: "annotate",
  method: "POST",
  path: "/threads/{thread}/annotations",
  summary: "Adds a META event to a run, the head where none is named. Who follows with meta=true sees it.",
  body: {
    type: "object",
    required: ["metaType"],
    properties: { metaType: { type: "string" }, payload: { type: "object" }, runId: { type: "string" } },
  },
  answers: {
    201: {
      description: "Where it is.",
      content: {
        "application/json": { type: "object", properties: { id: { type: "string" }, runId: { type: "string" } } },
      },
    },
  },
  errors: [
    "input-invalid",
    "json-invalid",
    "limit-exceeded",
    "media-type-unsupported",
    "run-unknown",
    "thread-unknown",
  ],
  answer: async ({ heddle }, { path: { thread = "" }, body }) =>
    jsonAnswer(await heddle.threads.annotate(thread, body), 201),
};

const claim: Route = {
  id: "claimToolCall",
  method: "POST",
  path: "/threads/{thread}/tool-calls/{call}/claim",
  summary: "Lets one tab or device execute a frontend call for a while; the same holder again renews it, 0 lets go.",
  body: {
    type: "object",
    required: ["holder"],
    properties: { holder: { type: "string" }, leaseMs: { type: "integer", minimum: 0 } },
  },
  answers: {
    200: {
      description: "It is yours.",
      content: {
        "application/json": {
          type: "object",
          properties: {
            toolCallId: { type: "string" },
            holder: { type: "string" },
            until: { type: "string", format: "date-time" },
          },
        },
      },
    },
  },
  errors: [
    "input-invalid",
    "json-invalid",
    "limit-exceeded",
    "media-type-unsupported",
    "thread-unknown",
    "tool-call-closed",
    "tool-call-taken",
  ],
  async answer({ heddle }, { path: { thread = "", call = "" }, body }) {
    const { toolCallId, holder, untilMs } = await heddle.threads.claimToolCall(thread, call, body);
    return jsonAnswer({ toolCallId, holder, until: new Date(untilMs).toISOString() });
  },
};

/** Actions. */
export const THREAD_ACTION_ROUTES: readonly Route[] = [annotate, claim];

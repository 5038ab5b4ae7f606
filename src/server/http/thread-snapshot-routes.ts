/** A thread at one moment. */
import type { ThreadSnapshot, ToolCallState } from "../index.ts";
import { jsonAnswer } from "./answer.ts";
import { momentOf, timesOf } from "./describe-run.ts";
import { flag, text } from "./parameter.ts";
import type { Route } from "./route.ts";

const at = text("at", "A run, which means its newest event, or a cursor. Default: the thread's head.");
const raw = flag("raw", "Whether messages of role system and developer are shown. Default false.");

const MOMENT = { type: "string", format: "date-time" } as const;

const TOOL_CALL = {
  type: "object",
  required: ["id", "name", "arguments", "status"],
  properties: {
    id: { type: "string" },
    name: { type: "string" },
    arguments: { type: "string" },
    status: { type: "string", enum: ["pending", "completed", "failed"] },
    startedAt: MOMENT,
    endedAt: MOMENT,
    durationMs: { type: "number" },
    result: {},
    error: { type: "string" },
  },
} as const;

const SNAPSHOT = {
  type: "object",
  required: [
    "threadId",
    "eventId",
    "messages",
    "messageTimes",
    "messageRuns",
    "state",
    "interrupts",
    "pendingToolCallIds",
    "toolCalls",
  ],
  properties: {
    threadId: { type: "string" },
    runId: { type: "string" },
    eventId: { type: "string" },
    messages: { type: "array", items: { $ref: "#/components/schemas/Message" } },
    messageTimes: { type: "object", additionalProperties: MOMENT },
    messageRuns: { type: "object", additionalProperties: { type: "string" } },
    state: {},
    interrupts: { type: "array", items: { $ref: "#/components/schemas/Interrupt" } },
    pendingToolCallIds: { type: "array", items: { type: "string" } },
    toolCalls: { type: "array", items: TOOL_CALL },
  },
} as const;

const snapshot: Route = {
  id: "snapshot",
  method: "GET",
  path: "/threads/{thread}/snapshot",
  summary: "Messages, state, open questions and calls, and tool calls with their times: of a branch, at any moment.",
  parameters: [at, raw],
  answers: { 200: { description: "The thread at that moment.", content: { "application/json": SNAPSHOT } } },
  errors: ["cursor-invalid", "cursor-trimmed", "query-invalid", "run-unknown", "thread-unknown"],
  async answer({ heddle }, request) {
    const options = { at: at.read(request), raw: raw.read(request) };
    return jsonAnswer(described(await heddle.threads.snapshot(request.path["thread"] ?? "", options)));
  },
};

function described({ cursor, messageTimesMs, messageRuns, toolCalls, ...snapshot }: ThreadSnapshot): object {
  return {
    ...snapshot,
    eventId: cursor,
    messageTimes: Object.fromEntries(Array.from(messageTimesMs, ([id, ms]) => [id, momentOf(ms)])),
    messageRuns: Object.fromEntries(messageRuns),
    toolCalls: toolCalls.map(describedCall),
  };
}

const describedCall = ({ startedAtMs, endedAtMs, ...call }: ToolCallState): object => ({
  ...call,
  ...timesOf(startedAtMs, endedAtMs),
});

/** Snapshots. */
export const THREAD_SNAPSHOT_ROUTES: readonly Route[] = [snapshot];

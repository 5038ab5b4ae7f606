/** A thread as clients see it: in a list, and in full. */
import type { JsonSchema } from "../../protocol/schema.ts";
import { formatCursor } from "../../store/index.ts";
import type { RunInfo } from "../../store/index.ts";
import { ROLES, tokenSum } from "../index.ts";
import type { Role, ThreadDetails, ThreadSummary } from "../index.ts";
import { RUN_FIELDS, RUN_STATUS, describeRun, momentOf } from "./describe-run.ts";

const TEXT = { type: "string" } as const;
const MOMENT = { type: "string", format: "date-time" } as const;

const SUMMARY_FIELDS = {
  threadId: TEXT,
  title: TEXT,
  archived: { type: "boolean" },
  metadata: { type: "object" },
  head: TEXT,
  status: RUN_STATUS,
  createdAt: MOMENT,
  updatedAt: MOMENT,
} as const;

const REQUIRED = ["threadId", "archived", "metadata", "createdAt", "updatedAt"] as const;

/** What a thread looks like in a list. */
export const THREAD_SCHEMA: JsonSchema = { type: "object", required: REQUIRED, properties: SUMMARY_FIELDS };

const TOKENS: JsonSchema = { type: "object", additionalProperties: { type: "number" } };

const RUN_IN_TREE: JsonSchema = {
  type: "object",
  required: ["runId", "agent", "status", "startedAt", "firstEventId", "lastEventId", "tokens"],
  properties: { ...RUN_FIELDS, firstEventId: TEXT, lastEventId: TEXT, tokens: TOKENS },
};

/** What a thread looks like in full. */
export const DETAILS_SCHEMA: JsonSchema = {
  type: "object",
  required: [
    ...REQUIRED,
    "events",
    "droppedEvents",
    "lastEventId",
    "runs",
    "heads",
    "queue",
    "interrupts",
    "pendingToolCallIds",
    "role",
    "members",
  ],
  properties: {
    ...SUMMARY_FIELDS,
    events: { type: "integer" },
    droppedEvents: { type: "integer" },
    lastEventId: TEXT,
    tokens: TOKENS,
    runs: { type: "array", items: RUN_IN_TREE },
    heads: { type: "array", items: TEXT },
    queue: { type: "array", items: { type: "object", properties: { runId: TEXT, agent: TEXT, queuedAt: TEXT } } },
    interrupts: { type: "array", items: { $ref: "#/components/schemas/Interrupt" } },
    pendingToolCallIds: { type: "array", items: TEXT },
    role: { type: "string", enum: ROLES },
    owner: TEXT,
    members: { type: "array", items: { type: "object", properties: { user: TEXT, role: TEXT } } },
  },
};

/** A thread in a list. */
export function describeThread(thread: ThreadSummary): object {
  const { threadId, title, archived, metadata, head, status, createdAtMs, updatedAtMs } = thread;
  const times = { createdAt: momentOf(createdAtMs), updatedAt: momentOf(updatedAtMs) };
  return { threadId, title, archived, metadata, head, status, ...times };
}

/** A thread in full. */
export function describeDetails(thread: ThreadDetails & { readonly role: Role }): object {
  const { logId, tail, floor, runs, heads, queue, interrupts, pendingToolCallIds, role, owner, members } = thread;
  return {
    ...describeThread(thread),
    events: tail,
    droppedEvents: floor,
    lastEventId: formatCursor(logId, tail),
    tokens: tokenSum(runs.flatMap(({ end }) => end?.usage ?? [])),
    runs: runs.map((run) => runInTree(logId, run)),
    heads,
    queue: queue.map(({ runId, agent, queuedAtMs }) => ({ runId, agent, queuedAt: momentOf(queuedAtMs) })),
    interrupts,
    pendingToolCallIds,
    role,
    owner,
    members,
  };
}

function runInTree(logId: string, run: RunInfo): object {
  const { threadId: _threadId, usage = [], ...described } = describeRun(run);
  return {
    ...described,
    firstEventId: formatCursor(logId, run.firstSeq),
    lastEventId: formatCursor(logId, run.lastSeq),
    tokens: tokenSum(usage),
  };
}

/** A run as clients see it. Who started it is not theirs to know. */
import type { JsonSchema } from "../../protocol/schema.ts";
import type { QueuedRun, RunInfo } from "../../store/index.ts";

/** How a run stands, in one word. */
export const RUN_STATUS = {
  type: "string",
  enum: ["queued", "running", "finished", "interrupted", "cancelled", "failed"],
} as const satisfies JsonSchema;

/** What is told of a run wherever it stands. */
export const RUN_FIELDS = {
  runId: { type: "string" },
  agent: { type: "string" },
  status: RUN_STATUS,
  parentRunId: { type: "string" },
  kind: { type: "string" },
  startedAt: { type: "string", format: "date-time" },
  endedAt: { type: "string", format: "date-time" },
  durationMs: { type: "number" },
  interrupts: { type: "array", items: { $ref: "#/components/schemas/Interrupt" } },
  pendingToolCallIds: { type: "array", items: { type: "string" } },
  error: { type: "object" },
} as const satisfies JsonSchema["properties"];

/** What a run looks like. */
export const RUN_SCHEMA: JsonSchema = {
  type: "object",
  required: ["threadId", "runId", "agent", "status"],
  properties: {
    threadId: { type: "string" },
    ...RUN_FIELDS,
    queuedAt: { type: "string", format: "date-time" },
    usage: { type: "array", items: { $ref: "#/components/schemas/TokenUsage" } },
  },
};

/** A calendar ends here, both ways; agents may tell any integer. */
const LAST_MS = 8.64e15;

/** A moment as clients see it. */
export const momentOf = (ms: number): string => new Date(Math.max(-LAST_MS, Math.min(LAST_MS, ms))).toISOString();

/** How long something took, and when; what is not known is left out. */
export const timesOf = (startedAtMs: number | undefined, endedAtMs: number | undefined) => ({
  startedAt: startedAtMs === undefined ? undefined : momentOf(startedAtMs),
  endedAt: endedAtMs === undefined ? undefined : momentOf(endedAtMs),
  durationMs: startedAtMs === undefined || endedAtMs === undefined ? undefined : endedAtMs - startedAtMs,
});

/** A run that waits for its turn. */
export const describeWaiting = (threadId: string, { runId, agent, queuedAtMs }: QueuedRun): object => ({
  threadId,
  runId,
  agent,
  status: "queued",
  queuedAt: momentOf(queuedAtMs),
});

/** How a run stands. */
export function describeRun(run: RunInfo) {
  const { threadId, runId, agent, status, parentRunId, kind, startedAtMs, endedAtMs, end } = run;
  return {
    threadId,
    runId,
    agent,
    status,
    parentRunId,
    kind,
    ...timesOf(startedAtMs, endedAtMs),
    interrupts: end?.interrupts,
    pendingToolCallIds: end?.pendingToolCallIds,
    error: end?.error,
    usage: end?.usage,
  };
}

/** The schema of what `GET /status` answers, for its description: `ServerStatus` in JSON Schema. */
import type { JsonSchema } from "../../protocol/schema.ts";

const TEXT = { type: "string" } as const;
const TIME = { type: "string", format: "date-time" } as const;
const COUNT = { type: "integer", minimum: 0 } as const;
const MS = { type: "number", minimum: 0 } as const;

/** An object of which everything is there, but for what may be absent. */
const objectOf = (properties: Readonly<Record<string, JsonSchema>>, maybe: readonly string[] = []): JsonSchema => ({
  type: "object",
  required: Object.keys(properties).filter((name) => !maybe.includes(name)),
  properties,
});

const listOf = (items: JsonSchema, maxItems?: number): JsonSchema => ({
  type: "array",
  items,
  ...(maxItems !== undefined && { maxItems }),
});

/** How a server is. */
export const SERVER_STATUS: JsonSchema = objectOf({
  version: TEXT,
  startedAt: TIME,
  now: TIME,
  ready: { type: "boolean" },
  store: objectOf({
    status: TEXT,
    kind: TEXT,
    threads: COUNT,
    runs: COUNT,
    events: COUNT,
    rawBytes: COUNT,
    compactedBytes: COUNT,
    snapshotBytes: COUNT,
    totalBytes: COUNT,
  }),
  runs: objectOf({
    running: COUNT,
    queued: COUNT,
    list: listOf(objectOf({ threadId: TEXT, runId: TEXT, agent: TEXT, startedAt: TIME, events: COUNT })),
  }),
  viewers: COUNT,
  slowestLagEvents: COUNT,
  sockets: COUNT,
  reconnects: COUNT,
  commits: objectOf({
    count: COUNT,
    p50Ms: MS,
    p95Ms: MS,
    p99Ms: MS,
    recent: listOf(objectOf({ at: TIME, ms: MS }), 120),
  }),
  totals: objectOf({ started: COUNT, ended: { type: "object", additionalProperties: COUNT }, events: COUNT }),
  repairs: listOf(objectOf({ rule: TEXT, count: COUNT })),
  rejections: listOf(objectOf({ code: TEXT, count: COUNT })),
  errors: listOf(
    objectOf({ at: TIME, code: TEXT, message: TEXT, threadId: TEXT, runId: TEXT, agent: TEXT }, [
      "threadId",
      "runId",
      "agent",
    ]),
    50,
  ),
});

/** Rows as what they tell. */
import type { LineageKind } from "../../stream/lineage/index.ts";
import type { Lease, MemberRole, QueuedRun, RunEnd, RunInfo, RunKey, ThreadInfo, ThreadKey } from "../index.ts";
import { unpack } from "./segment.ts";
import { bytesIn, jsonIn, maybeNumberIn, maybeTextIn, numberIn, textIn } from "./sql.ts";
import type { Row } from "./sql.ts";

/** What tells a thread, of a table called `t`. */
export const THREAD_COLUMNS = `t.tenant AS tenant_id, t.id AS thread_id, t.name AS thread_name, t.log_id, t.tail, t.floor,
  t.head, t.title, t.archived, t.metadata, t.owner, t.created_ms, t.updated_ms`;

/** What tells a run, of tables called `r` and, for its parent, `p`. */
export const RUN_COLUMNS = `r.id AS run_id, r.thread AS thread_id, r.tenant AS tenant_id, r.name AS run_name, r.agent,
  p.name AS parent_name, r.kind, r.first_seq, r.last_seq, r.principal, r.started_ms, r.ended_ms, r.ended, r.settled,
  r.fence, r.next_batch, r.stop`;

/** What tells a run that waits, of a table called `q`. */
export const QUEUE_COLUMNS = "q.name AS run_name, q.agent, q.principal, q.parent, q.queued_ms, q.codec, q.data";

/** The run of a row that has `QUEUE_COLUMNS`. */
export const queuedOf = (row: Row): QueuedRun => ({
  runId: textIn(row, "run_name"),
  agent: textIn(row, "agent"),
  body: unpack({ codec: numberIn(row, "codec"), data: bytesIn(row, "data") }),
  principal: maybeTextIn(row, "principal"),
  parentRunId: maybeTextIn(row, "parent"),
  queuedAtMs: numberIn(row, "queued_ms"),
});

/** The thread of a row that has `THREAD_COLUMNS`. */
export function threadOf(tenant: string, row: Row): ThreadInfo {
  return {
    tenant,
    threadId: textIn(row, "thread_name"),
    logId: textIn(row, "log_id"),
    tail: numberIn(row, "tail"),
    floor: numberIn(row, "floor"),
    head: maybeTextIn(row, "head"),
    title: maybeTextIn(row, "title"),
    archived: numberIn(row, "archived") === 1,
    metadata: jsonIn(row, "metadata"),
    owner: maybeTextIn(row, "owner"),
    createdAtMs: numberIn(row, "created_ms"),
    updatedAtMs: numberIn(row, "updated_ms"),
  };
}

/** The run of a row that has `RUN_COLUMNS`. */
export function runOf({ tenant, threadId }: ThreadKey, row: Row): RunInfo {
  const end = row["ended"] === null ? undefined : jsonIn<RunEnd>(row, "ended");
  return {
    tenant,
    threadId,
    runId: textIn(row, "run_name"),
    agent: textIn(row, "agent"),
    parentRunId: maybeTextIn(row, "parent_name"),
    kind: kindIn(row),
    status: end?.status ?? "running",
    firstSeq: numberIn(row, "first_seq"),
    lastSeq: numberIn(row, "last_seq"),
    principal: maybeTextIn(row, "principal"),
    startedAtMs: numberIn(row, "started_ms"),
    endedAtMs: maybeNumberIn(row, "ended_ms"),
    end,
    settled: numberIn(row, "settled") === 1,
  };
}

function kindIn(row: Row): LineageKind | undefined {
  const kind = maybeTextIn(row, "kind");
  return kind === "continue" || kind === "branch" || kind === "spawn" ? kind : undefined;
}

/** The role in a row, as the column says it; undefined where it says none. */
export function memberRoleIn(row: Row): MemberRole | undefined {
  const role = maybeTextIn(row, "role");
  return role === "collaborator" || role === "observer" ? role : undefined;
}

/** A run as the tables name it. */
export interface RunRef {
  /** Row of the tenant. */
  readonly tenant: number;
  /** Row of the thread. */
  readonly thread: number;
  /** Row of the run. */
  readonly run: number;
}

/** The names of a run in a row that has `tenant_id`, `thread_id` and `run_id`. */
export const refIn = (row: Row): RunRef => ({
  tenant: numberIn(row, "tenant_id"),
  thread: numberIn(row, "thread_id"),
  run: numberIn(row, "run_id"),
});

/** Writes a lease's handle. */
export const formatRef = ({ tenant, thread, run }: RunRef): string => `${tenant}.${thread}.${run}`;

/** Reads a lease's handle; one that is not ours names nothing. */
export function readRef(ref: string): RunRef {
  const [tenant = Number.NaN, thread = Number.NaN, run = Number.NaN] = ref.split(".").map(Number);
  const known = Number.isSafeInteger(tenant) && Number.isSafeInteger(thread) && Number.isSafeInteger(run);
  return known ? { tenant, thread, run } : { tenant: -1, thread: -1, run: -1 };
}

/** A lease on a row that has `RUN_COLUMNS`. */
export function leaseOf({ tenant, threadId, runId }: RunKey, row: Row, leaseMs: number): Lease {
  const [fence, nextBatch] = [numberIn(row, "fence"), numberIn(row, "next_batch")];
  return { tenant, threadId, runId, ref: formatRef(refIn(row)), fence, nextBatch, leaseMs };
}

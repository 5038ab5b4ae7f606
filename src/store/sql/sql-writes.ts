/**
 * What changes in a SQL store outside of the hot path: claims, leases, threads. Each function is the body of one
 * transaction. Locks are always taken in one order, the thread's row before the rows of its runs, so nobody waits in a
 * circle; everything of a thread is serialised by its row, and nothing is serialised across threads.
 */
import type { AnnotateRequest, Annotated, Beat, ClaimRequest, ClaimResult, Lease, RunKey } from "../index.ts";
import type { TakeOverRequest, ThreadInfo, ThreadKey, ThreadPatch } from "../index.ts";
import { mintLogId } from "../cursor.ts";
import { unknownRun, unknownThread } from "../memory-thread.ts";
import { packAtOnce } from "./segment.ts";
import type { Segment } from "./segment.ts";
import { RUN_COLUMNS, THREAD_COLUMNS, leaseOf, readRef, refIn, runOf, threadOf } from "./sql-rows.ts";
import type { RunRef } from "./sql-rows.ts";
import { insertInto, maybeTextIn, numberIn, textIn } from "./sql.ts";
import type { Dialect, Row, Sql } from "./sql.ts";

/** Finds a run by its names: tables `t`, `r` and `p`. */
export const runBy = ({ schema }: Dialect): string =>
  `SELECT ${RUN_COLUMNS} FROM ${schema}.runs r
   LEFT JOIN ${schema}.runs p ON p.tenant = r.tenant AND p.thread = r.thread AND p.id = r.parent
   WHERE r.tenant = $1 AND r.thread = $2 AND r.name = $3`;

/** Finds and locks a thread. The row also has the time, as `now_ms`. */
export async function lockThread(
  sql: Sql,
  dialect: Dialect,
  { tenant, threadId }: ThreadKey,
): Promise<Row | undefined> {
  const { schema, forUpdate, now } = dialect;
  const [row] = await sql.all(
    `SELECT ${THREAD_COLUMNS}, ${now} AS now_ms FROM ${schema}.threads t
     WHERE t.tenant = (SELECT id FROM ${schema}.tenants WHERE name = $1) AND t.name = $2 ${forUpdate}`,
    [tenant, threadId],
  );
  return row;
}

/** Creates a thread, with everything in front of it. False where it is there, or somebody else was quicker. */
export async function makeThread(
  sql: Sql,
  { schema, now }: Dialect,
  { tenant, threadId }: ThreadKey,
  owner: string | undefined,
): Promise<boolean> {
  await sql.all(`INSERT INTO ${schema}.tenants (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`, [tenant]);
  const made = await sql.all(
    `INSERT INTO ${schema}.threads (tenant, name, log_id, owner, tail, floor, archived, metadata, created_ms, updated_ms)
     SELECT id, $2, $3, $4, 0, 0, 0, '{}', n.now_ms, n.now_ms FROM ${schema}.tenants, (SELECT ${now} AS now_ms) n
     WHERE name = $1
     ON CONFLICT (tenant, name) DO NOTHING RETURNING id`,
    [tenant, threadId, mintLogId(), owner ?? null],
  );
  return made.length > 0;
}

/** See `Store`. */
export async function claim(sql: Sql, dialect: Dialect, request: ClaimRequest): Promise<ClaimResult> {
  const { schema } = dialect;
  const { runId, agent, parentRunId, kind, ifHead, ifQueued = false, principal, leaseMs, events } = request;
  let thread = await lockThread(sql, dialect, request);
  if (thread === undefined && parentRunId !== undefined) throw unknownRun({ ...request, runId: parentRunId });
  if (thread === undefined && typeof ifHead === "string") return { type: "moved", head: undefined };
  const isNew = thread === undefined && (await makeThread(sql, dialect, request, request.owner));
  if (thread === undefined) {
    thread = await lockThread(sql, dialect, request);
    if (thread === undefined) throw unknownThread(request);
  }
  const [tenant, id] = [numberIn(thread, "tenant_id"), numberIn(thread, "thread_id")];
  const [same] = await sql.all(runBy(dialect), [tenant, id, runId]);
  if (same !== undefined) return { type: "exists", run: runOf(request, same) };
  const [parent] = parentRunId === undefined ? [] : await sql.all(runBy(dialect), [tenant, id, parentRunId]);
  if (parentRunId !== undefined && parent === undefined) throw unknownRun({ ...request, runId: parentRunId });
  const head = maybeTextIn(thread, "head");
  if (ifHead !== undefined && (head ?? null) !== ifHead) return { type: "moved", head };
  if (parent !== undefined && kind !== "spawn" && maybeTextIn(parent, "ended") === undefined) {
    return { type: "busy", run: runOf(request, parent) };
  }
  // Nothing waits in a thread that is made just now.
  const waited = isNew ? [] : await sql.all(leaveQueue(dialect), [tenant, id, runId]);
  if (ifQueued && waited.length === 0) throw unknownRun(request);

  const [firstSeq, lastSeq] = [numberIn(thread, "tail") + 1, numberIn(thread, "tail") + events.length];
  const nowMs = numberIn(thread, isNew ? "created_ms" : "now_ms");
  const lease = { fence: 1, next_batch: 1, lease_until_ms: nowMs + leaseMs, stop: 0 };
  const place = { parent: parent === undefined ? null : numberIn(parent, "run_id"), kind: kind ?? null };
  const about = { name: runId, agent, principal: principal ?? null, started_ms: nowMs, settled: 0, loose: 0 };
  const span = { first_seq: firstSeq, last_seq: lastSeq };
  const row = { tenant, thread: id, ...about, ...place, ...span, ...lease };
  const [made] = await insertInto(sql, dialect, "runs", row, "RETURNING id");
  const run = made === undefined ? 0 : numberIn(made, "id");
  await insertSegments(sql, dialect, { tenant, thread: id, run }, firstSeq, packAtOnce(events));
  const newHead = kind === "spawn" ? head : runId;
  await sql.all(`UPDATE ${schema}.threads SET tail = $3, updated_ms = $4, head = $5 WHERE tenant = $1 AND id = $2`, [
    tenant,
    id,
    lastSeq,
    nowMs,
    newHead ?? null,
  ]);
  const names = { tenant: request.tenant, threadId: request.threadId, runId };
  const claimed = { tenant_id: tenant, thread_id: id, run_id: run, fence: 1, next_batch: 1 };
  const info = { ...threadOf(request.tenant, thread), tail: lastSeq, head: newHead, updatedAtMs: nowMs };
  return { type: "claimed", lease: leaseOf(names, claimed, leaseMs), thread: info };
}

const leaveQueue = ({ schema }: Dialect): string =>
  `DELETE FROM ${schema}.queue WHERE tenant = $1 AND thread = $2 AND name = $3 RETURNING id`;

/** See `Store`. The rows stand alone: the run's own are merged around them, and its end stays the end of a row. */
export async function annotate(sql: Sql, dialect: Dialect, request: AnnotateRequest): Promise<Annotated> {
  const thread = await lockThread(sql, dialect, request);
  if (thread === undefined) throw unknownThread(request);
  const [tenant, id, tail] = [numberIn(thread, "tenant_id"), numberIn(thread, "thread_id"), numberIn(thread, "tail")];
  const [run] = await sql.all(runBy(dialect), [tenant, id, request.runId]);
  if (run === undefined) throw unknownRun(request);
  await insertSegments(sql, dialect, refIn(run), tail + 1, packAtOnce(request.events));
  const lastSeq = tail + request.events.length;
  await sql.all(`UPDATE ${dialect.schema}.threads SET tail = $3 WHERE tenant = $1 AND id = $2`, [tenant, id, lastSeq]);
  return { firstSeq: tail + 1, lastSeq };
}

/** Inserts rows of events. */
export async function insertSegments(
  sql: Sql,
  dialect: Dialect,
  { tenant, thread, run }: RunRef,
  firstSeq: number,
  segments: readonly Segment[],
): Promise<void> {
  let seq = firstSeq;
  for (const { count, loose, codec, data } of segments) {
    const span = { first_seq: seq, last_seq: seq + count - 1 };
    await insertInto(sql, dialect, "segments", { tenant, thread, ...span, run, loose: loose ? 1 : 0, codec, data });
    seq += count;
  }
}

/** See `Store`. */
export async function heartbeat(
  sql: Sql,
  { schema, now }: Dialect,
  leases: readonly Lease[],
): Promise<readonly Beat[]> {
  const beats: Beat[] = [];
  for (const { ref, fence, leaseMs } of leases) {
    const { tenant, thread, run } = readRef(ref);
    const [row] = await sql.all(
      `UPDATE ${schema}.runs SET lease_until_ms = ${now} + $5
       WHERE tenant = $1 AND thread = $2 AND id = $3 AND fence = $4 AND ended_ms IS NULL RETURNING stop`,
      [tenant, thread, run, fence, leaseMs],
    );
    beats.push({ held: row !== undefined, stop: row !== undefined && numberIn(row, "stop") === 1 });
  }
  return beats;
}

/** See `Store`. */
export async function takeOver(sql: Sql, dialect: Dialect, request: TakeOverRequest): Promise<readonly Lease[]> {
  const { schema, now, skipLocked, forUpdate } = dialect;
  const { run: named, leaseMs, limit = 64 } = request;
  const found =
    named === undefined
      ? await sql.all(
          `SELECT r.tenant AS tenant_id, r.thread AS thread_id, r.id AS run_id FROM ${schema}.runs r
           WHERE r.ended_ms IS NULL AND r.lease_until_ms <= ${now} ORDER BY r.lease_until_ms LIMIT $1 ${skipLocked}`,
          [limit],
        )
      : await sql.all(
          `SELECT r.tenant AS tenant_id, r.thread AS thread_id, r.id AS run_id FROM ${schema}.runs r
           JOIN ${schema}.threads t ON t.tenant = r.tenant AND t.id = r.thread JOIN ${schema}.tenants n ON n.id = r.tenant
           WHERE n.name = $1 AND t.name = $2 AND r.name = $3 AND r.ended_ms IS NULL ${forUpdate === "" ? "" : `${forUpdate} OF r`}`,
          [named.tenant, named.threadId, named.runId],
        );
  const leases: Lease[] = [];
  for (const row of found) {
    const { tenant, thread, run } = refIn(row);
    await sql.all(
      `UPDATE ${schema}.runs SET fence = fence + 1, lease_until_ms = ${now} + $4 WHERE tenant = $1 AND thread = $2 AND id = $3`,
      [tenant, thread, run, leaseMs],
    );
    const [taken] = await sql.all(
      `SELECT ${RUN_COLUMNS}, n.name AS tenant_name, t.name AS thread_name FROM ${schema}.runs r
       JOIN ${schema}.threads t ON t.tenant = r.tenant AND t.id = r.thread JOIN ${schema}.tenants n ON n.id = r.tenant
       LEFT JOIN ${schema}.runs p ON p.tenant = r.tenant AND p.thread = r.thread AND p.id = r.parent
       WHERE r.tenant = $1 AND r.thread = $2 AND r.id = $3`,
      [tenant, thread, run],
    );
    if (taken === undefined) continue;
    const key = {
      tenant: textIn(taken, "tenant_name"),
      threadId: textIn(taken, "thread_name"),
      runId: textIn(taken, "run_name"),
    };
    leases.push(leaseOf(key, taken, leaseMs));
  }
  return leases;
}

/** See `Store`. */
export async function requestStop(sql: Sql, { schema }: Dialect, key: RunKey): Promise<boolean> {
  const rows = await sql.all(
    `UPDATE ${schema}.runs SET stop = 1 WHERE ended_ms IS NULL AND name = $3
     AND tenant = (SELECT id FROM ${schema}.tenants WHERE name = $1)
     AND thread = (SELECT t.id FROM ${schema}.threads t JOIN ${schema}.tenants n ON t.tenant = n.id
                   WHERE n.name = $1 AND t.name = $2) RETURNING id`,
    [key.tenant, key.threadId, key.runId],
  );
  return rows.length > 0;
}

/** See `Store`. */
export async function updateThread(
  sql: Sql,
  dialect: Dialect,
  key: ThreadKey,
  patch: ThreadPatch,
): Promise<ThreadInfo> {
  const row = await lockThread(sql, dialect, key);
  if (row === undefined) throw unknownThread(key);
  const known = threadOf(key.tenant, row);
  const [tenant, id] = [numberIn(row, "tenant_id"), numberIn(row, "thread_id")];
  if (patch.head !== undefined) {
    const [run] = await sql.all(runBy(dialect), [tenant, id, patch.head]);
    if (run === undefined) throw unknownRun({ ...key, runId: patch.head });
  }
  const { archived = known.archived, metadata = known.metadata, head = known.head } = patch;
  const title = patch.title === undefined ? known.title : (patch.title ?? undefined);
  const updatedAtMs = numberIn(row, "now_ms");
  await sql.all(
    `UPDATE ${dialect.schema}.threads SET title = $3, archived = $4, metadata = $5, head = $6, updated_ms = $7
     WHERE tenant = $1 AND id = $2`,
    [tenant, id, title ?? null, archived ? 1 : 0, JSON.stringify(metadata), head ?? null, updatedAtMs],
  );
  return { ...known, title, archived, metadata, head, updatedAtMs };
}

/** Tables that hang on a thread. */
const OF_THREAD = ["segments", "snapshots", "blobs", "compacted", "queue", "tool_calls", "members", "runs"] as const;

/** See `Store`. */
export async function deleteThread(sql: Sql, dialect: Dialect, key: ThreadKey): Promise<boolean> {
  const row = await lockThread(sql, dialect, key);
  if (row === undefined) return false;
  const ids = [numberIn(row, "tenant_id"), numberIn(row, "thread_id")];
  for (const table of OF_THREAD) {
    await sql.all(`DELETE FROM ${dialect.schema}.${table} WHERE tenant = $1 AND thread = $2`, ids);
  }
  await sql.all(`DELETE FROM ${dialect.schema}.threads WHERE tenant = $1 AND id = $2`, ids);
  return true;
}

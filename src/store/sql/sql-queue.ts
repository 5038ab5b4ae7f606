/**
 * Runs that wait, in a SQL store. Whoever queues a run holds the thread's row, as whoever claims one does: so what waits
 * is in order, never too many, and either waits or is in the log.
 */
import type { EnqueueRequest, EnqueueResult, RunKey } from "../index.ts";
import { unknownThread } from "../memory-thread.ts";
import { pack } from "./segment.ts";
import { runOf } from "./sql-rows.ts";
import { lockThread, runBy } from "./sql-writes.ts";
import { insertInto, numberIn, textIn } from "./sql.ts";
import type { Dialect, Sql } from "./sql.ts";

/** See `Store`. */
export async function enqueue(sql: Sql, dialect: Dialect, request: EnqueueRequest): Promise<EnqueueResult> {
  const { runId, agent, body, principal, parentRunId, limit } = request;
  const row = await lockThread(sql, dialect, request);
  if (row === undefined) throw unknownThread(request);
  const [tenant, thread] = [numberIn(row, "tenant_id"), numberIn(row, "thread_id")];
  const [run] = await sql.all(runBy(dialect), [tenant, thread, runId]);
  if (run !== undefined) return { type: "exists", run: runOf(request, run) };
  const waiting = await sql.all(
    `SELECT name FROM ${dialect.schema}.queue WHERE tenant = $1 AND thread = $2 ORDER BY id`,
    [tenant, thread],
  );
  const at = waiting.findIndex((each) => textIn(each, "name") === runId);
  if (at >= 0) return { type: "queued", position: at + 1 };
  if (waiting.length >= limit) return { type: "full", limit };
  const about = { name: runId, agent, principal: principal ?? null, parent: parentRunId ?? null };
  const { codec, data } = pack(body);
  await insertInto(sql, dialect, "queue", {
    tenant,
    thread,
    ...about,
    queued_ms: numberIn(row, "now_ms"),
    codec,
    data,
  });
  return { type: "queued", position: waiting.length + 1 };
}

/** See `Store`. The row itself is what a claim and this one meet at. */
export async function unqueue(sql: Sql, { schema }: Dialect, key: RunKey): Promise<boolean> {
  const rows = await sql.all(
    `DELETE FROM ${schema}.queue WHERE name = $3
     AND tenant = (SELECT id FROM ${schema}.tenants WHERE name = $1)
     AND thread = (SELECT t.id FROM ${schema}.threads t JOIN ${schema}.tenants n ON t.tenant = n.id
                   WHERE n.name = $1 AND t.name = $2) RETURNING id`,
    [key.tenant, key.threadId, key.runId],
  );
  return rows.length > 0;
}

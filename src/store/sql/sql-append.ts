/** Appends one batch, statement by statement: the hot path of an engine that answers within the call. */
import type { Appended } from "../index.ts";
import type { PackedBatch } from "./packed-batches.ts";
import { packRow } from "./segment.ts";
import type { RunRef } from "./sql-rows.ts";
import { insertSegments } from "./sql-writes.ts";
import { maybeNumberIn, numberIn } from "./sql.ts";
import type { Dialect, Sql } from "./sql.ts";

/** What became of a batch, and how many loose rows its run has now. */
export interface AppendedRow {
  /** What the caller is told. */
  readonly appended: Appended;
  /** The run's rows. */
  readonly ref: RunRef;
  /** How many of its rows are loose. */
  readonly loose: number;
}

/** Appends one batch within a transaction. */
export async function appendBatch(
  sql: Sql,
  dialect: Dialect,
  batch: PackedBatch,
  bytes: Uint8Array,
): Promise<AppendedRow> {
  const { schema, now } = dialect;
  const { ref, fence, leaseMs, number, count, end } = batch;
  const ids = [ref.tenant, ref.thread, ref.run];
  const [run] = await sql.all(
    `SELECT fence, next_batch, last_seq, ended_ms, stop, loose, ${now} AS now_ms FROM ${schema}.runs
     WHERE tenant = $1 AND thread = $2 AND id = $3`,
    ids,
  );
  const say = (appended: Appended, loose = 0): AppendedRow => ({ appended, ref, loose });
  if (run === undefined || numberIn(run, "fence") !== fence) return say({ type: "fenced" });
  const expected = numberIn(run, "next_batch");
  const stop = numberIn(run, "stop") === 1;
  if (number < expected) return say({ type: "repeated", lastSeq: numberIn(run, "last_seq"), stop });
  if (maybeNumberIn(run, "ended_ms") !== undefined) return say({ type: "fenced" });
  if (number > expected) return say({ type: "gap", expected });

  const nowMs = numberIn(run, "now_ms");
  const [thread] = await sql.all(
    `UPDATE ${schema}.threads SET tail = tail + $3, updated_ms = CASE WHEN $4 = 1 THEN $5 ELSE updated_ms END
     WHERE tenant = $1 AND id = $2 RETURNING tail`,
    [ref.tenant, ref.thread, count, end === undefined ? 0 : 1, nowMs],
  );
  if (thread === undefined) return say({ type: "fenced" });
  const lastSeq = numberIn(thread, "tail");
  const firstSeq = lastSeq - count + 1;
  const segments = batch.segments.map((each) => ({
    ...packRow(bytes.subarray(each.start, each.end), each.loose),
    count: each.count,
    loose: each.loose,
  }));
  await insertSegments(sql, dialect, ref, firstSeq, segments);
  const loose = numberIn(run, "loose") + segments.filter((segment) => segment.loose).length;
  await sql.all(
    `UPDATE ${schema}.runs SET next_batch = $4, last_seq = $5, lease_until_ms = $6, loose = $7, ended_ms = $8, ended = $9
     WHERE tenant = $1 AND thread = $2 AND id = $3`,
    [
      ...ids,
      expected + 1,
      lastSeq,
      nowMs + leaseMs,
      loose,
      end === undefined ? null : nowMs,
      end === undefined ? null : JSON.stringify(end),
    ],
  );
  return say({ type: "committed", firstSeq, lastSeq, stop }, loose);
}

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

/**
 * Appends one batch within a transaction. The thread's tail is moved first, since the run is to know where it ends; a
 * batch that the run then refuses moves it back.
 */
export async function appendBatch(
  sql: Sql,
  dialect: Dialect,
  batch: PackedBatch,
  bytes: Uint8Array,
): Promise<AppendedRow> {
  const { schema, now } = dialect;
  const { ref, fence, leaseMs, number, count, end } = batch;
  const [thread] = await sql.all(
    `UPDATE ${schema}.threads SET tail = tail + $1 WHERE tenant = $2 AND id = $3 RETURNING tail`,
    [count, ref.tenant, ref.thread],
  );
  if (thread === undefined) return { appended: { type: "fenced" }, ref, loose: 0 };
  const lastSeq = numberIn(thread, "tail");
  const newlyLoose = batch.segments.filter(({ loose }) => loose).length;
  const [run] = await sql.all(
    `UPDATE ${schema}.runs SET next_batch = next_batch + 1, last_seq = $1, lease_until_ms = ${now} + $2, loose = loose + $3,
       ended = $4, ended_ms = CASE WHEN $5 = 1 THEN ${now} ELSE NULL END
     WHERE tenant = $6 AND thread = $7 AND id = $8 AND fence = $9 AND next_batch = $10 AND ended_ms IS NULL
     RETURNING stop, loose`,
    [
      lastSeq,
      leaseMs,
      newlyLoose,
      end === undefined ? null : JSON.stringify(end),
      end === undefined ? 0 : 1,
      ref.tenant,
      ref.thread,
      ref.run,
      fence,
      number,
    ],
  );
  if (run === undefined) {
    await sql.all(`UPDATE ${schema}.threads SET tail = tail - $1 WHERE tenant = $2 AND id = $3`, [
      count,
      ref.tenant,
      ref.thread,
    ]);
    return { appended: await refusal(sql, dialect, ref, fence, number), ref, loose: 0 };
  }
  if (end !== undefined) {
    const changed = `UPDATE ${schema}.threads SET updated_ms = ${now} WHERE tenant = $1 AND id = $2`;
    await sql.all(changed, [ref.tenant, ref.thread]);
  }
  const firstSeq = lastSeq - count + 1;
  const segments = batch.segments.map((each) => ({
    ...packRow(bytes.subarray(each.start, each.end), each.loose),
    count: each.count,
    loose: each.loose,
  }));
  await insertSegments(sql, dialect, ref, firstSeq, segments);
  const stop = numberIn(run, "stop") === 1;
  return { appended: { type: "committed", firstSeq, lastSeq, stop }, ref, loose: numberIn(run, "loose") };
}

/** Why a run does not take a batch; `committed` never. */
export async function refusal(
  sql: Sql,
  { schema }: Dialect,
  { tenant, thread, run: id }: RunRef,
  fence: number,
  number: number,
): Promise<Appended> {
  const [run] = await sql.all(
    `SELECT fence, next_batch, last_seq, ended_ms, stop FROM ${schema}.runs WHERE tenant = $1 AND thread = $2 AND id = $3`,
    [tenant, thread, id],
  );
  if (run === undefined || numberIn(run, "fence") !== fence) return { type: "fenced" };
  const expected = numberIn(run, "next_batch");
  if (number < expected) {
    return { type: "repeated", lastSeq: numberIn(run, "last_seq"), stop: numberIn(run, "stop") === 1 };
  }
  if (maybeNumberIn(run, "ended_ms") !== undefined) return { type: "fenced" };
  return { type: "gap", expected };
}

/**
 * Appends batches of any runs by one statement, which is one round trip and one commit.
 *
 * Threads are locked first, in order, so two processes that append to the same threads wait for each other and never in a
 * circle. What is not accepted is looked at afterwards, to say why.
 */
import type { Appended, Batch } from "../index.ts";
import { packBatches } from "../sql/packed-batches.ts";
import { CODECS, packRow } from "../sql/segment.ts";
import { refusal } from "../sql/sql-append.ts";
import type { AppendedRow } from "../sql/sql-append.ts";
import { readRef } from "../sql/sql-rows.ts";
import { numberIn } from "../sql/sql.ts";
import type { Dialect, Row } from "../sql/sql.ts";
import type { PostgresSql } from "./postgres-sql.ts";

const STATEMENT = ({ schema, now }: Dialect): string => `
  WITH b AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
      $8::bigint[], $9::text[]) WITH ORDINALITY
      AS b(tenant, thread, run, fence, batch, n, lease_ms, loose, ended, ord)),
  t AS MATERIALIZED (
    SELECT t.tenant, t.id, t.tail FROM ${schema}.threads t
    WHERE t.id IN (SELECT b.thread FROM b) ORDER BY t.id FOR UPDATE OF t),
  ok AS MATERIALIZED (
    SELECT b.*, r.stop, r.loose + b.loose AS loose_now, t.tail FROM b
    JOIN t ON t.tenant = b.tenant AND t.id = b.thread
    JOIN ${schema}.runs r ON r.id = b.run AND r.tenant = b.tenant AND r.thread = b.thread
      AND r.fence = b.fence AND r.next_batch = b.batch AND r.ended_ms IS NULL
    FOR UPDATE OF r),
  placed AS MATERIALIZED (
    SELECT ok.*, (tail + sum(n) OVER (PARTITION BY tenant, thread ORDER BY ord))::bigint AS last_seq FROM ok),
  u AS (
    UPDATE ${schema}.runs r SET next_batch = p.batch + 1, last_seq = p.last_seq, lease_until_ms = ${now} + p.lease_ms,
      loose = p.loose_now, ended = p.ended, ended_ms = CASE WHEN p.ended IS NULL THEN NULL ELSE ${now} END
    FROM placed p WHERE r.id = p.run),
  v AS (
    UPDATE ${schema}.threads t SET tail = m.tail, updated_ms = CASE WHEN m.ended THEN ${now} ELSE t.updated_ms END
    FROM (SELECT tenant, thread, max(last_seq) AS tail, bool_or(ended IS NOT NULL) AS ended FROM placed GROUP BY 1, 2) m
    WHERE t.id = m.thread),
  s AS (
    INSERT INTO ${schema}.segments (tenant, thread, first_seq, last_seq, run, loose, codec, data)
    SELECT p.tenant, p.thread, p.last_seq - p.n + g.first, p.last_seq - p.n + g.last, p.run, g.loose, g.codec,
      substring($10::bytea FROM g.start FOR g.length)
    FROM unnest($11::bigint[], $12::bigint[], $13::bigint[], $14::smallint[], $15::smallint[], $16::int[], $17::int[])
      AS g(ord, first, last, loose, codec, start, length)
    JOIN placed p ON p.ord = g.ord)
  SELECT ord, last_seq, stop, loose_now FROM placed`;

/** Whether no run has two of the batches: then one statement can append them all. */
export const areOfDifferentRuns = (batches: readonly Batch[]): boolean =>
  new Set(batches.map(({ lease }) => lease.ref)).size === batches.length;

/** Appends batches of different runs. Answers in their order. */
export async function appendBatches(
  sql: PostgresSql,
  dialect: Dialect,
  batches: readonly Batch[],
): Promise<readonly AppendedRow[]> {
  const rows = await sql.query(STATEMENT(dialect), columnsOf(batches));
  const placed = new Map(rows.map((row) => [numberIn(row, "ord"), row]));
  const answers: AppendedRow[] = [];
  for (const [index, batch] of batches.entries()) {
    const row = placed.get(index + 1);
    answers.push(row === undefined ? await refused(sql, dialect, batch) : accepted(batch, row));
  }
  return answers;
}

function columnsOf(batches: readonly Batch[]): Parameters<PostgresSql["query"]>[1] {
  const { batches: runs, bytes } = packBatches(batches);
  const datas: Uint8Array[] = [];
  let length = 0;
  const segments = runs.flatMap((batch, index) => {
    let last = 0;
    return batch.segments.map(({ count, loose, start, end }) => {
      const { codec, data } = packRow(bytes.subarray(start, end), loose);
      const first = last + 1;
      const from = length + 1;
      last += count;
      length += data.length;
      datas.push(data);
      return { ord: index + 1, first, last, loose: loose ? 1 : 0, codec, from, length: data.length };
    });
  });
  return [
    list(runs, ({ ref }) => ref.tenant),
    list(runs, ({ ref }) => ref.thread),
    list(runs, ({ ref }) => ref.run),
    list(runs, ({ fence }) => fence),
    list(runs, ({ number }) => number),
    list(runs, ({ count }) => count),
    list(runs, ({ leaseMs }) => leaseMs),
    list(runs, (batch) => batch.segments.filter(({ loose }) => loose).length),
    runs.map(({ end }) => (end === undefined ? null : JSON.stringify(end))),
    // Rows that stayed as they were still lie one behind the other.
    segments.every(({ codec }) => codec === CODECS.plain) ? bytes : Buffer.concat(datas, length),
    list(segments, ({ ord }) => ord),
    list(segments, ({ first }) => first),
    list(segments, ({ last }) => last),
    list(segments, ({ loose }) => loose),
    list(segments, ({ codec }) => codec),
    list(segments, ({ from }) => from),
    list(segments, (each) => each.length),
  ];
}

/** Numbers as PostgreSQL writes an array: `pg` would ask of every one what it is. */
const list = <T>(items: readonly T[], number: (item: T) => number): string => `{${items.map(number).join(",")}}`;

function accepted({ lease, events }: Batch, row: Row): AppendedRow {
  const lastSeq = numberIn(row, "last_seq");
  const stop = numberIn(row, "stop") === 1;
  const appended: Appended = { type: "committed", firstSeq: lastSeq - events.length + 1, lastSeq, stop };
  return { appended, ref: readRef(lease.ref), loose: numberIn(row, "loose_now") };
}

/** Why a batch was not accepted. One that is the next by now came while the answer to the one before was under way. */
async function refused(sql: PostgresSql, dialect: Dialect, batch: Batch): Promise<AppendedRow> {
  const { lease, number } = batch;
  const ref = readRef(lease.ref);
  const appended = await refusal(sql, dialect, ref, lease.fence, number);
  if (appended.type !== "gap" || appended.expected !== number) return { appended, ref, loose: 0 };
  const [again] = await appendBatches(sql, dialect, [batch]);
  return again ?? { appended: { type: "fenced" }, ref, loose: 0 };
}

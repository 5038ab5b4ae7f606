/**
 * Appends batches of any runs to a SQLite file, one after the other within one transaction.
 *
 * Each is a few small statements that answer within the call: whether its run takes it, then the run, the tail of its
 * thread and its rows, as they came. Measured, that is several times quicker than statements for all of them at once,
 * which read their rows from JSON, and than RETURNING. What does not change is not named: an index of it would be written.
 */
import type { Appended } from "../index.ts";
import type { PackedBatch, PackedBatches } from "../sql/packed-batches.ts";
import { packRow } from "../sql/segment.ts";
import { refusal } from "../sql/sql-append.ts";
import type { AppendedRow } from "../sql/sql-append.ts";
import { numberIn } from "../sql/sql.ts";
import type { Row } from "../sql/sql.ts";
import { SQLITE } from "./sqlite-sql.ts";
import type { SqliteSql } from "./sqlite-sql.ts";

const { schema, now } = SQLITE;

/** Whether a run takes a batch: its next one, under its fence, before its end. */
const LOOK = `
  SELECT t.tail, r.stop, r.loose, ${now} AS now_ms FROM ${schema}.runs r
  JOIN ${schema}.threads t ON t.id = r.thread AND t.tenant = r.tenant
  WHERE r.id = ? AND r.tenant = ? AND r.thread = ? AND r.fence = ? AND r.next_batch = ? AND r.ended_ms IS NULL`;

const GO_ON = `UPDATE ${schema}.runs SET next_batch = ?, last_seq = ?, loose = ?, lease_until_ms = ? WHERE id = ?`;
const END = `UPDATE ${schema}.runs SET ended = ?, ended_ms = ? WHERE id = ?`;

const MOVE_TAIL = `UPDATE ${schema}.threads SET tail = ? WHERE id = ?`;
const TOUCH = `UPDATE ${schema}.threads SET updated_ms = ? WHERE id = ?`;

const INSERT = `INSERT INTO ${schema}.segments (tenant, thread, first_seq, last_seq, run, loose, codec, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

/** Appends batches. Answers in their order. */
export async function appendPacked(sql: SqliteSql, { batches, bytes }: PackedBatches): Promise<readonly AppendedRow[]> {
  const rows: AppendedRow[] = [];
  for (const batch of batches) {
    const { ref, fence, number } = batch;
    const found = sql.first(LOOK, [ref.run, ref.tenant, ref.thread, fence, number]);
    if (found !== undefined) rows.push(append(sql, batch, bytes, found));
    else rows.push({ appended: await refusal(sql, SQLITE, ref, fence, number), ref, loose: 0 });
  }
  return rows;
}

function append(sql: SqliteSql, batch: PackedBatch, bytes: Uint8Array, found: Row): AppendedRow {
  const { ref, end } = batch;
  const [tail, nowMs] = [numberIn(found, "tail"), numberIn(found, "now_ms")];
  const lastSeq = tail + batch.count;
  let loose = numberIn(found, "loose");
  let seq = tail;
  for (const segment of batch.segments) {
    const { codec, data } = packRow(bytes.subarray(segment.start, segment.end), segment.loose);
    const [first, isLoose] = [seq + 1, segment.loose ? 1 : 0];
    seq += segment.count;
    loose += isLoose;
    sql.first(INSERT, [ref.tenant, ref.thread, first, seq, ref.run, isLoose, codec, data]);
  }
  sql.first(GO_ON, [batch.number + 1, lastSeq, loose, nowMs + batch.leaseMs, ref.run]);
  sql.first(MOVE_TAIL, [lastSeq, ref.thread]);
  if (end !== undefined) {
    sql.first(END, [JSON.stringify(end), nowMs, ref.run]);
    sql.first(TOUCH, [nowMs, ref.thread]);
  }
  const appended: Appended = { type: "committed", firstSeq: tail + 1, lastSeq, stop: numberIn(found, "stop") === 1 };
  return { appended, ref, loose };
}

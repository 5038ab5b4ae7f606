/**
 * How much a SQLite file holds. Rows are read in short stretches of each table, spread evenly over its rowids, and whoever else
 * has something to do comes in between: the connection is that of the main thread.
 *
 * A table of at most 65,536 rowids is read whole, so its numbers are exact; of a longer one the beginning of each stretch stands
 * for the stretch. The length of a blob is in front of it: the pages that it goes on in are not read.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { StoreUsage } from "../index.ts";
import { maybeNumberIn, numberIn } from "../sql/sql.ts";
import type { Row } from "../sql/sql.ts";
import type { SqliteSql } from "./sqlite-sql.ts";

/** A table is read in so many stretches. */
const STRETCHES = 256;

/** So many rows of each. */
const ROWS_PER_STRETCH = 256;

/** What is needed of a connection. */
type Connection = Pick<SqliteSql, "all" | "number">;

/** What a table comes to. */
interface Sum {
  readonly rows: number;
  readonly total: number;
}

/** See `Store`. */
export async function sqliteUsage(sql: Connection): Promise<StoreUsage> {
  const threads = await sumOf(sql, "threads", "tail - floor");
  const runs = await sumOf(sql, "runs", "0");
  const queue = await sumOf(sql, "queue", "0");
  const segments = await sumOf(sql, "segments", "length(data)");
  const compacted = await sumOf(sql, "compacted", "length(data)");
  const shells = await sumOf(sql, "snapshots", "length(shell)");
  const blobs = await sumOf(sql, "blobs", "length(data)");
  return {
    threads: threads.rows,
    runs: runs.rows,
    queued: queue.rows,
    events: threads.total,
    rawBytes: segments.total,
    compactedBytes: compacted.total,
    snapshotBytes: shells.total + blobs.total,
    totalBytes: sql.number("PRAGMA page_count") * sql.number("PRAGMA page_size"),
  };
}

/** How many rows a table has, and the sum of an expression over them. */
async function sumOf(sql: Connection, table: string, value: string): Promise<Sum> {
  const [ends] = await sql.all(
    `SELECT (SELECT min(rowid) FROM main.${table}) AS first, (SELECT max(rowid) FROM main.${table}) AS last`,
  );
  const [first, last] = ends === undefined ? [] : [maybeNumberIn(ends, "first"), maybeNumberIn(ends, "last")];
  if (first === undefined || last === undefined) return { rows: 0, total: 0 };
  const span = Math.max(ROWS_PER_STRETCH, Math.ceil((last - first + 1) / STRETCHES));
  let [rows, total] = [0, 0];
  for (let from = first; from <= last; from += span) {
    const to = Math.min(last, from + span - 1);
    const [row] = await sql.all(
      `SELECT count(*) AS n, coalesce(sum(value), 0) AS total, max(at) AS at FROM
         (SELECT rowid AS at, ${value} AS value FROM main.${table} WHERE rowid BETWEEN $1 AND $2
          ORDER BY rowid LIMIT ${ROWS_PER_STRETCH})`,
      [from, to],
    );
    const share = row === undefined ? 1 : shareRead(row, from, to);
    rows += row === undefined ? 0 : numberIn(row, "n") / share;
    total += row === undefined ? 0 : numberIn(row, "total") / share;
    await nextTurn();
  }
  return { rows: Math.round(rows), total: Math.round(total) };
}

/** How much of a stretch was read: all of it, unless there were more rows than are read. */
const shareRead = (row: Row, from: number, to: number): number =>
  numberIn(row, "n") < ROWS_PER_STRETCH ? 1 : (numberIn(row, "at") - from + 1) / (to - from + 1);

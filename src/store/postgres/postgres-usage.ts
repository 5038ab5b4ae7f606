/**
 * How much a PostgreSQL database holds, in two statements. Of each table at most 64 MiB of blocks are read: all of a small one,
 * so that its numbers are exact, and an even sample of a large one, which stands for the rest. No statistics are needed, which
 * may be old or not there.
 *
 * The size of a value is told by where it stands: what is kept out of line is not fetched. `totalBytes` is what the tables take
 * on disk with their indexes, dead rows among them.
 */
import type { StoreUsage } from "../index.ts";
import { numberIn, textIn } from "../sql/sql.ts";
import type { Dialect, Row, Sql } from "../sql/sql.ts";

/** So much of the rows of a table is read at most. */
const MAX_BYTES_READ = 64 * 1024 * 1024;

/** What is summed up over the rows of each table. */
const SUMS = {
  threads: "tail - floor",
  runs: "0",
  queue: "0",
  segments: "pg_column_size(data)",
  compacted: "pg_column_size(data)",
  snapshots: "pg_column_size(shell)",
  blobs: "pg_column_size(data)",
} as const;

type Table = keyof typeof SUMS;

/** See `Store`. */
export async function postgresUsage(sql: Sql, { schema }: Dialect, maxBytesRead = MAX_BYTES_READ): Promise<StoreUsage> {
  const sizes = await sql.all(
    `SELECT c.relname AS name, pg_relation_size(c.oid) AS rows_bytes, pg_total_relation_size(c.oid) AS total_bytes
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`,
    [schema],
  );
  const bytesOf = new Map(sizes.map((row) => [textIn(row, "name"), numberIn(row, "rows_bytes")]));
  const share = (table: string): number => Math.min(1, maxBytesRead / Math.max(1, bytesOf.get(table) ?? 0));
  const parts = Object.entries(SUMS).map(
    ([table, value], index) => `SELECT '${table}' AS name, count(*) AS n, coalesce(sum(${value}), 0)::bigint AS total
       FROM ${schema}.${table} TABLESAMPLE SYSTEM ($${index + 1}::float4 * 100) REPEATABLE (0)`,
  );
  const rows = await sql.all(parts.join(" UNION ALL "), Object.keys(SUMS).map(share));
  const scaled = new Map(rows.map((row) => [textIn(row, "name"), scaledBy(row, share(textIn(row, "name")))]));
  const of = (table: Table): Scaled => scaled.get(table) ?? { rows: 0, total: 0 };
  return {
    threads: of("threads").rows,
    runs: of("runs").rows,
    queued: of("queue").rows,
    events: of("threads").total,
    rawBytes: of("segments").total,
    compactedBytes: of("compacted").total,
    snapshotBytes: of("snapshots").total + of("blobs").total,
    totalBytes: sizes.reduce((total, row) => total + numberIn(row, "total_bytes"), 0),
  };
}

interface Scaled {
  readonly rows: number;
  readonly total: number;
}

const scaledBy = (row: Row, share: number): Scaled => ({
  rows: Math.round(numberIn(row, "n") / share),
  total: Math.round(numberIn(row, "total") / share),
});

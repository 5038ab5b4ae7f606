/**
 * Appends batches of any runs to a SQLite file, within one transaction, by four statements however many there are.
 *
 * The statements take their rows as JSON and the texts as one blob, of which each row takes its part: so the price of a
 * batch is that of its bytes, and not of calls. Two batches of one run cannot go together; then they go one by one.
 */
import type { Appended } from "../index.ts";
import type { PackedBatch, PackedBatches } from "../sql/packed-batches.ts";
import { packRow } from "../sql/segment.ts";
import { refusal } from "../sql/sql-append.ts";
import type { AppendedRow } from "../sql/sql-append.ts";
import { numberIn } from "../sql/sql.ts";
import type { Dialect, Sql } from "../sql/sql.ts";

/** A batch that its run takes, and where it goes. */
interface Placed {
  readonly batch: PackedBatch;
  readonly lastSeq: number;
  readonly stop: boolean;
  readonly loose: number;
}

/** Appends batches. Answers in their order. */
export async function appendPacked(sql: Sql, dialect: Dialect, packed: PackedBatches): Promise<readonly AppendedRow[]> {
  const { batches, bytes } = packed;
  const runs = new Set(batches.map(({ ref }) => ref.run));
  if (runs.size === batches.length) return appendTogether(sql, dialect, packed);
  const rows: AppendedRow[] = [];
  for (const batch of batches) rows.push(...(await appendTogether(sql, dialect, { batches: [batch], bytes })));
  return rows;
}

async function appendTogether(sql: Sql, dialect: Dialect, packed: PackedBatches): Promise<readonly AppendedRow[]> {
  const { batches } = packed;
  const placed = await place(sql, dialect, batches);
  if (placed.size > 0) {
    const all = [...placed.values()];
    await updateRuns(sql, dialect, all);
    await updateThreads(sql, dialect, all);
    await insertRows(sql, dialect, all, packed.bytes);
  }
  const rows: AppendedRow[] = [];
  for (const [index, batch] of batches.entries()) {
    const { ref, fence, number, count } = batch;
    const there = placed.get(index);
    if (there === undefined) {
      rows.push({ appended: await refusal(sql, dialect, ref, fence, number), ref, loose: 0 });
      continue;
    }
    const { lastSeq, stop, loose } = there;
    const appended: Appended = { type: "committed", firstSeq: lastSeq - count + 1, lastSeq, stop };
    rows.push({ appended, ref, loose });
  }
  return rows;
}

/** Which batches their runs take, by their place in the list, and the seq that each ends at. */
async function place(sql: Sql, { schema }: Dialect, batches: readonly PackedBatch[]): Promise<Map<number, Placed>> {
  const asked = batches.map(({ ref, fence, number }) => [ref.tenant, ref.thread, ref.run, fence, number]);
  const rows = await sql.all(
    `SELECT b.key AS place, t.tail, r.stop, r.loose FROM json_each($1) b
     JOIN ${schema}.runs r ON r.id = b.value ->> 2 AND r.tenant = b.value ->> 0 AND r.thread = b.value ->> 1
       AND r.fence = b.value ->> 3 AND r.next_batch = b.value ->> 4 AND r.ended_ms IS NULL
     JOIN ${schema}.threads t ON t.id = r.thread AND t.tenant = r.tenant`,
    [JSON.stringify(asked)],
  );
  const taken = new Map(rows.map((row) => [numberIn(row, "place"), row]));
  const tails = new Map<number, number>();
  const placed = new Map<number, Placed>();
  batches.forEach((batch, index) => {
    const row = taken.get(index);
    if (row === undefined) return;
    const lastSeq = (tails.get(batch.ref.thread) ?? numberIn(row, "tail")) + batch.count;
    tails.set(batch.ref.thread, lastSeq);
    const loose = numberIn(row, "loose") + batch.segments.filter((segment) => segment.loose).length;
    placed.set(index, { batch, lastSeq, stop: numberIn(row, "stop") === 1, loose });
  });
  return placed;
}

async function updateRuns(sql: Sql, { schema, now }: Dialect, placed: readonly Placed[]): Promise<void> {
  const rows = placed.map(({ batch, lastSeq, loose }) => {
    return [batch.ref.run, lastSeq, batch.leaseMs, loose, batch.end === undefined ? null : JSON.stringify(batch.end)];
  });
  await sql.all(
    `UPDATE ${schema}.runs SET next_batch = next_batch + 1, last_seq = b.value ->> 1, lease_until_ms = ${now} + (b.value ->> 2),
       loose = b.value ->> 3, ended = b.value ->> 4, ended_ms = CASE WHEN b.value ->> 4 IS NULL THEN NULL ELSE ${now} END
     FROM json_each($1) b WHERE runs.id = b.value ->> 0`,
    [JSON.stringify(rows)],
  );
}

async function updateThreads(sql: Sql, { schema, now }: Dialect, placed: readonly Placed[]): Promise<void> {
  const threads = new Map<number, readonly [thread: number, tail: number, ended: number]>();
  for (const { batch, lastSeq } of placed) {
    const { thread } = batch.ref;
    const ended = batch.end !== undefined || threads.get(thread)?.[2] === 1;
    threads.set(thread, [thread, lastSeq, ended ? 1 : 0]);
  }
  await sql.all(
    `UPDATE ${schema}.threads SET tail = b.value ->> 1,
       updated_ms = CASE WHEN b.value ->> 2 = 1 THEN ${now} ELSE updated_ms END
     FROM json_each($1) b WHERE threads.id = b.value ->> 0`,
    [JSON.stringify([...threads.values()])],
  );
}

async function insertRows(sql: Sql, { schema }: Dialect, placed: readonly Placed[], bytes: Uint8Array): Promise<void> {
  const datas: Uint8Array[] = [];
  let length = 0;
  const rows = placed.flatMap(({ batch, lastSeq }) => {
    let seq = lastSeq - batch.count;
    return batch.segments.map(({ count, loose, start, end }) => {
      const { codec, data } = packRow(bytes.subarray(start, end), loose);
      const first = seq + 1;
      seq += count;
      datas.push(data);
      length += data.length;
      const { tenant, thread, run } = batch.ref;
      return [tenant, thread, first, seq, run, loose ? 1 : 0, codec, length - data.length + 1, data.length];
    });
  });
  await sql.all(
    `INSERT INTO ${schema}.segments (tenant, thread, first_seq, last_seq, run, loose, codec, data)
     SELECT b.value ->> 0, b.value ->> 1, b.value ->> 2, b.value ->> 3, b.value ->> 4, b.value ->> 5, b.value ->> 6,
       substr($1, b.value ->> 7, b.value ->> 8) FROM json_each($2) b`,
    [datas.length === 1 ? (datas[0] ?? bytes) : Buffer.concat(datas, length), JSON.stringify(rows)],
  );
}

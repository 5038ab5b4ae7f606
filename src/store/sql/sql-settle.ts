/** What a SQL store makes of runs that are over or long: merged rows, snapshots, compacted forms; and what it lets go. */
import type { ImportThreadOptions, RunKey, Settlement, Snapshot, ThreadDump, ThreadKey, Trimmed } from "../index.ts";
import { threadExists } from "../memory-store.ts";
import { unknownRun, unknownThread } from "../memory-thread.ts";
import { pack, packEvents, unpackEvents } from "./segment.ts";
import { splitSnapshot } from "./snapshot-parts.ts";
import { writeCompacted } from "./sql-reads.ts";
import type { RunRef } from "./sql-rows.ts";
import { insertSegments, lockThread, makeThread } from "./sql-writes.ts";
import { bytesIn, insertInto, maybeNumberIn, numberIn, textIn } from "./sql.ts";
import type { Dialect, Row, Sql } from "./sql.ts";

/** A run's loose rows are merged when there are so many. */
export const MERGE_EVERY = 64;

/** Merges the loose rows of a run: neighbours become one row, with the same seqs and the same texts. */
export async function mergeRun(sql: Sql, dialect: Dialect, { tenant, thread, run }: RunRef): Promise<void> {
  const { schema } = dialect;
  // The row of the run is locked first: of two that merge, the second finds nothing loose.
  const ids = [tenant, thread, run];
  await sql.all(`UPDATE ${schema}.runs SET loose = 0 WHERE tenant = $1 AND thread = $2 AND id = $3`, ids);
  const rows = await sql.all(
    `SELECT first_seq, last_seq, codec, data FROM ${schema}.segments
     WHERE tenant = $1 AND thread = $2 AND run = $3 AND loose = 1 ORDER BY first_seq`,
    ids,
  );
  for (const neighbours of adjoining(rows)) {
    const [first] = neighbours;
    const last = neighbours.at(-1);
    if (first === undefined || last === undefined) continue;
    const [from, to] = [numberIn(first, "first_seq"), numberIn(last, "last_seq")];
    const events = neighbours.flatMap((row) =>
      unpackEvents({ codec: numberIn(row, "codec"), data: bytesIn(row, "data") }),
    );
    await sql.all(
      `DELETE FROM ${schema}.segments WHERE tenant = $1 AND thread = $2 AND first_seq >= $3 AND last_seq <= $4`,
      [tenant, thread, from, to],
    );
    await insertSegments(sql, dialect, { tenant, thread, run }, from, packEvents(events));
  }
}

/** Rows in groups whose seqs follow one another: between two groups lie events of another run. */
function adjoining(rows: readonly Row[]): readonly (readonly Row[])[] {
  const groups: Row[][] = [];
  let next = -1;
  for (const row of rows) {
    if (numberIn(row, "first_seq") === next) groups.at(-1)?.push(row);
    else groups.push([row]);
    next = numberIn(row, "last_seq") + 1;
  }
  return groups;
}

/** The row of a run. */
async function refOf(sql: Sql, { schema }: Dialect, { tenant, threadId, runId }: RunKey): Promise<RunRef> {
  const [row] = await sql.all(
    `SELECT t.tenant, t.id AS thread, r.id AS run FROM ${schema}.tenants n JOIN ${schema}.threads t ON t.tenant = n.id
     LEFT JOIN ${schema}.runs r ON r.tenant = t.tenant AND r.thread = t.id AND r.name = $3
     WHERE n.name = $1 AND t.name = $2`,
    [tenant, threadId, runId],
  );
  if (row === undefined) throw unknownThread({ tenant, threadId });
  if (row["run"] === null) throw unknownRun({ threadId, runId });
  return { tenant: numberIn(row, "tenant"), thread: numberIn(row, "thread"), run: numberIn(row, "run") };
}

/**
 * Keeps a snapshot. The blobs of one in the middle of a run belong to that run until another snapshot names them too:
 * they go when the run is settled.
 */
async function insertSnapshot(
  sql: Sql,
  dialect: Dialect,
  { tenant, thread, run }: RunRef,
  { seq, events }: Snapshot,
  forGood: boolean,
): Promise<void> {
  const { shell, blobs } = splitSnapshot(events);
  const shared = `ON CONFLICT (tenant, thread, hash)
    DO UPDATE SET run = CASE WHEN blobs.run = excluded.run THEN blobs.run ELSE NULL END`;
  for (const { hash, text } of blobs) {
    const { codec, data } = pack(text);
    await insertInto(sql, dialect, "blobs", { tenant, thread, hash, run: forGood ? null : run, codec, data }, shared);
  }
  const { codec, data } = pack(shell);
  // The last one counts for good: its blobs stay when those of the others go.
  const known = `ON CONFLICT (tenant, thread, run, seq)
    DO ${forGood ? "UPDATE SET codec = excluded.codec, shell = excluded.shell" : "NOTHING"}`;
  await insertInto(sql, dialect, "snapshots", { tenant, thread, run, seq, codec, shell: data }, known);
}

/** See `Store`. */
export async function saveSnapshot(sql: Sql, dialect: Dialect, key: ThreadKey, snapshot: Snapshot): Promise<void> {
  const ref = await refOf(sql, dialect, { ...key, runId: snapshot.runId });
  await insertSnapshot(sql, dialect, ref, snapshot, false);
}

/** See `Store`. */
export async function settle(sql: Sql, dialect: Dialect, key: RunKey, settlement: Settlement): Promise<void> {
  const { schema } = dialect;
  const ref = await refOf(sql, dialect, key);
  const ids = [ref.tenant, ref.thread, ref.run];
  const [changed] = await sql.all(
    `UPDATE ${schema}.runs SET settled = 1 WHERE tenant = $1 AND thread = $2 AND id = $3 AND settled = 0 RETURNING id`,
    ids,
  );
  if (changed === undefined) return;
  await keepSettlement(sql, dialect, ref, settlement);
  await sql.all(`DELETE FROM ${schema}.snapshots WHERE tenant = $1 AND thread = $2 AND run = $3 AND seq <> $4`, [
    ...ids,
    settlement.snapshot.seq,
  ]);
  await sql.all(`DELETE FROM ${schema}.blobs WHERE tenant = $1 AND thread = $2 AND run = $3`, ids);
  await mergeRun(sql, dialect, ref);
}

async function keepSettlement(sql: Sql, dialect: Dialect, ref: RunRef, settlement: Settlement): Promise<void> {
  await insertSnapshot(sql, dialect, ref, settlement.snapshot, true);
  const { codec, data } = pack(writeCompacted(settlement.compacted));
  await insertInto(sql, dialect, "compacted", { ...ref, codec, data }, "ON CONFLICT (tenant, thread, run) DO NOTHING");
}

/** Threads that may lose something: those with raw events of a settled run that ended before a time. */
export async function trimmable(sql: Sql, { schema }: Dialect, endedBeforeMs: number): Promise<readonly ThreadKey[]> {
  const rows = await sql.all(
    `SELECT DISTINCT n.name AS tenant_name, t.name AS thread_name FROM ${schema}.runs r
     JOIN ${schema}.threads t ON t.tenant = r.tenant AND t.id = r.thread JOIN ${schema}.tenants n ON n.id = r.tenant
     WHERE r.settled = 1 AND r.ended_ms < $1 AND r.last_seq > t.floor`,
    [endedBeforeMs],
  );
  return rows.map((row) => ({ tenant: textIn(row, "tenant_name"), threadId: textIn(row, "thread_name") }));
}

/** Drops the raw events of one thread up to the last of a run that goes, and before the first run that is to stay whole. */
export async function trimThread(sql: Sql, dialect: Dialect, key: ThreadKey, endedBeforeMs: number): Promise<Trimmed> {
  const { schema } = dialect;
  const row = await lockThread(sql, dialect, key);
  if (row === undefined) return { threads: 0, events: 0 };
  const ids = [numberIn(row, "tenant_id"), numberIn(row, "thread_id")];
  const goes = "settled = 1 AND ended_ms < $3";
  const [found = {}] = await sql.all(
    `SELECT max(CASE WHEN ${goes} THEN last_seq END) AS gone, min(CASE WHEN ${goes} THEN NULL ELSE first_seq END) AS kept
     FROM ${schema}.runs WHERE tenant = $1 AND thread = $2`,
    [...ids, endedBeforeMs],
  );
  const before = numberIn(row, "floor");
  const kept = maybeNumberIn(found, "kept") ?? Infinity;
  const floor = Math.max(before, Math.min(maybeNumberIn(found, "gone") ?? 0, kept - 1));
  if (floor === before) return { threads: 0, events: 0 };
  await sql.all(`DELETE FROM ${schema}.segments WHERE tenant = $1 AND thread = $2 AND last_seq <= $3`, [...ids, floor]);
  await sql.all(`UPDATE ${schema}.threads SET floor = $3 WHERE tenant = $1 AND id = $2`, [...ids, floor]);
  return { threads: 1, events: floor - before };
}

/** See `Store`. */
export async function importThread(
  sql: Sql,
  dialect: Dialect,
  key: ThreadKey,
  dump: ThreadDump,
  { owner }: ImportThreadOptions = {},
): Promise<void> {
  const { schema } = dialect;
  const { thread: about, runs, events, settlements } = dump;
  if (!(await makeThread(sql, dialect, key, owner))) throw threadExists(key);
  const row = await lockThread(sql, dialect, key);
  if (row === undefined) throw unknownThread(key);
  const [tenant, thread] = [numberIn(row, "tenant_id"), numberIn(row, "thread_id")];
  const place = [about.tail, about.floor, about.head ?? null, about.title ?? null, about.archived ? 1 : 0];
  await sql.all(
    `UPDATE ${schema}.threads SET tail = $3, floor = $4, head = $5, title = $6, archived = $7, metadata = $8,
       created_ms = $9, updated_ms = $10 WHERE tenant = $1 AND id = $2`,
    [tenant, thread, ...place, JSON.stringify(about.metadata), about.createdAtMs, about.updatedAtMs],
  );
  const refs = new Map<string, RunRef>();
  for (const run of runs) {
    const parent = run.parentRunId === undefined ? undefined : refs.get(run.parentRunId);
    const made = await insertInto(sql, dialect, "runs", importedRun(run, tenant, thread, parent), "RETURNING id");
    for (const { id } of made) refs.set(run.runId, { tenant, thread, run: Number(id) });
  }
  for (const { runId, seq, texts } of stretches(events)) {
    const ref = refs.get(runId);
    if (ref === undefined) throw unknownRun({ ...key, runId });
    await insertSegments(sql, dialect, ref, seq, packEvents(texts));
  }
  for (const { runId, ...settlement } of settlements) {
    const ref = refs.get(runId);
    if (ref === undefined) throw unknownRun({ ...key, runId });
    await keepSettlement(sql, dialect, ref, settlement);
    await sql.all(`UPDATE ${schema}.runs SET settled = 1 WHERE tenant = $1 AND thread = $2 AND id = $3`, [
      tenant,
      thread,
      ref.run,
    ]);
  }
}

function importedRun(run: ThreadDump["runs"][number], tenant: number, thread: number, parent: RunRef | undefined): Row {
  return {
    tenant,
    thread,
    name: run.runId,
    agent: run.agent,
    parent: parent?.run ?? null,
    kind: run.kind ?? null,
    first_seq: run.firstSeq,
    last_seq: run.lastSeq,
    principal: run.principal ?? null,
    fence: 1,
    next_batch: 1,
    lease_until_ms: 0,
    stop: 0,
    started_ms: run.startedAtMs,
    ended_ms: run.endedAtMs ?? null,
    ended: run.end === undefined ? null : JSON.stringify(run.end),
    settled: 0,
    loose: 0,
  };
}

/** Events of one run that follow one another. */
function stretches(
  events: ThreadDump["events"],
): readonly { readonly runId: string; readonly seq: number; readonly texts: readonly string[] }[] {
  const found: { runId: string; seq: number; texts: string[] }[] = [];
  for (const { runId, seq, json } of events) {
    const last = found.at(-1);
    if (last !== undefined && last.runId === runId && last.seq + last.texts.length === seq) last.texts.push(json);
    else found.push({ runId, seq, texts: [json] });
  }
  return found;
}

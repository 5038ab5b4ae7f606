/**
 * The one writer of a SQLite file. It runs in a thread of its own, so that a commit never holds up whatever else the
 * process does; it holds the file by a lock of ours, so that there is one writing process at a time.
 *
 * The lock is a transaction that stays open on a small file beside the database: the system lets go of it when the
 * process ends, however it ends, so no stale lock can be left behind. Readers do not ask for it.
 */
import { existsSync } from "node:fs";
import { HeddleError } from "../../protocol/index.ts";
import type { Appended, Store } from "../index.ts";
import { MERGE_AT_LAST } from "../sql/merge-queue.ts";
import type { AppendedRow } from "../sql/sql-append.ts";
import { MERGE_EVERY, importThread, mergeRun, saveSnapshot, settle, trimThread, trimmable } from "../sql/sql-settle.ts";
import type { RunRef } from "../sql/sql-rows.ts";
import { enqueue, unqueue } from "../sql/sql-queue.ts";
import { setMember } from "../sql/sql-members.ts";
import { saveTicket, takeTicket } from "../sql/sql-tickets.ts";
import { claimToolCall } from "../sql/sql-tool-calls.ts";
import { annotate, claim, deleteThread, heartbeat, requestStop, takeOver, updateThread } from "../sql/sql-writes.ts";
import { appendPacked } from "./append-packed.ts";
import { unflatten } from "./flat-batches.ts";
import type { FlatBatches } from "./flat-batches.ts";
import { MIGRATIONS } from "./migrations.ts";
import { SQLITE, SqliteSql } from "./sqlite-sql.ts";

/** What the writer needs to know. */
export interface SqliteWriterOptions {
  /** Path of the database. */
  readonly file: string;
  /** Largest size of the database. Default: what the disk has. */
  readonly maxFileBytes?: number | undefined;
}

/** The methods that change something. */
export const WRITING = [
  "claim",
  "append",
  "heartbeat",
  "takeOver",
  "requestStop",
  "enqueue",
  "unqueue",
  "claimToolCall",
  "setMember",
  "saveTicket",
  "takeTicket",
  "annotate",
  "saveSnapshot",
  "settle",
  "updateThread",
  "deleteThread",
  "trim",
  "importThread",
] as const satisfies readonly (keyof Store)[];

/** The methods that change something. */
export interface Writing extends Pick<Store, Exclude<(typeof WRITING)[number], "append">> {
  /** Appends batches that were packed for the way. */
  append(flat: FlatBatches): Promise<readonly Appended[]>;
}

/** Marks a database as ours: "Hedl". */
export const APPLICATION_ID = 0x48_65_64_6c;

/** A writer at work. */
export interface SqliteWriter extends Writing {
  /** Tidies up after what was answered, one piece at a time. False where there is nothing to do. */
  tidy(): Promise<boolean>;
  /** Whether so much has gathered that tidying cannot wait for a pause. */
  readonly isOverdue: boolean;
  /** Lets go of the file. */
  close(): void;
}

/** Opens a file for writing: takes the lock, brings the schema up to date, and expires what the last process left. */
export async function openSqliteWriter({ file, maxFileBytes }: SqliteWriterOptions): Promise<SqliteWriter> {
  const lock = takeLock(file);
  try {
    const sql = new SqliteSql(file);
    await prepareDatabase(sql, file);
    if (maxFileBytes !== undefined) {
      sql.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxFileBytes / sql.number("PRAGMA page_size")))}`);
    }
    // Whoever held these leases is gone, or we would not have the lock.
    sql.exec("UPDATE runs SET lease_until_ms = 0 WHERE ended_ms IS NULL");
    return writerOn(sql, lock);
  } catch (error) {
    lock.close();
    throw error;
  }
}

function takeLock(file: string): SqliteSql {
  const lock = new SqliteSql(`${file}-lock`);
  try {
    lock.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    if (!(error instanceof HeddleError) || error.code !== "store-unavailable") throw error;
    const message = `Another process writes to ${file}: stop it first, or use it through its server.`;
    throw new HeddleError("store-locked", message, { file }, { cause: error });
  }
}

/** Brings the schema up to date. A database that is newer, or not ours, is left as it is. */
async function prepareDatabase(sql: SqliteSql, file: string): Promise<void> {
  checkVersion(sql, file);
  sql.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = OFF",
  );
  for (let version = sql.number("PRAGMA user_version"); version < MIGRATIONS.length; version++) {
    await sql.transaction(async () => {
      sql.exec(MIGRATIONS[version] ?? "");
      sql.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version + 1}`);
    });
  }
}

/** Refuses a database that a newer version wrote, or that is somebody else's. */
export function checkVersion(sql: SqliteSql, file: string): void {
  const version = sql.number("PRAGMA user_version");
  const foreign = sql.number("PRAGMA application_id") !== APPLICATION_ID;
  if (foreign && sql.number("SELECT count(*) FROM sqlite_schema") > 0) {
    throw new HeddleError("store-corrupt", `${file} is a database of something else: name another file.`, { file });
  }
  if (version > MIGRATIONS.length) {
    const message = `${file} was written by a newer version of Heddle (schema ${version}): update Heddle to open it.`;
    throw new HeddleError("schema-too-new", message, { file, found: version, known: MIGRATIONS.length });
  }
}

function writerOn(sql: SqliteSql, lock: SqliteSql): SqliteWriter {
  const untidy = new Map<string, RunRef>();
  let overdue = false;
  const within = <A extends readonly unknown[], T>(
    work: (on: SqliteSql, dialect: typeof SQLITE, ...args: A) => Promise<T>,
  ): ((...args: A) => Promise<T>) => {
    return (...args) => sql.transaction(() => work(sql, SQLITE, ...args));
  };
  const remember = ({ appended, ref, loose }: AppendedRow): Appended => {
    if (loose >= MERGE_EVERY) untidy.set(`${ref.thread}.${ref.run}`, ref);
    if (loose >= MERGE_AT_LAST) overdue = true;
    return appended;
  };
  return {
    claim: within(claim),
    append: (flat) =>
      sql.transaction(async () => (await appendPacked(sql, unflatten(flat))).map((row) => remember(row))),
    heartbeat: within(heartbeat),
    takeOver: within(takeOver),
    requestStop: within(requestStop),
    enqueue: within(enqueue),
    unqueue: within(unqueue),
    claimToolCall: within(claimToolCall),
    setMember: within(setMember),
    saveTicket: within(saveTicket),
    takeTicket: within(takeTicket),
    annotate: within(annotate),
    saveSnapshot: within(saveSnapshot),
    settle: within(settle),
    updateThread: within(updateThread),
    deleteThread: within(deleteThread),
    importThread: within(importThread),
    async trim(endedBeforeMs) {
      const total = { threads: 0, events: 0 };
      for (const key of await trimmable(sql, SQLITE, endedBeforeMs)) {
        const { threads, events } = await sql.transaction(() => trimThread(sql, SQLITE, key, endedBeforeMs));
        total.threads += threads;
        total.events += events;
      }
      return total;
    },
    get isOverdue() {
      return overdue;
    },
    async tidy() {
      overdue = false;
      const [next] = untidy;
      if (next === undefined) return false;
      const [name, ref] = next;
      untidy.delete(name);
      await sql.transaction(() => mergeRun(sql, SQLITE, ref));
      return true;
    },
    close() {
      sql.close();
      lock.close();
    },
  };
}

/** Whether there is something to read. */
export const isThere = (file: string): boolean => existsSync(file);

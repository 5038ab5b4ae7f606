/**
 * The log in a SQLite file: one writing process, any number of readers, nothing to install.
 *
 * Writes go to a thread of their own and are answered when they are on the disk (WAL, `synchronous=FULL`). Reads happen
 * here, on a connection of their own, and see everything that was answered. A file that is opened for reading only takes
 * no lock, works beside a running server, and notices what that writes.
 */
import { resolve } from "node:path";
import { HeddleError } from "../../protocol/index.ts";
import type { Store, ThreadKey } from "../index.ts";
import { packBatches } from "../sql/packed-batches.ts";
import { SqlReads } from "../sql/sql-reads.ts";
import type { Reads } from "../sql/sql-reads.ts";
import { ThreadWatchers } from "../thread-watchers.ts";
import { flatten } from "./flat-batches.ts";
import { MIGRATIONS } from "./migrations.ts";
import { SQLITE, SqliteSql } from "./sqlite-sql.ts";
import { sqliteUsage } from "./sqlite-usage.ts";
import { checkVersion, isThere } from "./sqlite-writer.ts";
import { WriterThread } from "./writer-thread-handle.ts";

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /** Opens the file beside whoever writes to it. What changes something fails with `store-read-only`. Default false. */
  readonly readOnly?: boolean;
  /** How often a read-only store looks for what another process wrote. Default 250. */
  readonly pollMs?: number;
  /** Largest size of the database file; beyond it, `store-full`. Default: what the disk has. */
  readonly maxFileBytes?: number;
}

/** Makes a store on a file. Nothing is opened before the first use, or `open`. */
export function sqliteStore(file: string, options: SqliteStoreOptions = {}): Store {
  const path = resolve(file);
  const { readOnly = false, pollMs = 250, maxFileBytes } = options;
  const watchers = new ThreadWatchers();
  const thread = readOnly ? undefined : new WriterThread({ file: path, maxFileBytes });
  const counting = new Set<Promise<void>>();
  let opening: Promise<Reading> | undefined;
  let closed = false;

  const opened = (): Promise<Reading> => {
    if (closed) return Promise.reject(new HeddleError("store-closed", "The store was closed: open a new one.", {}));
    opening ??= openReading(path, thread, watchers, pollMs).catch((error: unknown) => {
      // Whoever repairs the cause may try again.
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const writing = async (): Promise<WriterThread> => {
    await opened();
    if (thread !== undefined) return thread;
    throw new HeddleError("store-read-only", "The store was opened for reading only.", { file: path });
  };
  const reads = async (): Promise<SqlReads> => (await opened()).reads;
  const told = <T>(key: ThreadKey, value: T): T => {
    watchers.call(key);
    return value;
  };

  return {
    kind: "sqlite",
    async open() {
      await opened();
    },
    async close() {
      const open = opening;
      closed = true;
      // Counting takes several turns, and needs the file for each.
      await Promise.all(counting);
      if (open !== undefined) await open.then((reading) => reading.close()).catch(() => undefined);
      await thread?.close();
    },
    claim: async (request) => {
      const result = await (await writing()).call("claim", request);
      return result.type === "claimed" ? told(request, result) : result;
    },
    append: async (batches) => {
      const answers = await (await writing()).call("append", flatten(packBatches(batches)));
      batches.forEach(({ lease }, index) => {
        if (answers[index]?.type === "committed") watchers.call(lease);
      });
      return answers;
    },
    heartbeat: async (leases) => (await writing()).call("heartbeat", leases),
    takeOver: async (request) => (await writing()).call("takeOver", request),
    requestStop: async (key) => told(key, await (await writing()).call("requestStop", key)),
    enqueue: async (request) => told(request, await (await writing()).call("enqueue", request)),
    unqueue: async (key) => told(key, await (await writing()).call("unqueue", key)),
    claimToolCall: async (request) => (await writing()).call("claimToolCall", request),
    setMember: async (key, user, role) => told(key, await (await writing()).call("setMember", key, user, role)),
    saveTicket: async (ticket) => (await writing()).call("saveTicket", ticket),
    takeTicket: async (hash) => (await writing()).call("takeTicket", hash),
    annotate: async (request) => told(request, await (await writing()).call("annotate", request)),
    saveSnapshot: async (key, snapshot) => (await writing()).call("saveSnapshot", key, snapshot),
    settle: async (key, settlement) => (await writing()).call("settle", key, settlement),
    updateThread: async (key, patch) => (await writing()).call("updateThread", key, patch),
    deleteThread: async (key) => (await writing()).call("deleteThread", key),
    trim: async (endedBeforeMs) => (await writing()).call("trim", endedBeforeMs),
    importThread: async (key, dump, options) =>
      told(key, await (await writing()).call("importThread", key, dump, options)),
    ...readingOf(reads),
    usage: () => {
      const count = opened().then(({ sql }) => sqliteUsage(sql));
      const done = count.then(noted, noted).finally(() => counting.delete(done));
      counting.add(done);
      return count;
    },
    watch: (key, watcher) => watchers.add(key, watcher),
  };
}

/** Whoever asked is told what came of it; here it only matters that it is over. */
const noted = (): void => undefined;

const readingOf = (reads: () => Promise<SqlReads>): Pick<Store, Reads> => ({
  thread: async (key) => (await reads()).thread(key),
  run: async (key) => (await reads()).run(key),
  runs: async (key) => (await reads()).runs(key),
  branch: async (key) => (await reads()).branch(key),
  read: async (key, request) => (await reads()).read(key, request),
  snapshot: async (key, throughSeq) => (await reads()).snapshot(key, throughSeq),
  compacted: async (key) => (await reads()).compacted(key),
  unsettled: async (limit) => (await reads()).unsettled(limit),
  queue: async (key) => (await reads()).queue(key),
  waiting: async (limit) => (await reads()).waiting(limit),
  members: async (key) => (await reads()).members(key),
  roleIn: async (key, user) => (await reads()).roleIn(key, user),
  runningBy: async (tenant, principal) => (await reads()).runningBy(tenant, principal),
  listThreads: async (request) => (await reads()).listThreads(request),
  nowMs: async () => (await reads()).nowMs(),
});

/** A file that is open for reading. */
interface Reading {
  readonly sql: SqliteSql;
  readonly reads: SqlReads;
  close(): void;
}

async function openReading(
  file: string,
  thread: WriterThread | undefined,
  watchers: ThreadWatchers,
  pollMs: number,
): Promise<Reading> {
  await thread?.open();
  if (!isThere(file)) {
    throw new HeddleError("store-read-only", `There is no database at ${file}: a server creates it.`, { file });
  }
  const sql = new SqliteSql(file, { readOnly: true });
  try {
    sql.exec("PRAGMA busy_timeout = 5000");
    checkVersion(sql, file);
    if (sql.number("PRAGMA user_version") < MIGRATIONS.length) {
      const message = `${file} was written by an older version of Heddle: start a server on it once, which updates it.`;
      throw new HeddleError("store-read-only", message, { file });
    }
  } catch (error) {
    sql.close();
    throw error;
  }
  const poll = thread === undefined ? setInterval(noticing(sql, watchers), pollMs) : undefined;
  poll?.unref();
  return {
    sql,
    reads: new SqlReads(sql, SQLITE),
    close() {
      clearInterval(poll);
      sql.close();
    },
  };
}

/** Calls the watchers whenever another process has changed the file. */
function noticing(sql: SqliteSql, watchers: ThreadWatchers): () => void {
  const look = (): number => {
    try {
      return sql.number("PRAGMA data_version");
    } catch {
      // Whoever watches is called, reads, and is told what is wrong.
      return -1;
    }
  };
  let version = look();
  return () => {
    const found = look();
    if (found !== version) watchers.callAll();
    version = found;
  };
}

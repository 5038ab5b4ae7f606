/**
 * The log in PostgreSQL: any number of processes on any number of machines.
 *
 * Log, leases and lineage change in one transaction each; processes tell each other what is new by hints, with a poll
 * behind them. What got no answer may or may not have happened: batch numbers make it safe to say again.
 */
import { Pool } from "pg";
import type { ClientConfig } from "pg";
import { HeddleError } from "../../protocol/index.ts";
import type { Batch, Store, ThreadKey } from "../index.ts";
import type { AppendedRow } from "../sql/sql-append.ts";
import { MergeQueue } from "../sql/merge-queue.ts";
import { SqlReads } from "../sql/sql-reads.ts";
import type { Reads } from "../sql/sql-reads.ts";
import { importThread, mergeRun, saveSnapshot, settle, trimThread, trimmable } from "../sql/sql-settle.ts";
import { enqueue, unqueue } from "../sql/sql-queue.ts";
import { setMember } from "../sql/sql-members.ts";
import { saveTicket, takeTicket } from "../sql/sql-tickets.ts";
import { claimToolCall } from "../sql/sql-tool-calls.ts";
import { annotate, claim, deleteThread, heartbeat, requestStop, takeOver, updateThread } from "../sql/sql-writes.ts";
import { numberIn, textIn } from "../sql/sql.ts";
import type { Dialect, Sql } from "../sql/sql.ts";
import { ThreadWatchers } from "../thread-watchers.ts";
import { appendBatches, areOfDifferentRuns } from "./append-batches.ts";
import { Hints } from "./hints.ts";
import { migrate } from "./migrate.ts";
import { PostgresSql, TYPES, failure, postgresDialect, sqlStateOf } from "./postgres-sql.ts";
import { postgresUsage } from "./postgres-usage.ts";

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /** The schema that holds the tables; made where it is not there. Default `heddle`. */
  readonly schema?: string;
  /** Most connections, beside the one that listens. Default 10. */
  readonly maxConnections?: number;
  /** Where to listen for hints, if not through the same URL: a pooler cannot do it. False: do not listen, only poll. */
  readonly listen?: string | boolean;
  /** How often to look for what other processes wrote while nobody listens; five times slower otherwise. Default 1,000. */
  readonly pollMs?: number;
  /** Whether statements are prepared; some poolers cannot do it. Default true. */
  readonly prepare?: boolean;
  /** How long a connection or an answer may take. Default 30,000. */
  readonly timeoutMs?: number;
}

/** How often a transaction that met others is tried. */
const ATTEMPTS = 5;

/** Makes a store on a database. Nothing is connected before the first use, or `open`. */
export function postgresStore(url: string, options: PostgresStoreOptions = {}): Store {
  const { schema = "heddle", pollMs = 1000, listen = true } = options;
  checkSchema(schema);
  const base = new PostgresBase(url, options, postgresDialect(schema));
  const { watchers } = base;
  const reading: Reading = (work) =>
    base.tracked(async () => {
      await base.opened();
      return work(base.reads);
    });
  const told = <T>(key: ThreadKey, value: T): T => {
    base.committed(key);
    return value;
  };
  base.hints = new Hints({
    connection: base.connectionTo(typeof listen === "string" ? listen : url),
    channel: `${schema}_hints`,
    listen: listen !== false,
    pollMs,
    watchers,
    notify: (payload) => base.notify(payload),
    marksOf: (keys) => base.marksOf(keys),
  });

  return {
    kind: "postgres",
    open: () => base.tracked(() => base.opened()),
    close: () => base.close(),
    claim: async (request) => {
      const result = await base.transaction((sql, dialect) => claim(sql, dialect, request));
      return result.type === "claimed" ? told(request, result) : result;
    },
    append: async (batches) => {
      const rows = await base.append(batches);
      return rows.map(({ appended, ref, loose }, index) => {
        const batch = batches[index];
        if (appended.type === "committed" && batch !== undefined) base.committed(batch.lease);
        base.merges.tell(ref, loose);
        return appended;
      });
    },
    heartbeat: (leases) => base.transaction((sql, dialect) => heartbeat(sql, dialect, leases)),
    takeOver: (request) => base.transaction((sql, dialect) => takeOver(sql, dialect, request)),
    requestStop: async (key) => told(key, await base.transaction((sql, dialect) => requestStop(sql, dialect, key))),
    enqueue: async (request) => told(request, await base.transaction((sql, dialect) => enqueue(sql, dialect, request))),
    unqueue: async (key) => told(key, await base.transaction((sql, dialect) => unqueue(sql, dialect, key))),
    claimToolCall: (request) => base.transaction((sql, dialect) => claimToolCall(sql, dialect, request)),
    setMember: async (key, user, role) =>
      told(key, await base.transaction((sql, dialect) => setMember(sql, dialect, key, user, role))),
    saveTicket: (ticket) => base.transaction((sql, dialect) => saveTicket(sql, dialect, ticket)),
    takeTicket: (hash) => base.transaction((sql, dialect) => takeTicket(sql, dialect, hash)),
    annotate: async (request) =>
      told(request, await base.transaction((sql, dialect) => annotate(sql, dialect, request))),
    saveSnapshot: (key, snapshot) => base.transaction((sql, dialect) => saveSnapshot(sql, dialect, key, snapshot)),
    settle: (key, settlement) => base.transaction((sql, dialect) => settle(sql, dialect, key, settlement)),
    updateThread: (key, patch) => base.transaction((sql, dialect) => updateThread(sql, dialect, key, patch)),
    deleteThread: (key) => base.transaction((sql, dialect) => deleteThread(sql, dialect, key)),
    importThread: async (key, dump, options) =>
      told(key, await base.transaction((sql, dialect) => importThread(sql, dialect, key, dump, options))),
    trim: async (endedBeforeMs) => {
      const total = { threads: 0, events: 0 };
      for (const key of await base.transaction((sql, dialect) => trimmable(sql, dialect, endedBeforeMs))) {
        const { threads, events } = await base.transaction((sql, dialect) =>
          trimThread(sql, dialect, key, endedBeforeMs),
        );
        total.threads += threads;
        total.events += events;
      }
      return total;
    },
    ...readingOf(reading),
    usage: () =>
      base.tracked(async () => {
        await base.opened();
        return postgresUsage(base.sql, base.dialect);
      }),
    watch: (key, watcher) => watchers.add(key, watcher),
  };
}

type Reading = <T>(work: (reads: SqlReads) => Promise<T>) => Promise<T>;

const readingOf = (reading: Reading): Pick<Store, Reads> => ({
  thread: (key) => reading((reads) => reads.thread(key)),
  run: (key) => reading((reads) => reads.run(key)),
  runs: (key) => reading((reads) => reads.runs(key)),
  branch: (key) => reading((reads) => reads.branch(key)),
  read: (key, request) => reading((reads) => reads.read(key, request)),
  snapshot: (key, throughSeq) => reading((reads) => reads.snapshot(key, throughSeq)),
  compacted: (key) => reading((reads) => reads.compacted(key)),
  unsettled: (limit) => reading((reads) => reads.unsettled(limit)),
  queue: (key) => reading((reads) => reads.queue(key)),
  waiting: (limit) => reading((reads) => reads.waiting(limit)),
  members: (key) => reading((reads) => reads.members(key)),
  roleIn: (key, user) => reading((reads) => reads.roleIn(key, user)),
  runningBy: (tenant, principal) => reading((reads) => reads.runningBy(tenant, principal)),
  listThreads: (request) => reading((reads) => reads.listThreads(request)),
  nowMs: () => reading((reads) => reads.nowMs()),
});

/** Connections, transactions and what goes on beside them. */
class PostgresBase {
  readonly dialect: Dialect;
  readonly watchers = new ThreadWatchers();
  readonly sql: PostgresSql;
  readonly reads: SqlReads;
  readonly merges: MergeQueue;
  hints: Hints | undefined;
  readonly #pool: Pool;
  readonly #prepare: boolean;
  readonly #timeoutMs: number;
  readonly #begin: string;
  readonly #underWay = new Set<Promise<void>>();
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(url: string, options: PostgresStoreOptions, dialect: Dialect) {
    const { maxConnections = 10, prepare = true, timeoutMs = 30_000 } = options;
    this.dialect = dialect;
    this.#prepare = prepare;
    this.#timeoutMs = timeoutMs;
    // A process that is paused, or cut off, in the middle of a transaction must not keep a thread locked.
    this.#begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${Math.max(1, Math.floor(timeoutMs))}`;
    this.#pool = new Pool({ ...this.connectionTo(url), max: maxConnections, allowExitOnIdle: true });
    // A connection that breaks while it is idle is replaced when the next one is asked for.
    this.#pool.on("error", () => undefined);
    this.sql = new PostgresSql(this.#pool, prepare);
    this.reads = new SqlReads(this.sql, dialect);
    this.merges = new MergeQueue((ref) => this.#within((sql) => mergeRun(sql, dialect, ref)));
  }

  connectionTo(url: string): ClientConfig {
    return {
      connectionString: url,
      connectionTimeoutMillis: this.#timeoutMs,
      query_timeout: this.#timeoutMs,
      keepAlive: true,
      application_name: "heddle",
      types: TYPES,
    };
  }

  opened(): Promise<void> {
    if (this.#closing !== undefined) {
      return Promise.reject(new HeddleError("store-closed", "The store was closed: open a new one.", {}));
    }
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw failure(error);
    });
    return this.#opening;
  }

  async #open(): Promise<void> {
    await migrate((work) => this.#within(work), this.dialect.schema);
    this.hints?.start();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    await Promise.all(this.#underWay);
    await this.hints?.close();
    await this.merges.close();
    await this.#pool.end();
  }

  /** Work that closing waits for. */
  async tracked<T>(work: () => Promise<T>): Promise<T> {
    const doing = work();
    const done = doing.then(
      () => undefined,
      () => undefined,
    );
    this.#underWay.add(done);
    try {
      return await doing;
    } finally {
      this.#underWay.delete(done);
    }
  }

  /** Runs work as one transaction, again where it met others. */
  transaction<T>(work: (sql: Sql, dialect: Dialect) => Promise<T>): Promise<T> {
    return this.tracked(async () => {
      await this.opened();
      return this.retried(() => this.#within((sql) => work(sql, this.dialect)));
    });
  }

  /** Tries again what was rolled back because of others: nothing of it happened. */
  async retried<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        const state = sqlStateOf(error) ?? "";
        if (!["40001", "40P01"].includes(state) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #within<T>(work: (sql: PostgresSql) => Promise<T>): Promise<T> {
    let client;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      throw failure(error);
    }
    const sql = new PostgresSql(client, this.#prepare);
    let broken: Error | undefined;
    // Without a listener, a connection that breaks between two statements would end the process.
    const onError = (error: Error): void => {
      broken = error;
    };
    client.on("error", onError);
    try {
      await sql.all(this.#begin);
      const result = await work(sql);
      await sql.all("COMMIT");
      return result;
    } catch (error) {
      // A connection that cannot roll back is no use to anybody.
      await sql.all("ROLLBACK").catch((failed: unknown) => {
        broken = failed instanceof Error ? failed : new Error("The connection broke.");
      });
      throw error;
    } finally {
      client.off("error", onError);
      client.release(broken);
    }
  }

  /** One statement is a transaction by itself. Two batches of one run need one each, and so a transaction around them. */
  append(batches: readonly Batch[]): Promise<readonly AppendedRow[]> {
    return this.tracked(() => this.merges.during(() => this.#append(batches)));
  }

  async #append(batches: readonly Batch[]): Promise<readonly AppendedRow[]> {
    await this.opened();
    if (batches.length === 0) return [];
    if (areOfDifferentRuns(batches)) return this.retried(() => appendBatches(this.sql, this.dialect, batches));
    return this.retried(() =>
      this.#within(async (sql) => {
        const rows: AppendedRow[] = [];
        for (const batch of batches) rows.push(...(await appendBatches(sql, this.dialect, [batch])));
        return rows;
      }),
    );
  }

  committed(key: ThreadKey): void {
    this.watchers.call(key);
    this.hints?.tell(key);
  }

  async notify(payload: string): Promise<void> {
    await this.sql.all("SELECT pg_notify($1, $2)", [`${this.dialect.schema}_hints`, payload]);
  }

  async marksOf(keys: readonly ThreadKey[]): Promise<readonly (string | undefined)[]> {
    const { schema } = this.dialect;
    const rows = await this.sql.query(
      `SELECT k.ord, concat_ws(' ', t.tail, t.access, (SELECT concat_ws(' ', count(*), max(q.id)) FROM ${schema}.queue q
         WHERE q.tenant = t.tenant AND q.thread = t.id)) AS mark
       FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k(tenant, thread, ord)
       JOIN ${schema}.tenants n ON n.name = k.tenant JOIN ${schema}.threads t ON t.tenant = n.id AND t.name = k.thread`,
      [keys.map(({ tenant }) => tenant), keys.map(({ threadId }) => threadId)],
    );
    const marks = new Map(rows.map((row) => [numberIn(row, "ord"), textIn(row, "mark")]));
    return keys.map((_, index) => marks.get(index + 1));
  }
}

/** A schema is written into statements, so it has to be a plain name. */
function checkSchema(schema: string): void {
  if (/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) return;
  const expected = "lower-case letters, digits and underscores, at most 51, not beginning with a digit";
  throw new HeddleError("config-invalid", `The schema is ${JSON.stringify(schema)}: expected ${expected}.`, {
    setting: "schema",
    expected,
    received: JSON.stringify(schema),
  });
}

/** What a SQL store tells: threads, runs, branches, pages of the log, snapshots. Every statement begins at the tenant. */
import type { Event } from "../../protocol/index.ts";
import type { CompactedEvent, ListRequest, Member, Page, QueuedRun, ReadRequest, RunInfo, RunKey } from "../index.ts";
import type {
  Snapshot,
  Store,
  StoredEvent,
  ThreadInfo,
  ThreadKey,
  ThreadPage,
  ThreadRole,
  WaitingRun,
} from "../index.ts";
import { trimmed } from "../cursor.ts";
import { rememberText } from "../kept-text.ts";
import { MAX_PAGE_CHARS, unknownThread } from "../memory-thread.ts";
import { DEFAULT_PAGE_SIZE, endOfPage, readPlace } from "../thread-page.ts";
import { unpack, unpackBytes, unpackEvents } from "./segment.ts";
import { joinSnapshot, keptEvents, namedBlobs } from "./snapshot-parts.ts";
import { QUEUE_COLUMNS, RUN_COLUMNS, THREAD_COLUMNS, memberRoleIn, queuedOf, runOf, threadOf } from "./sql-rows.ts";
import { bytesIn, maybeNumberIn, maybeTextIn, numberIn, textIn } from "./sql.ts";
import type { Dialect, Row, Sql, SqlValue } from "./sql.ts";

/** Rows of the log that one statement fetches. */
const ROWS_PER_STATEMENT = 64;
/** How often a snapshot is looked for whose parts are gone before it counts as damage. */
const SNAPSHOT_ATTEMPTS = 3;

/** The methods that change nothing. */
export type Reads = keyof SqlReads & keyof Store;

/** Reads through statements. */
export class SqlReads {
  readonly #sql: Sql;
  readonly #dialect: Dialect;

  constructor(sql: Sql, dialect: Dialect) {
    this.#sql = sql;
    this.#dialect = dialect;
  }

  /** See `Store`. */
  async thread(key: ThreadKey): Promise<ThreadInfo | undefined> {
    const { schema } = this.#dialect;
    const [row] = await this.#sql.all(
      `SELECT ${THREAD_COLUMNS} FROM ${schema}.tenants n JOIN ${schema}.threads t ON t.tenant = n.id
       WHERE n.name = $1 AND t.name = $2`,
      [key.tenant, key.threadId],
    );
    return row && threadOf(key.tenant, row);
  }

  /** See `Store`. */
  async run(key: RunKey): Promise<RunInfo | undefined> {
    const [row] = await this.#runs("AND r.name = $3", key, [key.runId]);
    return row && runOf(key, row);
  }

  /** See `Store`. */
  async runs(key: ThreadKey): Promise<readonly RunInfo[]> {
    return (await this.#runs("", key, [])).map((row) => runOf(key, row));
  }

  #runs(where: string, { tenant, threadId }: ThreadKey, values: readonly SqlValue[]): Promise<readonly Row[]> {
    const { schema } = this.#dialect;
    return this.#sql.all(
      `SELECT ${RUN_COLUMNS} FROM ${schema}.tenants n JOIN ${schema}.threads t ON t.tenant = n.id
       JOIN ${schema}.runs r ON r.tenant = t.tenant AND r.thread = t.id
       LEFT JOIN ${schema}.runs p ON p.tenant = r.tenant AND p.thread = r.thread AND p.id = r.parent
       WHERE n.name = $1 AND t.name = $2 ${where} ORDER BY r.first_seq`,
      [tenant, threadId, ...values],
    );
  }

  /** See `Store`. */
  async branch(key: RunKey): Promise<readonly RunInfo[]> {
    const { schema } = this.#dialect;
    const rows = await this.#sql.all(
      `WITH RECURSIVE walk(tenant, thread, id, parent, kind, depth) AS (
         SELECT r.tenant, r.thread, r.id, r.parent, r.kind, 0 FROM ${schema}.tenants n
         JOIN ${schema}.threads t ON t.tenant = n.id
         JOIN ${schema}.runs r ON r.tenant = t.tenant AND r.thread = t.id
         WHERE n.name = $1 AND t.name = $2 AND r.name = $3
         UNION ALL
         SELECT r.tenant, r.thread, r.id, r.parent, r.kind, w.depth + 1 FROM walk w
         JOIN ${schema}.runs r ON r.tenant = w.tenant AND r.thread = w.thread AND r.id = w.parent
         WHERE w.kind IS NULL OR w.kind <> 'spawn')
       SELECT ${RUN_COLUMNS} FROM walk w
       JOIN ${schema}.runs r ON r.tenant = w.tenant AND r.thread = w.thread AND r.id = w.id
       LEFT JOIN ${schema}.runs p ON p.tenant = r.tenant AND p.thread = r.thread AND p.id = r.parent
       ORDER BY w.depth DESC`,
      [key.tenant, key.threadId, key.runId],
    );
    return rows.map((row) => runOf(key, row));
  }

  /** See `Store`. */
  async read(key: ThreadKey, request: ReadRequest = {}): Promise<Page> {
    const {
      afterSeq = 0,
      throughSeq = Number.MAX_SAFE_INTEGER,
      runIds,
      limit = 512,
      maxChars = MAX_PAGE_CHARS,
    } = request;
    const events: StoredEvent[] = [];
    let after = afterSeq;
    for (let chars = 0; ;) {
      const rows = await this.#segments(key, after, throughSeq, runIds);
      const [first] = rows;
      if (first === undefined) throw unknownThread(key);
      const [tail, floor, logId] = [numberIn(first, "tail"), numberIn(first, "floor"), textIn(first, "log_id")];
      if (after < floor) throw trimmed(after, floor);
      for (const row of rows) {
        const from = maybeNumberIn(row, "first_seq");
        if (from === undefined) break;
        const runId = textIn(row, "run_name");
        const texts = unpackEvents({ codec: numberIn(row, "codec"), data: bytesIn(row, "data") });
        for (let index = Math.max(0, after + 1 - from); index < texts.length; index++) {
          const json = texts[index] ?? "";
          const seq = from + index;
          if (seq > throughSeq) break;
          if (events.length === limit || chars >= maxChars) return { logId, events, through: seq - 1, tail };
          events.push({ seq, runId, json });
          chars += json.length;
        }
        after = Math.min(throughSeq, from + texts.length - 1);
      }
      if (rows.length < ROWS_PER_STATEMENT) {
        return { logId, events, through: Math.max(afterSeq, Math.min(throughSeq, tail)), tail };
      }
      if (chars >= maxChars || events.length === limit) return { logId, events, through: after, tail };
    }
  }

  /** Rows of the log behind a seq, each with the thread's tail and floor as of the same moment; one without any where there are none. */
  #segments(
    { tenant, threadId }: ThreadKey,
    after: number,
    through: number,
    runIds: readonly string[] | undefined,
  ): Promise<readonly Row[]> {
    const { schema } = this.#dialect;
    const names = runIds?.map((_, index) => `$${index + 5}`).join(", ");
    const ofRuns = names === undefined ? "" : `AND r.name IN (${names === "" ? "NULL" : names})`;
    return this.#sql.all(
      `SELECT t.tail, t.floor, t.log_id, s.first_seq, s.codec, s.data, s.run_name
       FROM ${schema}.tenants n JOIN ${schema}.threads t ON t.tenant = n.id
       LEFT JOIN (SELECT s.tenant, s.thread, s.first_seq, s.last_seq, s.codec, s.data, r.name AS run_name
                  FROM ${schema}.segments s
                  JOIN ${schema}.runs r ON r.tenant = s.tenant AND r.thread = s.thread AND r.id = s.run ${ofRuns}) s
         ON s.tenant = t.tenant AND s.thread = t.id AND s.last_seq > $3 AND s.first_seq <= $4
       WHERE n.name = $1 AND t.name = $2
       ORDER BY s.last_seq LIMIT ${ROWS_PER_STATEMENT}`,
      [tenant, threadId, after, through, ...(runIds ?? [])],
    );
  }

  /** See `Store`. */
  async snapshot(key: RunKey, throughSeq = Number.MAX_SAFE_INTEGER): Promise<Snapshot | undefined> {
    for (let attempt = 1; ; attempt++) {
      const row = await this.#newestSnapshot(key, throughSeq);
      if (row === undefined) return undefined;
      const shell = unpack({ codec: numberIn(row, "codec"), data: bytesIn(row, "shell") });
      const named = namedBlobs(shell);
      const texts = await this.#blobs(row, named);
      // Settling drops the snapshots in the middle of a run, between two statements too: there is a newer one then.
      if (attempt < SNAPSHOT_ATTEMPTS && !named.every((hash) => texts.has(hash))) continue;
      const kept = keptEvents(shell, (hash) => texts.get(hash));
      let events: readonly Event[] | undefined;
      const snapshot: Snapshot = {
        runId: textIn(row, "run_name"),
        seq: numberIn(row, "seq"),
        // Whoever passes the snapshot on as it is kept does not ask for them.
        get events() {
          return (events ??= joinSnapshot(kept));
        },
      };
      return rememberText(snapshot, kept);
    }
  }

  async #newestSnapshot(key: RunKey, throughSeq: number): Promise<Row | undefined> {
    const { schema } = this.#dialect;
    const newest = `(SELECT s.seq FROM ${schema}.snapshots s WHERE s.tenant = r.tenant AND s.thread = r.thread AND s.run = r.id
       AND s.seq <= $4 ORDER BY s.seq DESC LIMIT 1)`;
    const [row] = await this.#sql.all(
      `WITH RECURSIVE walk(tenant, thread, id, parent, kind, depth, seq) AS (
         SELECT r.tenant, r.thread, r.id, r.parent, r.kind, 0, ${newest} FROM ${schema}.tenants n
         JOIN ${schema}.threads t ON t.tenant = n.id
         JOIN ${schema}.runs r ON r.tenant = t.tenant AND r.thread = t.id
         WHERE n.name = $1 AND t.name = $2 AND r.name = $3
         UNION ALL
         SELECT r.tenant, r.thread, r.id, r.parent, r.kind, w.depth + 1, ${newest} FROM walk w
         JOIN ${schema}.runs r ON r.tenant = w.tenant AND r.thread = w.thread AND r.id = w.parent
         WHERE w.seq IS NULL AND (w.kind IS NULL OR w.kind <> 'spawn'))
       SELECT r.name AS run_name, s.tenant, s.thread, s.seq, s.codec, s.shell FROM walk w
       JOIN ${schema}.snapshots s ON s.tenant = w.tenant AND s.thread = w.thread AND s.run = w.id AND s.seq = w.seq
       JOIN ${schema}.runs r ON r.tenant = w.tenant AND r.thread = w.thread AND r.id = w.id
       ORDER BY w.depth LIMIT 1`,
      [key.tenant, key.threadId, key.runId, throughSeq],
    );
    return row;
  }

  async #blobs(of: Row, hashes: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
    if (hashes.length === 0) return new Map();
    const names = hashes.map((_, index) => `$${index + 3}`).join(", ");
    const rows = await this.#sql.all(
      `SELECT hash, codec, data FROM ${this.#dialect.schema}.blobs WHERE tenant = $1 AND thread = $2 AND hash IN (${names})`,
      [numberIn(of, "tenant"), numberIn(of, "thread"), ...hashes],
    );
    return new Map(
      rows.map((row) => [
        textIn(row, "hash"),
        unpackBytes({ codec: numberIn(row, "codec"), data: bytesIn(row, "data") }),
      ]),
    );
  }

  /** See `Store`. */
  async compacted(key: RunKey): Promise<readonly CompactedEvent[] | undefined> {
    const { schema } = this.#dialect;
    const [row] = await this.#sql.all(
      `SELECT c.codec, c.data FROM ${schema}.tenants n JOIN ${schema}.threads t ON t.tenant = n.id
       JOIN ${schema}.runs r ON r.tenant = t.tenant AND r.thread = t.id
       JOIN ${schema}.compacted c ON c.tenant = r.tenant AND c.thread = r.thread AND c.run = r.id
       WHERE n.name = $1 AND t.name = $2 AND r.name = $3`,
      [key.tenant, key.threadId, key.runId],
    );
    return row && readCompacted(unpack({ codec: numberIn(row, "codec"), data: bytesIn(row, "data") }));
  }

  /** See `Store`. */
  async unsettled(limit = 64): Promise<readonly RunKey[]> {
    const { schema } = this.#dialect;
    const rows = await this.#sql.all(
      `SELECT n.name AS tenant_name, t.name AS thread_name, r.name AS run_name FROM ${schema}.runs r
       JOIN ${schema}.threads t ON t.tenant = r.tenant AND t.id = r.thread JOIN ${schema}.tenants n ON n.id = r.tenant
       WHERE r.ended_ms IS NOT NULL AND r.settled = 0 LIMIT $1`,
      [limit],
    );
    return rows.map((row) => ({
      tenant: textIn(row, "tenant_name"),
      threadId: textIn(row, "thread_name"),
      runId: textIn(row, "run_name"),
    }));
  }

  /** See `Store`. */
  async queue(key: ThreadKey): Promise<readonly QueuedRun[]> {
    const { schema } = this.#dialect;
    const rows = await this.#sql.all(
      `SELECT ${QUEUE_COLUMNS} FROM ${schema}.tenants n JOIN ${schema}.threads t ON t.tenant = n.id
       JOIN ${schema}.queue q ON q.tenant = t.tenant AND q.thread = t.id
       WHERE n.name = $1 AND t.name = $2 ORDER BY q.id`,
      [key.tenant, key.threadId],
    );
    return rows.map((row) => queuedOf(row));
  }

  /** See `Store`. Few runs are running at a time, and few wait. */
  async waiting(limit = 64): Promise<readonly WaitingRun[]> {
    const { schema } = this.#dialect;
    const rows = await this.#sql.all(
      `SELECT ${QUEUE_COLUMNS}, n.name AS tenant_name, t.name AS thread_name FROM ${schema}.queue q
       JOIN ${schema}.threads t ON t.tenant = q.tenant AND t.id = q.thread JOIN ${schema}.tenants n ON n.id = q.tenant
       WHERE q.id IN (SELECT min(id) FROM ${schema}.queue GROUP BY tenant, thread)
         AND q.thread NOT IN (SELECT thread FROM ${schema}.runs WHERE ended_ms IS NULL)
       ORDER BY q.id LIMIT $1`,
      [limit],
    );
    return rows.map((row) => ({
      tenant: textIn(row, "tenant_name"),
      threadId: textIn(row, "thread_name"),
      ...queuedOf(row),
    }));
  }

  /** See `Store`. */
  async members({ tenant, threadId }: ThreadKey): Promise<readonly Member[]> {
    const { schema } = this.#dialect;
    const rows = await this.#sql.all(
      `SELECT m.name, m.role FROM ${schema}.tenants n JOIN ${schema}.threads t ON t.tenant = n.id
       JOIN ${schema}.members m ON m.tenant = t.tenant AND m.thread = t.id WHERE n.name = $1 AND t.name = $2`,
      [tenant, threadId],
    );
    const members = rows.flatMap((row) => {
      const role = memberRoleIn(row);
      return role === undefined ? [] : [{ user: textIn(row, "name"), role }];
    });
    // Engines order text in their own ways.
    return members.toSorted((a, b) => (a.user < b.user ? -1 : 1));
  }

  /** See `Store`. */
  async roleIn({ tenant, threadId }: ThreadKey, user: string): Promise<ThreadRole | undefined> {
    const { schema } = this.#dialect;
    const [row] = await this.#sql.all(
      `SELECT t.owner, m.role FROM ${schema}.tenants n JOIN ${schema}.threads t ON t.tenant = n.id
       LEFT JOIN ${schema}.members m ON m.tenant = t.tenant AND m.thread = t.id AND m.name = $3
       WHERE n.name = $1 AND t.name = $2`,
      [tenant, threadId, user],
    );
    if (row === undefined) return undefined;
    return maybeTextIn(row, "owner") === user ? "owner" : memberRoleIn(row);
  }

  /** See `Store`. */
  async runningBy(tenant: string, principal: string): Promise<number> {
    const { schema } = this.#dialect;
    const [row] = await this.#sql.all(
      `SELECT count(*) AS running FROM ${schema}.runs WHERE ended_ms IS NULL AND principal = $2
       AND tenant = (SELECT id FROM ${schema}.tenants WHERE name = $1)`,
      [tenant, principal],
    );
    return row === undefined ? 0 : numberIn(row, "running");
  }

  /**
   * See `Store`. Threads of a user are found in two ways, each from an index of its own: as the owner's, in order, and as a
   * member's, of which there are few. Each way yields one page at most, and the first of both together are the page.
   */
  async listThreads(request: ListRequest): Promise<ThreadPage> {
    const { tenant, user, query, archived, after, limit = DEFAULT_PAGE_SIZE } = request;
    const { schema, contains, eachWith } = this.#dialect;
    const values: SqlValue[] = [tenant];
    const put = (value: SqlValue): string => `$${values.push(value)}`;
    const where: string[] = [];
    if (archived !== undefined) where.push(`t.archived = ${put(archived ? 1 : 0)}`);
    if (query !== undefined) {
      const needle = put(query);
      where.push(`(${contains("t.name", needle)} OR ${contains("t.title", needle)})`);
    }
    if (after !== undefined) {
      const place = readPlace(after);
      where.push(`(t.updated_ms, t.name) < (${put(place.updatedAtMs)}, ${put(place.threadId)})`);
    }
    const threads = `${schema}.threads`;
    const whose = `(SELECT id FROM ${schema}.tenants WHERE name = $1)`;
    const most = put(limit + 1);
    const page = (from: string, ...also: readonly string[]): string =>
      `SELECT ${THREAD_COLUMNS} FROM ${from} WHERE ${[...also, ...where].join(" AND ")}
       ORDER BY t.updated_ms DESC, t.name DESC LIMIT ${most}`;
    const pageOf = (who: string): string => {
      const owned = page(`${threads} t`, `t.tenant = ${whose}`, `t.owner = ${who}`);
      const from = eachWith(`${schema}.members m`, threads, "t.tenant = m.tenant AND t.id = m.thread");
      const shared = page(from, `m.tenant = ${whose}`, `m.name = ${who}`);
      return `SELECT * FROM (${owned}) owned UNION ALL SELECT * FROM (${shared}) shared
        ORDER BY updated_ms DESC, thread_name DESC LIMIT ${most}`;
    };
    const statement = user === undefined ? page(`${threads} t`, `t.tenant = ${whose}`) : pageOf(put(user));
    const rows = await this.#sql.all(statement, values);
    return endOfPage(
      rows.map((row) => threadOf(tenant, row)),
      limit,
    );
  }

  /** See `Store`. */
  async nowMs(): Promise<number> {
    const [row] = await this.#sql.all(`SELECT ${this.#dialect.now} AS now_ms`);
    return row === undefined ? 0 : numberIn(row, "now_ms");
  }
}

/** Writes a compacted run: a line each, with the seqs that it stands for in front. */
export const writeCompacted = (events: readonly CompactedEvent[]): string =>
  events.map(({ firstSeq, lastSeq, json }) => `${firstSeq},${lastSeq},${json}`).join("\n");

function readCompacted(text: string): readonly CompactedEvent[] {
  if (text === "") return [];
  return text.split("\n").map((line) => {
    const first = line.indexOf(",");
    const second = line.indexOf(",", first + 1);
    const [firstSeq, lastSeq] = [Number(line.slice(0, first)), Number(line.slice(first + 1, second))];
    return { firstSeq, lastSeq, json: line.slice(second + 1) };
  });
}

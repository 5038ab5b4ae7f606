/** Statements on `pg`, and what PostgreSQL's failures mean: told by SQLSTATE or the system's code, never by their text. */
import { createHash } from "node:crypto";
import { types } from "pg";
import type { ClientBase, Pool } from "pg";
import { HeddleError } from "../../protocol/index.ts";
import type { ErrorCode } from "../../protocol/index.ts";
import type { Dialect, Row, Sql, SqlValue } from "../sql/sql.ts";

/** How PostgreSQL says it. */
export const postgresDialect = (schema: string): Dialect => ({
  schema,
  now: "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
  forUpdate: "FOR UPDATE",
  skipLocked: "FOR UPDATE SKIP LOCKED",
  eachWith: (from, table, fits) => `${from} CROSS JOIN LATERAL (SELECT * FROM ${table} t WHERE ${fits} LIMIT 1) t`,
  contains: (column, parameter) =>
    `strpos(lower(coalesce(${column}, '') COLLATE "und-x-icu"), lower(${parameter}::text COLLATE "und-x-icu")) > 0`,
});

/** OID of bigint, whose values all fit into a number here. */
const BIGINT = 20;

/** Reads bigints as numbers. */
export const TYPES = {
  getTypeParser: (oid: number, format?: "text" | "binary"): unknown =>
    oid === BIGINT && format !== "binary" ? Number : types.getTypeParser(oid, format),
};

/** A connection, or whichever one is free. */
export class PostgresSql implements Sql {
  readonly #client: ClientBase | Pool;
  readonly #prepare: boolean;

  constructor(client: ClientBase | Pool, prepare: boolean) {
    this.#client = client;
    this.#prepare = prepare;
  }

  /** Runs one statement, prepared once for each connection. */
  async all(statement: string, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    return this.query(statement, values);
  }

  /** Runs one statement whose values may also be lists. */
  async query(
    statement: string,
    values: readonly (SqlValue | readonly (SqlValue | null)[])[],
  ): Promise<readonly Row[]> {
    const name = this.#prepare && values.length > 0 ? { name: nameOf(statement) } : {};
    try {
      const { rows } = await this.#client.query<Row>({ text: statement, values: [...values], ...name });
      return rows;
    } catch (error) {
      throw failure(error);
    }
  }
}

const names = new Map<string, string>();

/** A short name for a statement. There are few different ones. */
function nameOf(statement: string): string {
  const known = names.get(statement) ?? createHash("sha256").update(statement).digest("base64url").slice(0, 24);
  names.set(statement, known);
  return known;
}

/** What a SQLSTATE, or the first two letters of it, means to whoever runs Heddle. */
const FAILURES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  "08": ["store-unavailable", "The connection to the database broke off: it is tried again."],
  "22021": ["query-invalid", "PostgreSQL keeps no text with the character U+0000: leave it out of ids and titles."],
  "25P03": ["store-unavailable", "The transaction was paused for too long and was rolled back: it is tried again."],
  "25006": ["store-read-only", "The database is read-only: connect to the primary."],
  "28": ["store-unavailable", "The database refused the user or the password: check the connection URL."],
  "3D000": ["store-unavailable", "There is no database of this name: create it, or check the connection URL."],
  "40": ["store-unavailable", "The transaction met others and was rolled back: it is tried again."],
  "42501": ["store-read-only", "The database user may not do this: grant it the right to create and change tables."],
  "53100": ["store-full", "The disk of the database is full: make room."],
  "53": ["store-unavailable", "The database has no resources left: it is tried again."],
  "57": ["store-unavailable", "The database is stopping, starting or was told to cancel: it is tried again."],
  "58": ["store-unavailable", "The database server failed: look at its log."],
  XX001: ["store-corrupt", "The database says that its data is damaged: restore a backup."],
  XX002: ["store-corrupt", "The database says that an index is damaged: reindex it, or restore a backup."],
};

/** Codes of the operating system that say that there is no connection. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
]);

/** The SQLSTATE of a failure, or undefined. */
export function sqlStateOf(error: unknown): string | undefined {
  const cause = error instanceof HeddleError ? error.cause : error;
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
}

/** What a failure of `pg` means. */
export function failure(error: unknown): unknown {
  if (error instanceof HeddleError || !(error instanceof Error)) return error;
  const state = sqlStateOf(error);
  const known = state === undefined ? undefined : (FAILURES[state] ?? FAILURES[state.slice(0, 2)]);
  if (known !== undefined) {
    const [code, message] = known;
    return new HeddleError<ErrorCode>(code, message, { sqlState: state }, { cause: error });
  }
  // `pg` itself throws errors without a code, and all of them are about the connection.
  const aboutConnection = state === undefined || UNREACHABLE.has(state) || error.constructor === AggregateError;
  if (!aboutConnection) return error;
  const message = `The database cannot be reached (${state ?? error.message}): check that it runs, and the connection URL.`;
  return new HeddleError("store-unavailable", message, { system: state }, { cause: error });
}

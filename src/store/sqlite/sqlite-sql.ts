/** Statements on `node:sqlite`: prepared once, values bound by number, errors told by their code and never by their text. */
import { DatabaseSync } from "node:sqlite";
import type { StatementSync } from "node:sqlite";
import { HeddleError } from "../../protocol/index.ts";
import type { ErrorCode } from "../../protocol/index.ts";
import type { Dialect, Row, Sql, SqlValue } from "../sql/sql.ts";

/** How SQLite says it. One connection writes at a time, so there is nothing to lock. */
export const SQLITE: Dialect = {
  schema: "main",
  now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  forUpdate: "",
  skipLocked: "",
  // The one join whose order SQLite keeps to.
  eachWith: (from, table, fits) => `${from} CROSS JOIN ${table} t ON ${fits}`,
  contains: (column, parameter) => `instr(folded(coalesce(${column}, '')), folded(${parameter})) > 0`,
};

/** A statement, and which value belongs at which of its places; undefined where they stand in order. */
interface Prepared {
  readonly prepared: StatementSync;
  readonly order: readonly number[] | undefined;
}

const PARAMETER = /\$(\d+)/g;

/** One connection. */
export class SqliteSql implements Sql {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, Prepared>();
  readonly #file: string;

  constructor(file: string, options: { readonly readOnly?: boolean } = {}) {
    this.#file = file;
    this.#database = this.#guard(() => new DatabaseSync(file, options));
    // SQLite's own lower() knows the letters of English only.
    this.#database.function("folded", { deterministic: true }, (text) => String(text).toLowerCase());
  }

  /** Runs one prepared statement. */
  async all(statement: string, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    return this.#guard(() => {
      const { prepared, order } = this.#prepared(statement);
      return prepared.all(...(order === undefined ? values : order.map((index) => values[index] ?? null)));
    });
  }

  /** Runs one prepared statement within the call, and returns its first row. Its places are `?`, in the order of the values. */
  first(statement: string, values: readonly SqlValue[]): Row | undefined {
    return this.#guard(() => this.#prepared(statement).prepared.get(...values));
  }

  #prepared(statement: string): Prepared {
    const known = this.#statements.get(statement);
    if (known !== undefined) return known;
    // Binding by place is several times quicker than by name, and knows no numbers.
    const order = Array.from(statement.matchAll(PARAMETER), ([, number]) => Number(number) - 1);
    const prepared = this.#database.prepare(statement.replaceAll(PARAMETER, "?"));
    const inOrder = order.every((index, place) => index === place);
    const made = { prepared, order: inOrder ? undefined : order };
    this.#statements.set(statement, made);
    return made;
  }

  /** Runs statements that return nothing. */
  exec(statements: string): void {
    this.#guard(() => this.#database.exec(statements));
  }

  /** The number that a pragma or a count answers. */
  number(statement: string): number {
    const row = this.#guard(() => this.#database.prepare(statement).get());
    const [value] = Object.values(row ?? {});
    return Number(value);
  }

  /** Runs work as one transaction: all of it, or nothing. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    this.exec("BEGIN IMMEDIATE");
    try {
      const result = await work();
      this.exec("COMMIT");
      return result;
    } catch (error) {
      // SQLite has rolled back by itself where the disk was full or broke.
      if (this.#database.isTransaction) this.exec("ROLLBACK");
      throw error;
    }
  }

  /** Closes the connection. */
  close(): void {
    this.#database.close();
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw failure(error, this.#file);
    }
  }
}

/** What SQLite's result codes mean to whoever runs Heddle. */
const FAILURES: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  5: ["store-unavailable", "Another connection keeps the database busy: try again."],
  6: ["store-unavailable", "Another connection keeps the database busy: try again."],
  8: ["store-read-only", "The database file cannot be written to: check its permissions and those of its folder."],
  10: ["store-unavailable", "The disk failed while the database was used: check the disk."],
  11: ["store-corrupt", "The database file is damaged: restore a backup."],
  13: ["store-full", "The disk, or the size that is set for the database, is full: make room."],
  14: [
    "store-read-only",
    "The database file cannot be opened: its folder must exist, and this user must be able to write to it.",
  ],
  26: ["store-corrupt", "The file is not a database: name another file, or restore a backup."],
};

function failure(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return error;
  const known = FAILURES[error.errcode & 0xff];
  if (known === undefined) return error;
  const [code, message] = known;
  return new HeddleError(code, message, { file, sqlite: error.errcode }, { cause: error });
}

/**
 * What the two SQL stores have in common: statements with `$1, $2 …`, rows of plain values, and the few words in which
 * their dialects differ. SQLite answers within the call and PostgreSQL over a socket; both are a promise here.
 */
import { HeddleError } from "../../protocol/index.ts";

/** A value that goes into a statement or comes out of a row. */
export type SqlValue = string | number | bigint | Uint8Array | null;

/** A row by column. */
export type Row = Readonly<Record<string, SqlValue>>;

/** Runs statements, within one transaction or without any. */
export interface Sql {
  /** Runs a statement and returns its rows. */
  all(statement: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
}

/** Where statements are written differently. */
export interface Dialect {
  /** The schema that every table is named with. */
  readonly schema: string;
  /** The clock, in milliseconds. */
  readonly now: string;
  /** What a select ends with that locks its rows. */
  readonly forUpdate: string;
  /** The same, passing over rows that somebody else has locked. */
  readonly skipLocked: string;
  /** Joins to `from` the one row of a table that fits each, as `t`: from here to there, whatever the planner thinks better. */
  readonly eachWith: (from: string, table: string, fits: string) => string;
  /** Whether one text contains the other, in any case: an expression over `column` and a parameter. */
  readonly contains: (column: string, parameter: string) => string;
}

/** Inserts a row. `ending` says what else: a conflict's outcome, or what to return. */
export function insertInto(
  sql: Sql,
  { schema }: Dialect,
  table: string,
  row: Row,
  ending = "",
): Promise<readonly Row[]> {
  const columns = Object.keys(row);
  const places = columns.map((_, index) => `$${index + 1}`);
  const statement = `INSERT INTO ${schema}.${table} (${columns.join(", ")}) VALUES (${places.join(", ")}) ${ending}`;
  return sql.all(statement, Object.values(row));
}

/** A number of a row. */
export function numberIn(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  if (typeof value === "bigint" || typeof value === "string") return Number(value);
  throw damaged(column, "a number");
}

/** A number of a row, or undefined. */
export const maybeNumberIn = (row: Row, column: string): number | undefined =>
  row[column] === null || row[column] === undefined ? undefined : numberIn(row, column);

/** A text of a row. */
export function textIn(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw damaged(column, "text");
}

/** A text of a row, or undefined. */
export const maybeTextIn = (row: Row, column: string): string | undefined =>
  row[column] === null || row[column] === undefined ? undefined : textIn(row, column);

/** Bytes of a row. */
export function bytesIn(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (value instanceof Uint8Array) return value;
  throw damaged(column, "bytes");
}

/** What a text of a row says in JSON. */
export function jsonIn<T>(row: Row, column: string): T {
  try {
    return JSON.parse(textIn(row, column));
  } catch (error) {
    throw error instanceof HeddleError ? error : damaged(column, "JSON");
  }
}

function damaged(column: string, expected: string): HeddleError<"store-corrupt"> {
  const message = `The database is damaged, or not one of Heddle's: the column ${column} should hold ${expected}.`;
  return new HeddleError("store-corrupt", message, { column, expected });
}

/** What becomes of a batch, and why one is not taken. */
import type { Appended } from "../index.ts";
import type { RunRef } from "./sql-rows.ts";
import { maybeNumberIn, numberIn } from "./sql.ts";
import type { Dialect, Sql } from "./sql.ts";

/** What became of a batch, and how many loose rows its run has now. */
export interface AppendedRow {
  /** What the caller is told. */
  readonly appended: Appended;
  /** The run's rows. */
  readonly ref: RunRef;
  /** How many of its rows are loose. */
  readonly loose: number;
}

/** Why a run does not take a batch; `committed` never. */
export async function refusal(
  sql: Sql,
  { schema }: Dialect,
  { tenant, thread, run: id }: RunRef,
  fence: number,
  number: number,
): Promise<Appended> {
  const [run] = await sql.all(
    `SELECT fence, next_batch, last_seq, ended_ms, stop FROM ${schema}.runs WHERE tenant = $1 AND thread = $2 AND id = $3`,
    [tenant, thread, id],
  );
  if (run === undefined || numberIn(run, "fence") !== fence) return { type: "fenced" };
  const expected = numberIn(run, "next_batch");
  if (number < expected) {
    return { type: "repeated", lastSeq: numberIn(run, "last_seq"), stop: numberIn(run, "stop") === 1 };
  }
  if (maybeNumberIn(run, "ended_ms") !== undefined) return { type: "fenced" };
  return { type: "gap", expected };
}

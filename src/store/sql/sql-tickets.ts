/** Tickets in a SQL store. The row is what takers meet at: one deletes it and has its body, the others find nothing. */
import type { Ticket } from "../index.ts";
import { pack, unpack } from "./segment.ts";
import { bytesIn, insertInto, numberIn } from "./sql.ts";
import type { Dialect, Sql } from "./sql.ts";

/** Most expired tickets that one save cleans away: more than it adds, so they do not gather. */
const CLEAN_AT_ONCE = 100;

/** See `Store`. */
export async function saveTicket(sql: Sql, dialect: Dialect, { hash, body, forMs }: Ticket): Promise<void> {
  const { schema, now, skipLocked } = dialect;
  const [row] = await sql.all(`SELECT ${now} AS now_ms`);
  const nowMs = row === undefined ? 0 : numberIn(row, "now_ms");
  await sql.all(
    `DELETE FROM ${schema}.tickets WHERE hash IN
       (SELECT hash FROM ${schema}.tickets WHERE until_ms <= $1 ORDER BY until_ms LIMIT ${CLEAN_AT_ONCE} ${skipLocked})`,
    [nowMs],
  );
  const again = `ON CONFLICT (hash)
    DO UPDATE SET until_ms = excluded.until_ms, codec = excluded.codec, data = excluded.data`;
  const { codec, data } = pack(body);
  await insertInto(sql, dialect, "tickets", { hash, until_ms: nowMs + forMs, codec, data }, again);
}

/** See `Store`. */
export async function takeTicket(sql: Sql, { schema, now }: Dialect, hash: string): Promise<string | undefined> {
  const [row] = await sql.all(
    `DELETE FROM ${schema}.tickets WHERE hash = $1 RETURNING until_ms, codec, data, ${now} AS now_ms`,
    [hash],
  );
  if (row === undefined || numberIn(row, "until_ms") <= numberIn(row, "now_ms")) return undefined;
  return unpack({ codec: numberIn(row, "codec"), data: bytesIn(row, "data") });
}

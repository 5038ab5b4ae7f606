/**
 * Who may do something with a thread of another, in a SQL store. Whoever changes it holds the thread's row and counts the
 * change there, so that a process which only polls notices that there was one.
 */
import type { MemberRole, ThreadKey } from "../index.ts";
import { unknownThread } from "../memory-thread.ts";
import { lockThread } from "./sql-writes.ts";
import { insertInto, maybeTextIn, numberIn } from "./sql.ts";
import type { Dialect, Sql } from "./sql.ts";

/** See `Store`. The owner is never a row of members. */
export async function setMember(
  sql: Sql,
  dialect: Dialect,
  key: ThreadKey,
  user: string,
  role: MemberRole | null,
): Promise<boolean> {
  const { schema } = dialect;
  const row = await lockThread(sql, dialect, key);
  if (row === undefined) throw unknownThread(key);
  if (maybeTextIn(row, "owner") === user) return false;
  const [tenant, thread] = [numberIn(row, "tenant_id"), numberIn(row, "thread_id")];
  const changed =
    role === null
      ? await sql.all(`DELETE FROM ${schema}.members WHERE tenant = $1 AND thread = $2 AND name = $3 RETURNING name`, [
          tenant,
          thread,
          user,
        ])
      : await insertInto(
          sql,
          dialect,
          "members",
          { tenant, thread, name: user, role },
          `ON CONFLICT (tenant, thread, name) DO UPDATE SET role = excluded.role
           WHERE members.role <> excluded.role RETURNING name`,
        );
  if (changed.length === 0) return false;
  await sql.all(`UPDATE ${schema}.threads SET access = access + 1 WHERE tenant = $1 AND id = $2`, [tenant, thread]);
  return true;
}

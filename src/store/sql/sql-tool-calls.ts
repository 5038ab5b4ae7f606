/** Which tab or device executes a frontend call, in a SQL store. What has expired goes when the next one asks. */
import type { ToolCallClaim, ToolCallRequest } from "../index.ts";
import { unknownThread } from "../memory-thread.ts";
import { lockThread } from "./sql-writes.ts";
import { insertInto, numberIn, textIn } from "./sql.ts";
import type { Dialect, Sql } from "./sql.ts";

/** See `Store`. */
export async function claimToolCall(sql: Sql, dialect: Dialect, request: ToolCallRequest): Promise<ToolCallClaim> {
  const { schema } = dialect;
  const { toolCallId: name, holder, leaseMs } = request;
  const row = await lockThread(sql, dialect, request);
  if (row === undefined) throw unknownThread(request);
  const [tenant, thread, nowMs] = [numberIn(row, "tenant_id"), numberIn(row, "thread_id"), numberIn(row, "now_ms")];
  await sql.all(`DELETE FROM ${schema}.tool_calls WHERE tenant = $1 AND thread = $2 AND until_ms <= $3`, [
    tenant,
    thread,
    nowMs,
  ]);
  const [known] = await sql.all(
    `SELECT holder, until_ms FROM ${schema}.tool_calls WHERE tenant = $1 AND thread = $2 AND name = $3`,
    [tenant, thread, name],
  );
  if (known !== undefined && textIn(known, "holder") !== holder) {
    return { type: "taken", untilMs: numberIn(known, "until_ms") };
  }
  const untilMs = nowMs + leaseMs;
  const renewed = "ON CONFLICT (tenant, thread, name) DO UPDATE SET until_ms = excluded.until_ms";
  await insertInto(sql, dialect, "tool_calls", { tenant, thread, name, holder, until_ms: untilMs }, renewed);
  return { type: "held", untilMs };
}

/** What a PostgreSQL on this machine has spent on processors, all of its processes together; as far as /proc tells. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";

/** Milliseconds of one tick, as the kernel counts for everybody. */
const TICK_MS = 10;

/** Makes what asks for it, in milliseconds: NaN where nobody can tell. */
export async function postgresCpu(url: string): Promise<() => number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ data_directory: string }>("SHOW data_directory");
  await client.end();
  try {
    const pid = readFileSync(join(rows[0]?.data_directory ?? "", "postmaster.pid"), "utf8").split("\n")[0] ?? "";
    return () => cpuOf(pid);
  } catch {
    return () => NaN;
  }
}

function cpuOf(postmaster: string): number {
  const own = statOf(postmaster);
  if (own === undefined) return NaN;
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(statOf)
    .filter((stat) => stat?.parent === postmaster);
  return children.reduce((sum, stat) => sum + (stat?.ownMs ?? 0), own.ownMs + own.endedMs);
}

/** What the kernel tells of a process; undefined where it is gone. */
function statOf(
  pid: string,
): { readonly parent: string; readonly ownMs: number; readonly endedMs: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = (index: number): number => Number(fields[index]) * TICK_MS;
    return { parent: fields[1] ?? "", ownMs: ticks(11) + ticks(12), endedMs: ticks(13) + ticks(14) };
  } catch {
    return undefined;
  }
}

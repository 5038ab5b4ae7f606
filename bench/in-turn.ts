/** Measurements that take their time, one after the other. */
import { Progress } from "../src/cli/progress.ts";
import type { Row } from "./compare.ts";

/** Measures one after the other, and shows how far it is. */
export async function inTurn(parts: readonly (() => Promise<Row | readonly Row[]>)[]): Promise<readonly Row[]> {
  const progress = new Progress();
  const rows: Row[] = [];
  try {
    for (const [index, part] of parts.entries()) {
      progress.show(`${index + 1} of ${parts.length} measurements`, index, parts.length);
      rows.push(...[await part()].flat());
    }
  } finally {
    progress.end();
  }
  return rows;
}

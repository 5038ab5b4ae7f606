/** Where the keyboard goes in the list. */

/** The row that a key leads to; undefined for other keys. */
export function targetOf<T>(key: string, rows: readonly T[], at: number): T | undefined {
  if (key === "ArrowDown") return rows[Math.min(at + 1, rows.length - 1)];
  if (key === "ArrowUp") return rows[Math.max(at - 1, 0)];
  if (key === "Home") return rows[0];
  if (key === "End") return rows.at(-1);
  return undefined;
}

/** The row to go on with where some leave: the next that stays, else the one before. */
export function neighbourOf<T>(rows: readonly T[], leaving: readonly T[]): T | undefined {
  const at = rows.findIndex((row) => leaving.includes(row));
  const stays = (row: T): boolean => !leaving.includes(row);
  return rows.slice(Math.max(at, 0)).find(stays) ?? rows.findLast(stays);
}

/** Versions: what we declare, and how declarations compare (R-VER-13). */

/** The AG-UI version that we declare. */
export const PROTOCOL_VERSION = "1.0";

/** The parts of a declared version, or undefined where it cannot be read (R-VER-14). */
export function parseVersion(version: string): readonly number[] | undefined {
  return /^\d+(\.\d+)+$/.test(version) ? version.split(".").map(Number) : undefined;
}

/** Negative where `a` is older than `b`, positive where newer, 0 where equal. Parts that are missing count as 0. */
export function compareVersions(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

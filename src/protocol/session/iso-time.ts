/**
 * Milliseconds since the epoch as ISO 8601 writes them.
 *
 * AG-UI allows any integer as a timestamp, more than a Date can hold; a year of more or fewer than four digits is a
 * form that readers have to agree on first. Both are left to the caller's clock.
 */

const YEAR_0 = Date.parse("0000-01-01T00:00:00.000Z");
const YEAR_10000 = Date.parse("+010000-01-01T00:00:00.000Z");

/** The time in UTC with milliseconds; undefined where there is none, or its year has not four digits. */
export function isoTime(milliseconds: number | undefined): string | undefined {
  const isWritable = milliseconds !== undefined && milliseconds >= YEAR_0 && milliseconds < YEAR_10000;
  return isWritable ? new Date(milliseconds).toISOString() : undefined;
}

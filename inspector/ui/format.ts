/** Times, durations, sizes and counts as people read them. */

const COUNT = new Intl.NumberFormat("en");

/** A count with separators: 12,345. */
export const formatCount = (count: number): string => COUNT.format(count);

/** The name of a member; one that could not be seen as JSON writes it. */
export const formatKey = (key: string): string => (key.trim() === "" ? JSON.stringify(key) : key);

/** A size: 1.4 MB. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`;
}

/** A duration: 340 ms, 2.4 s, 3 min 12 s, 2 h 5 min, 12 d 4 h; with a minus where a clock went back. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `−${formatDuration(-ms)}`;
  if (ms < 1) return ms === 0 ? "0 ms" : `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${formatCount(Math.floor(hours / 24))} d ${hours % 24} h`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** Agents may tell times that no calendar has. */
const LAST_MS = 8.64e15;
const dated = (ms: number): number => Math.max(-LAST_MS, Math.min(LAST_MS, ms));

/** A time of day: 14:03:22. */
export const formatClock = (ms: number): string => CLOCK.format(dated(ms));

/** A time of day to the millisecond: 14:03:22.041. */
export const formatPreciseClock = (ms: number): string =>
  `${formatClock(ms)}.${String(new Date(dated(ms)).getUTCMilliseconds()).padStart(3, "0")}`;

/** A day and a time of day, to the millisecond: 5 Jan 2026, 14:03:22.041. */
export const formatMoment = (ms: number): string => `${DAY.format(dated(ms))}, ${formatPreciseClock(ms)}`;

/** How long ago, by a clock that is given: just now, 5 min ago, 3 h ago, 12 Mar 2026. */
export function formatAgo(ms: number, nowMs: number): string {
  const ago = nowMs - ms;
  if (ago < 60_000) return "just now";
  if (ago < 3_600_000) return `${Math.floor(ago / 60_000)} min ago`;
  if (ago < 86_400_000) return `${Math.floor(ago / 3_600_000)} h ago`;
  return DAY.format(dated(ms));
}

/** An id short enough for a line: its beginning, and a sign that there is more. */
export const shortId = (id: string): string => (id.length <= 14 ? id : `${id.slice(0, 8)}…`);

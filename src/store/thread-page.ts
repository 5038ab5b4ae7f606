/** Pages of threads: the most recently changed first, and where a page ended as text that means nothing to anybody else. */
import { HeddleError } from "../protocol/index.ts";
import type { ListRequest, ThreadInfo, ThreadPage } from "./store.ts";

/** Where a page of threads ended. */
export interface PagePlace {
  /** When the last thread of the page was changed. */
  readonly updatedAtMs: number;
  /** Its id, which decides between threads of the same moment. */
  readonly threadId: string;
}

/** How many threads a page holds where nothing else is asked. */
export const DEFAULT_PAGE_SIZE = 50;

/** Writes a place. */
export const formatPlace = ({ updatedAtMs, threadId }: PagePlace): string => `${updatedAtMs}_${threadId}`;

/** Reads a place. Throws `query-invalid`. */
export function readPlace(after: string): PagePlace {
  const match = /^(\d{1,16})_(.+)$/s.exec(after);
  const [, time, threadId] = match ?? [];
  if (time === undefined || threadId === undefined) {
    throw new HeddleError("query-invalid", "This is not the end of a page of threads: take `next` from one.", {
      parameter: "after",
    });
  }
  return { updatedAtMs: Number(time), threadId };
}

/** One page out of a list of threads in any order. */
export function pageOf(threads: readonly ThreadInfo[], request: ListRequest): ThreadPage {
  const { query, archived, after, limit = DEFAULT_PAGE_SIZE } = request;
  const place = after === undefined ? undefined : readPlace(after);
  const needle = query?.toLowerCase();
  const found = threads
    .filter((thread) => archived === undefined || thread.archived === archived)
    .filter(
      ({ threadId, title }) => needle === undefined || `${threadId}\n${title ?? ""}`.toLowerCase().includes(needle),
    )
    .filter((thread) => place === undefined || byRecency(place, thread) < 0)
    .toSorted(byRecency);
  return endOfPage(found, limit);
}

/** Cuts a sorted list to a page. */
export function endOfPage(found: readonly ThreadInfo[], limit: number): ThreadPage {
  const threads = found.slice(0, limit);
  const last = threads.at(-1);
  return { threads, next: last === undefined || found.length <= limit ? undefined : formatPlace(last) };
}

function byRecency(a: PagePlace, b: PagePlace): number {
  if (a.updatedAtMs !== b.updatedAtMs) return b.updatedAtMs - a.updatedAtMs;
  if (a.threadId === b.threadId) return 0;
  return a.threadId < b.threadId ? 1 : -1;
}

/** Files that threads are kept in: what they are called, and what is in them. */
import type { ThreadSummary } from "heddle/client";

const MAX_NAME = 60;

/** The name of a thread's file: what it is called, in characters that every file system takes. */
export function exportName({ threadId, title }: Pick<ThreadSummary, "threadId" | "title">): string {
  const plain = (title ?? threadId)
    .normalize("NFKD")
    .replaceAll(/[^\p{Letter}\p{Number}]+/gu, "-")
    .slice(0, MAX_NAME)
    .replaceAll(/^-+|-+$/g, "");
  return `${plain === "" ? "thread" : plain}.ndjson`;
}

/** The thread that a file says it holds, where its first line says so. */
export function threadIn(lines: string): string | undefined {
  try {
    const first: unknown = JSON.parse(lines.slice(0, lines.indexOf("\n")));
    const id: unknown = Object(Object(first).thread).threadId;
    return typeof id === "string" ? id : undefined;
  } catch {
    // Not a line of JSON: the server says what is wrong with it.
    return undefined;
  }
}

const MAX_ID = 256;

/** Another id for a copy of a thread: `t-copy`, then `t-copy-2`. */
export function copyId(threadId: string): string {
  const { stem = threadId, count } = /^(?<stem>.*)-copy(?:-(?<count>\d+))?$/.exec(threadId)?.groups ?? {};
  const isCopy = stem !== threadId;
  const ending = isCopy ? `-copy-${Number(count ?? 1) + 1}` : "-copy";
  return `${stem.slice(0, MAX_ID - ending.length)}${ending}`;
}

/** Saves a text as a file of the person's. */
export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun with it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

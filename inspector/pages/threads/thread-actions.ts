/** What is done to threads, one or several: each with words about what came of it. */
import type { ThreadSummary, Threads } from "heddle/client";
import { HeddleError } from "heddle/protocol";
import { say, sayFailure } from "../../ui/toast.tsx";
import { exportName, saveFile } from "./export-file.ts";

/** What a thread is called. */
export const nameOf = ({ threadId, title }: Pick<ThreadSummary, "threadId" | "title">): string =>
  title === undefined || title.trim() === "" ? threadId : title;

const countOf = (threads: readonly ThreadSummary[]): string =>
  threads.length === 1 ? "Conversation" : `${threads.length} conversations`;

/** Does something to each; tells how far it came where one fails. Gives those that it was done to. */
async function each(
  threads: readonly ThreadSummary[],
  words: string,
  act: (thread: ThreadSummary) => Promise<unknown>,
): Promise<readonly ThreadSummary[]> {
  const done: ThreadSummary[] = [];
  for (const thread of threads) {
    try {
      await act(thread);
      done.push(thread);
    } catch (error) {
      sayFailure(error);
      if (threads.length > 1) say(`${done.length} of ${threads.length} ${words}.`, { failure: true });
      return done;
    }
  }
  say(`${countOf(threads)} ${words}.`);
  return done;
}

/** Puts threads aside, or takes them back. */
export const archiveAll = (
  all: Threads,
  threads: readonly ThreadSummary[],
  archived: boolean,
): Promise<readonly ThreadSummary[]> =>
  each(threads, archived ? "archived" : "restored", ({ threadId }) => all.archive(threadId, archived));

/** Deletes threads. */
export const deleteAll = (all: Threads, threads: readonly ThreadSummary[]): Promise<readonly ThreadSummary[]> =>
  each(threads, "deleted", ({ threadId }) => all.delete(threadId).catch(unlessGone));

/** What somebody else deleted meanwhile is deleted. */
function unlessGone(error: unknown): void {
  if (!(error instanceof HeddleError) || error.code !== "thread-unknown") throw error;
}

/** Saves threads as files, one each. */
export const exportAll = (all: Threads, threads: readonly ThreadSummary[]): Promise<readonly ThreadSummary[]> =>
  each(threads, "exported", async (thread) => saveFile(exportName(thread), await all.export(thread.threadId)));

/** Gives a thread a title; an empty one takes it away. Says whether it was done. */
export async function renameThread(all: Threads, thread: ThreadSummary, title: string): Promise<boolean> {
  const wanted = title.trim();
  if (wanted === (thread.title ?? "")) return true;
  try {
    await all.rename(thread.threadId, wanted === "" ? null : wanted);
    return true;
  } catch (error) {
    sayFailure(error);
    return false;
  }
}

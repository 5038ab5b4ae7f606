/** Where the commands on threads find them: a store, or a running server. Each of them says what is wrong in its own words. */
import type { ImportedThread, RunInfo, ThreadInfo } from "../store/index.ts";

/** What is told of a thread wherever it comes from. */
export type ShownThread = Pick<
  ThreadInfo,
  "threadId" | "title" | "archived" | "metadata" | "head" | "createdAtMs" | "updatedAtMs"
>;

/** A thread in a list, with how its head stands. */
export interface ListedThread extends ShownThread {
  /** How its head stands; undefined where it has none. */
  readonly status: RunInfo["status"] | undefined;
}

/** What is told of a run wherever it comes from. */
export type ShownRun = Pick<
  RunInfo,
  "runId" | "parentRunId" | "kind" | "agent" | "status" | "firstSeq" | "lastSeq" | "startedAtMs" | "endedAtMs" | "end"
>;

/** One thread, with how long its log is. */
export interface ThreadInFull extends ShownThread, Pick<ThreadInfo, "tail" | "floor"> {
  /** Its runs, in order of their first event. */
  readonly runs: readonly ShownRun[];
}

/** Which threads to list. */
export interface SourceListRequest {
  /** Only those whose id or title contains this. */
  readonly query: string | undefined;
  /** Those that are put away, or those that are not. */
  readonly archived: boolean;
  /** Where the page before ended. */
  readonly after: string | undefined;
  /** Most threads, up to 200. */
  readonly limit: number;
}

/** What is to be imported. */
export interface ImportSource {
  /** The bytes. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The id that it gets; its own where absent. */
  readonly threadId: string | undefined;
  /** Told how many runs of how many are settled, where that is known. */
  readonly onSettled: (done: number, runs: number) => void;
}

/** Where threads are found. */
export interface ThreadSource {
  /** A page of threads, the most recently changed first. */
  list(
    request: SourceListRequest,
  ): Promise<{ readonly threads: readonly ListedThread[]; readonly next: string | undefined }>;
  /** One thread. Throws `thread-unknown`. */
  thread(threadId: string): Promise<ThreadInFull>;
  /** A thread as text: lines of JSON, in pieces of any size. */
  export(threadId: string): AsyncIterable<string>;
  /** Makes a thread of such lines. */
  import(source: ImportSource): Promise<ImportedThread>;
  /** Deletes a thread. Throws `thread-unknown`. */
  remove(threadId: string): Promise<void>;
  /** Lets go of it. */
  close(): Promise<void>;
}

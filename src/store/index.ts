/**
 * `heddle/store`: what is kept. The contract of the log, the log in memory, and what every store is used through: writing
 * a run, taking over lost ones, restoring a branch, export and import.
 */
export { CLOSINGS, closingEvents } from "./closing-events.ts";
export type { Closing } from "./closing-events.ts";
export { Committer } from "./committer.ts";
export type { CommitterOptions } from "./committer.ts";
export { formatCursor, mintLogId, readCursor } from "./cursor.ts";
export { exportThread } from "./export-thread.ts";
export { foldAt, foldBranch, readAll } from "./fold-branch.ts";
export type { FoldedBranch } from "./fold-branch.ts";
export { importThread } from "./import-thread.ts";
export type { ImportedThread, ImportOptions, ImportPlace } from "./import-thread.ts";
export { keptText } from "./kept-text.ts";
export type { KeptEvent } from "./kept-text.ts";
export { memoryStore } from "./memory-store.ts";
export type { MemoryStoreOptions } from "./memory-store.ts";
export { endRun, reap } from "./reap.ts";
export { ENDINGS, endOf } from "./run-end.ts";
export type { RunEnd, RunState } from "./run-end.ts";
export type { Begun } from "./run-compaction.ts";
export type { RunListener, RunWriter, WrittenRun } from "./run-writer.ts";
export { settleLeftovers, settleRun } from "./settle-run.ts";
export { MAX_LINE_BYTES, splitLines } from "./split-lines.ts";
export type {
  AnnotateRequest,
  Annotated,
  Appended,
  Batch,
  Beat,
  ClaimRequest,
  ClaimResult,
  CompactedEvent,
  EnqueueRequest,
  EnqueueResult,
  ImportThreadOptions,
  Lease,
  ListRequest,
  Member,
  MemberRole,
  Page,
  QueuedRun,
  ReadRequest,
  RunInfo,
  RunKey,
  Settlement,
  Snapshot,
  Store,
  StoreUsage,
  StoredEvent,
  TakeOverRequest,
  ThreadDump,
  ThreadInfo,
  ThreadKey,
  ThreadPage,
  ThreadPatch,
  ThreadRole,
  Ticket,
  ToolCallClaim,
  ToolCallRequest,
  Trimmed,
  WaitingRun,
  Watcher,
} from "./store.ts";
export { THREAD_ROLES } from "./store.ts";

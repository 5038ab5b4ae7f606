/** `heddle/client`: threads, from anywhere that has `fetch`. Every line here is public. */
export { connect } from "./connect.ts";
export type { AgentInfo, ConnectOptions, HeddleClient } from "./connect.ts";
export type { ConnectionState } from "./follower.ts";
export type { FrontendTool, PendingToolCall } from "./frontend-tools.ts";
export type { Token } from "./http.ts";
export { randomId } from "./random-id.ts";
export type { LogOptions, LoggedEvent } from "./read-log.ts";
export { resumableFetch } from "./resumable-fetch.ts";
export type { ResumableFetchOptions, RunFetch } from "./resumable-fetch.ts";
export type { RetryOptions } from "./retry.ts";
export type { Run } from "./run.ts";
export { Thread } from "./thread.ts";
export type { Answers, NewInput, RunOptions, RunRequest, ToolResult } from "./thread.ts";
export type {
  RunState,
  RunSummary,
  ThreadDetails,
  ThreadPage,
  ThreadSnapshot,
  ThreadSummary,
  ToolCallState,
} from "./thread-info.ts";
export { Threads } from "./threads.ts";
export type { LiveThreads, ThreadQuery } from "./threads.ts";
export type { OnBusy } from "./transport.ts";

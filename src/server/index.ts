/**
 * `heddle/server`: who listens, without any transport. Starts and stops runs, and lets viewers attach to them.
 * `heddle/server/fastify` puts it on HTTP.
 */
export type { AgentFactory, AgentSource } from "./agents-of.ts";
export { createHeddle } from "./create-heddle.ts";
export type { Heddle, HeddleOptions } from "./create-heddle.ts";
export { mayBegin, roleEverywhere, roleMissing } from "./access.ts";
export { checkAgent } from "./check-agent.ts";
export type { AgentCheck, CheckOptions } from "./check-agent.ts";
export type { CheckFinding } from "./check-answer.ts";
export type { ConnectOptions, Conversations } from "./conversations.ts";
export { ANYBODY, DEFAULT_TENANT, ROLES, isAtLeast } from "./auth/index.ts";
export type { Principal, Role } from "./auth/index.ts";
export { MEMBER_ROLES } from "./read-member.ts";
export type { AttachOptions, Attachment, LoggedEvent } from "./attach.ts";
export type { Health } from "./check-health.ts";
export { followStarted } from "./follow-started.ts";
export type { Opening } from "./opening.ts";
export { PROTOBUF, SSE } from "./encoding.ts";
export type { Encoding } from "./encoding.ts";
export type { RepairReporter, Run, RunErrorReporter, RunLogger } from "./executor.ts";
export type { RunningRun } from "./live-runs.ts";
export type { RecentError } from "./recent-errors.ts";
export type { ServerStatus } from "./server-status.ts";
export type { StartOptions } from "./run-ask.ts";
export type { StartedRun } from "./runs.ts";
export type { ShowOptions } from "./show.ts";
export { BUSY_POLICIES, CALL_POLICIES } from "./post-rules.ts";
export type { BusyPolicy, PostRules } from "./post-rules.ts";
export { ROOT } from "./prepare-run.ts";
export type { Place } from "./prepare-run.ts";
export type { ThreadListChange } from "./list-stretch.ts";
export type { ThreadDetails } from "./thread-details.ts";
export type { SnapshotOptions, ThreadSnapshot } from "./thread-snapshot.ts";
export type { ThreadListPage, ThreadSummary } from "./thread-summary.ts";
export type { BroughtThread, Threads, ThreadsRequest } from "./threads.ts";
export { METRICS, PROMETHEUS_MEDIA_TYPE } from "./telemetry/index.ts";
export type {
  CommitSummary,
  Metric,
  MetricName,
  Telemetry,
  TelemetryOptions,
  TraceRequest,
} from "./telemetry/index.ts";
export { tokenSum } from "./token-sum.ts";
export type { TokenSum } from "./token-sum.ts";
export type { ToolCallState } from "./tool-call-states.ts";
export type { HistoryRule } from "./shorten-history.ts";
export { VIEW_DEFAULTS, rulesFor, withRules } from "./view-rules.ts";
export type { ViewRules, Views } from "./view-rules.ts";

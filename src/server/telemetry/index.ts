/** What a server tells of itself: metrics, spans, and what is noted of each run. Not a subpath of its own. */
export type { CommitSummary } from "./commit-times.ts";
export { METRICS } from "./metrics.ts";
export type { Metric, MetricName } from "./metrics.ts";
export type { RunRecord } from "./run-record.ts";
export { PROMETHEUS_MEDIA_TYPE } from "./scraper.ts";
export { Telemetry, parentOf, traceMetadata } from "./telemetry.ts";
export type { TelemetryOptions } from "./telemetry.ts";
export type { TraceRequest } from "./trace-parent.ts";

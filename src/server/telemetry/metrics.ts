/**
 * Every metric that a server has, in one table: its instruments, `/metrics` and the page in docs/operations.md follow.
 *
 * Labels hold few values: names that agents declare, and codes of our own tables. What a client or a model can choose (ids of
 * threads, runs, users and tenants) is never one.
 */

/** Bounds of the buckets of what takes from a millisecond to a minute. */
const SHORT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Bounds of the buckets of what may take an hour. */
const LONG_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

/** One metric. */
export interface Metric {
  /** Its name, everywhere. */
  readonly name: string;
  /** What it does: goes up, is as it is, or counts by size. */
  readonly kind: "counter" | "gauge" | "histogram";
  /** What it is counted in, as OpenTelemetry writes units. */
  readonly unit: string;
  /** Its labels, in the order in which values are given. */
  readonly labels: readonly string[];
  /** What it tells. */
  readonly help: string;
  /** Bounds of its buckets, of a histogram. */
  readonly buckets?: readonly number[];
}

/** The metrics. */
export const METRICS = {
  /** Begun. */
  runsStarted: {
    name: "heddle_runs_started_total",
    kind: "counter",
    unit: "{run}",
    labels: ["agent"],
    help: "Runs that were begun here.",
  },
  /** Ended. */
  runsEnded: {
    name: "heddle_runs_ended_total",
    kind: "counter",
    unit: "{run}",
    labels: ["agent", "status"],
    help: "Runs of this process that are over: finished, interrupted, cancelled, failed, or lost to another worker.",
  },
  /** Under way. */
  runsRunning: {
    name: "heddle_runs_running",
    kind: "gauge",
    unit: "{run}",
    labels: [],
    help: "Runs that are executed here now.",
  },
  /** How long runs take. */
  runSeconds: {
    name: "heddle_run_duration_seconds",
    kind: "histogram",
    unit: "s",
    labels: ["agent"],
    help: "From the request for a run to its end in the log.",
    buckets: LONG_SECONDS,
  },
  /** How long the first event takes. */
  firstEventSeconds: {
    name: "heddle_run_first_event_seconds",
    kind: "histogram",
    unit: "s",
    labels: ["agent"],
    help: "From the request for a run to the first event of its agent in the log.",
    buckets: SHORT_SECONDS,
  },
  /** Events. */
  events: {
    name: "heddle_events_total",
    kind: "counter",
    unit: "{event}",
    labels: ["agent"],
    help: "Events of runs of this process that were committed.",
  },
  /** How long tools take. */
  toolSeconds: {
    name: "heddle_tool_duration_seconds",
    kind: "histogram",
    unit: "s",
    labels: ["tool"],
    help: "From the beginning of a tool call to its result. Calls that are answered by a later run are not in it.",
    buckets: SHORT_SECONDS,
  },
  /** How long commits take. */
  commitSeconds: {
    name: "heddle_commit_seconds",
    kind: "histogram",
    unit: "s",
    labels: [],
    help: "Time of a commit to the store, with every attempt that it took.",
    buckets: SHORT_SECONDS,
  },
  /** What commits hold. */
  commitBatches: {
    name: "heddle_commit_batches_total",
    kind: "counter",
    unit: "{batch}",
    labels: [],
    help: "Batches in those commits: one for each run that had something to say.",
  },
  /** Viewers. */
  viewers: {
    name: "heddle_viewers",
    kind: "gauge",
    unit: "{viewer}",
    labels: [],
    help: "Who follows a thread or a run here now.",
  },
  /** How far they are behind. */
  viewerLag: {
    name: "heddle_viewer_lag_events",
    kind: "gauge",
    unit: "{event}",
    labels: [],
    help: "Events of its log that the slowest viewer has not been given yet.",
  },
  /** WebSockets. */
  sockets: {
    name: "heddle_sockets",
    kind: "gauge",
    unit: "{socket}",
    labels: [],
    help: "WebSockets that are open here now.",
  },
  /** Readers who come back. */
  reconnects: {
    name: "heddle_reconnects_total",
    kind: "counter",
    unit: "{attachment}",
    labels: [],
    help: "Readers who came back to a thread or a run with a cursor, over SSE or a WebSocket.",
  },
  /** Runs that others left. */
  runsReaped: {
    name: "heddle_runs_reaped_total",
    kind: "counter",
    unit: "{run}",
    labels: [],
    help: "Runs whose worker was gone, and that were ended here.",
  },
  /** Repairs. */
  repairs: {
    name: "heddle_repairs_total",
    kind: "counter",
    unit: "{repair}",
    labels: ["rule"],
    help: "What had to be put right in the events of agents, by the rule that they broke.",
  },
  /** Trouble with the store. */
  storeErrors: {
    name: "heddle_store_errors_total",
    kind: "counter",
    unit: "{error}",
    labels: ["code"],
    help: "Failures of the store: those that were tried again, those on the side, and those that refused a request.",
  },
  /** Refusals. */
  rejections: {
    name: "heddle_rejections_total",
    kind: "counter",
    unit: "{request}",
    labels: ["code"],
    help: "Requests that were refused, by the code of the error.",
  },
} as const satisfies Readonly<Record<string, Metric>>;

/** A metric, by its name in the table. */
export type MetricName = keyof typeof METRICS;

/** The metrics of one kind. */
export type MetricOf<K extends Metric["kind"]> = {
  [M in MetricName]: (typeof METRICS)[M]["kind"] extends K ? M : never;
}[MetricName];

/** One text for each label of a metric. */
export type LabelsOf<M extends MetricName> = Texts<(typeof METRICS)[M]["labels"]>;

type Texts<L extends readonly string[]> = { readonly [I in keyof L]: string };

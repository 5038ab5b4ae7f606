/**
 * What a server tells of itself: numbers for `/metrics` and for the host's meters, spans for the host's tracer.
 *
 * Where the host has set up OpenTelemetry, or hands providers over, everything goes there; where it has not, spans cost
 * nothing and are nowhere, and a trace that a request belongs to is passed on as it came.
 */
import { ROOT_CONTEXT, SpanKind, context, metrics, trace } from "@opentelemetry/api";
import type { Context, MeterProvider, Tracer, TracerProvider } from "@opentelemetry/api";
import type { Agent } from "../../agent/index.ts";
import { ERRORS, HeddleError, METADATA_KEY } from "../../protocol/index.ts";
import type { ErrorCode, Event } from "../../protocol/index.ts";
import type { RunInfo } from "../../store/index.ts";
import { BoundedNames } from "./bounded-names.ts";
import { CommitTimes } from "./commit-times.ts";
import { Measures } from "./measures.ts";
import type { Gauges } from "./measures.ts";
import { RunRecord, STATUSES } from "./run-record.ts";
import type { RecordLine } from "./run-record.ts";
import { RunSpans, attributesOf } from "./run-spans.ts";
import type { TracedRun } from "./run-spans.ts";
import { Scraper } from "./scraper.ts";
import { readTrace } from "./trace-parent.ts";
import type { TraceRequest } from "./trace-parent.ts";

/** Where spans and numbers go. */
export interface TelemetryOptions {
  /** Makes spans. Default: the one that is set for the process, if there is one. */
  readonly tracerProvider?: TracerProvider;
  /** Takes the numbers, beside `/metrics`. Default: the one that is set for the process, if there is one. */
  readonly meterProvider?: MeterProvider;
}

/** What instruments and tracers are named after. */
const SCOPE = "heddle";

/** Largest payload of an annotation that its span repeats, in characters of JSON. */
const MAX_PAYLOAD_CHARS = 1024;

/** Counts, measures and traces for one server. */
export class Telemetry {
  readonly #scraper = new Scraper(SCOPE);
  readonly #measures: Measures;
  readonly #tracer: Tracer;
  readonly #tools: BoundedNames;
  /** How long the newest commits took. */
  readonly commits = new CommitTimes();
  /** WebSockets that are open: whoever serves them keeps the number. */
  sockets = 0;

  constructor(options: TelemetryOptions, agents: readonly Agent[], gauges: Omit<Gauges, "sockets">) {
    const { tracerProvider = trace.getTracerProvider(), meterProvider = metrics.getMeterProvider() } = options;
    this.#tracer = tracerProvider.getTracer(SCOPE);
    this.#measures = new Measures([this.#scraper.meter, meterProvider.getMeter(SCOPE)], {
      ...gauges,
      sockets: () => this.sockets,
    });
    this.#tools = new BoundedNames(agents.flatMap(({ tools }) => tools.map(({ name }) => name)));
    this.#begin(agents);
  }

  /** What can be known to come is there at zero: an increase from nothing is not seen as one. */
  #begin(agents: readonly Agent[]): void {
    for (const { name } of agents) {
      this.#measures.tally("runsStarted", name);
      this.#measures.tally("events", name);
      for (const status of STATUSES) this.#measures.tally("runsEnded", name, status);
    }
    for (const code of Object.keys(ERRORS)) if (isOfStore(code)) this.#measures.tally("storeErrors", code);
  }

  /** The metrics, in the text form of Prometheus. */
  scrape(): Promise<string> {
    return this.#scraper.scrape();
  }

  /** Begins the record of a run, which is part of whatever `parent` is part of. */
  run(run: TracedRun, parent: Context, line: RecordLine): RunRecord {
    const spans = new RunSpans(this.#tracer, run, parent);
    return new RunRecord({ agent: run.agent, measures: this.#measures, tools: this.#tools, spans }, line);
  }

  /** A commit is done. */
  committed(durationMs: number, batches: number): void {
    this.commits.add(durationMs);
    this.#measures.record("commitSeconds", durationMs / 1000);
    this.#measures.tally("commitBatches").value += batches;
  }

  /** Somebody came back with a cursor. */
  reconnected(): void {
    this.#measures.tally("reconnects").value += 1;
  }

  /** What a counter has come to, for each value of one of its labels. */
  counts: Measures["counts"] = (metric, label) => this.#measures.counts(metric, label);

  /** What a counter has come to, whatever its labels. */
  sum: Measures["sum"] = (metric) => this.#measures.sum(metric);

  /** Runs were ended whose worker was gone. */
  reaped(runs: number): void {
    this.#measures.tally("runsReaped").value += runs;
  }

  /** Something was put right in the events of an agent. */
  repaired(rule: string): void {
    this.#measures.tally("repairs", rule).value += 1;
  }

  /** The store failed, or something on the side did. */
  failed(error: unknown): void {
    this.#measures.tally("storeErrors", error instanceof HeddleError ? error.code : "unknown").value += 1;
  }

  /** A request was refused. */
  rejected(code: ErrorCode): void {
    this.#measures.tally("rejections", code).value += 1;
    if (isOfStore(code)) this.#measures.tally("storeErrors", code).value += 1;
  }

  /** Somebody annotated a run: that is told in the trace of the run, where it has one. */
  annotated(run: RunInfo, started: Event | undefined, annotation: Event): void {
    const parent = readTrace(traceOf(started));
    if (parent === undefined || annotation.type !== "META") return;
    const payload = JSON.stringify(annotation.payload);
    const attributes = {
      ...attributesOf(run),
      "agui.meta.type": annotation.metaType,
      ...(payload.length <= MAX_PAYLOAD_CHARS && { "agui.meta.payload": payload }),
    };
    const inRun = trace.setSpanContext(ROOT_CONTEXT, parent);
    this.#tracer.startSpan("agui.annotation", { kind: SpanKind.SERVER, attributes }, inRun).end();
  }

  /** Lets go of everything; nothing is told any more. */
  async close(): Promise<void> {
    this.#measures.close();
    await this.#scraper.close();
  }
}

const isOfStore = (code: string): boolean => code.startsWith("store-");

/** What a run that is asked for now is part of: the host's own span, where there is one, or else the request's trace. */
export function parentOf(headers: TraceRequest): Context {
  const active = context.active();
  const remote = trace.getSpanContext(active) === undefined ? readTrace(headers) : undefined;
  return remote === undefined ? active : trace.setSpanContext(active, remote);
}

/** What the start of a run says about its trace, in our part of its metadata; nothing where it has none. */
export function traceMetadata({ traceId, headers }: RunSpans): Readonly<Record<string, string>> {
  return traceId === undefined || headers === undefined ? {} : { traceId, traceparent: headers.traceparent };
}

function traceOf(started: Event | undefined): TraceRequest {
  const ours: unknown = started?.metadata?.[METADATA_KEY];
  const isTraced = typeof ours === "object" && ours !== null && "traceparent" in ours;
  return isTraced && typeof ours.traceparent === "string" ? { traceparent: ours.traceparent } : {};
}

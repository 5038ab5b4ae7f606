/**
 * The instruments of the table, on every meter that is given: the server's own, and the host's.
 *
 * What is counted is counted in numbers of ours and read when somebody looks, so that counting costs an addition whoever
 * looks, or nobody. What is measured is recorded at once; that happens a few times in a run, and once in a commit.
 */
import type { Attributes, Histogram, Meter, Observable, ObservableCallback } from "@opentelemetry/api";
import { METRICS } from "./metrics.ts";
import type { LabelsOf, Metric, MetricName, MetricOf } from "./metrics.ts";

/** One number that goes up. */
export interface Tally {
  /** How often so far. */
  value: number;
}

/** What is looked at when somebody asks. */
export type Gauges = Readonly<Record<MetricOf<"gauge">, () => number>>;

interface Labelled extends Tally {
  readonly attributes: Attributes;
}

/** Counts and measures. */
export class Measures {
  readonly #tallies = new Map<MetricName, Map<string, Labelled>>();
  readonly #histograms = new Map<MetricName, readonly Histogram[]>();
  readonly #observed: { readonly instrument: Observable; readonly callback: ObservableCallback }[] = [];

  constructor(meters: readonly Meter[], gauges: Gauges) {
    for (const [metric, row] of rows()) {
      if (row.kind === "histogram") {
        this.#histograms.set(
          metric,
          meters.map((meter) => meter.createHistogram(row.name, optionsOf(row))),
        );
      } else {
        const look = isGauge(metric) ? gauges[metric] : undefined;
        for (const meter of meters) this.#observe(meter, metric, row, look);
        // What has no labels is there from the beginning: an increase from nothing is not seen as one.
        if (row.kind === "counter" && row.labels.length === 0) this.#tally(metric, []);
      }
    }
  }

  #observe(meter: Meter, metric: MetricName, row: Metric, look: (() => number) | undefined): void {
    const isCounter = row.kind === "counter";
    const instrument = isCounter
      ? meter.createObservableCounter(row.name, optionsOf(row))
      : meter.createObservableGauge(row.name, optionsOf(row));
    const callback: ObservableCallback = (result) => {
      if (look !== undefined) return result.observe(look());
      for (const { value, attributes } of this.#tallies.get(metric)?.values() ?? []) result.observe(value, attributes);
    };
    instrument.addCallback(callback);
    this.#observed.push({ instrument, callback });
  }

  /** The number of a counter, for one value of each of its labels. It may be kept, and added to. */
  tally<M extends MetricOf<"counter">>(metric: M, ...labels: LabelsOf<M>): Tally {
    return this.#tally(metric, labels);
  }

  #tally(metric: MetricName, labels: readonly string[]): Tally {
    const tallies = this.#tallies.get(metric) ?? new Map<string, Labelled>();
    this.#tallies.set(metric, tallies);
    const key = labels.join("\n");
    const tally = tallies.get(key) ?? { value: 0, attributes: attributesOf(metric, labels) };
    tallies.set(key, tally);
    return tally;
  }

  /** What a counter has come to, for each value of one of its labels. */
  counts<M extends MetricOf<"counter">>(metric: M, label: (typeof METRICS)[M]["labels"][number]): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { value, attributes } of this.#tallies.get(metric)?.values() ?? []) {
      const name = String(attributes[label]);
      sums.set(name, (sums.get(name) ?? 0) + value);
    }
    return sums;
  }

  /** What a counter has come to, whatever its labels. */
  sum(metric: MetricOf<"counter">): number {
    let sum = 0;
    for (const { value } of this.#tallies.get(metric)?.values() ?? []) sum += value;
    return sum;
  }

  /** Adds a measured value to a histogram. */
  record<M extends MetricOf<"histogram">>(metric: M, value: number, ...labels: LabelsOf<M>): void {
    const attributes = attributesOf(metric, labels);
    for (const histogram of this.#histograms.get(metric) ?? []) histogram.record(value, attributes);
  }

  /** Nobody is told any more. */
  close(): void {
    for (const { instrument, callback } of this.#observed.splice(0)) instrument.removeCallback(callback);
  }
}

const NAMES = Object.keys(METRICS).filter((name): name is MetricName => name in METRICS);

const rows = (): readonly (readonly [MetricName, Metric])[] => NAMES.map((name) => [name, METRICS[name]]);

const isGauge = (metric: MetricName): metric is MetricOf<"gauge"> => METRICS[metric].kind === "gauge";

const optionsOf = ({ help, unit, buckets }: Metric): object => ({
  description: help,
  unit,
  ...(buckets !== undefined && { advice: { explicitBucketBoundaries: [...buckets] } }),
});

const attributesOf = (metric: MetricName, labels: readonly string[]): Attributes =>
  Object.fromEntries(METRICS[metric].labels.map((label, index) => [label, labels[index] ?? ""]));

/**
 * Metrics as a parser of Prometheus' text form reads them.
 *
 * It reads every line, but cannot join the lines of a histogram whose count comes before its buckets, as OpenTelemetry writes
 * them: so the types of histograms are kept apart, and each of their series is a metric of its own.
 */
import parse from "parse-prometheus-text-format";

/** What was read. */
export interface ReadMetrics {
  /** The type of a metric. */
  readonly types: ReadonlyMap<string, string>;
  /** What a metric is explained by. */
  readonly helps: ReadonlyMap<string, string>;
  /** Every series: its name, its labels, its value. */
  readonly series: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
  /** The value of the series with these labels; undefined where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

const HISTOGRAM = /^# TYPE (\S+) histogram\n/gm;
const HELP = /^# HELP (\S+) (.*)$/gm;

const keyOf = (labels: Readonly<Record<string, string>>): string => JSON.stringify(Object.entries(labels).toSorted());

/** Reads a text. */
export function readMetrics(text: string): ReadMetrics {
  if (!text.endsWith("\n")) throw new Error("The text does not end with a line end.");
  const histograms = Array.from(text.matchAll(HISTOGRAM), ([, name = ""]) => [name, "HISTOGRAM"] as const);
  const families = parse(text.replaceAll(HISTOGRAM, ""));
  const typed = families.filter(({ type }) => type !== "UNTYPED").map(({ name, type }) => [name, type] as const);
  const series = families.flatMap(({ name, metrics }) =>
    metrics.map(({ value, labels = {} }) => ({ name, labels, value: Number(value) })),
  );
  return {
    types: new Map([...typed, ...histograms]),
    helps: new Map(Array.from(text.matchAll(HELP), ([, name = "", help = ""]) => [name, help])),
    series,
    value: (name, labels = {}) =>
      series.find((each) => each.name === name && keyOf(each.labels) === keyOf(labels))?.value,
  };
}

/** Asks a server. */
export async function scrape(url: string): Promise<ReadMetrics> {
  const answer = await fetch(`${url}/metrics`);
  const text = await answer.text();
  if (answer.headers.get("content-type") !== "text/plain; version=0.0.4; charset=utf-8") throw new Error(text);
  return readMetrics(text);
}

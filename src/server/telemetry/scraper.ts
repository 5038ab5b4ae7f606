/** What `/metrics` answers: a meter of the server's own, and its metrics in the text form of Prometheus. */
import type { Meter } from "@opentelemetry/api";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";

/** The content type of that text. */
export const PROMETHEUS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Reads when it is asked to, and never by itself. */
class OnDemandReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

/** Metrics that are read as text. */
export class Scraper {
  /** What to measure with. */
  readonly meter: Meter;
  readonly #reader = new OnDemandReader();
  readonly #provider = new MeterProvider({ readers: [this.#reader] });

  constructor(name: string) {
    this.meter = this.#provider.getMeter(name);
  }

  /** The metrics as they are now. */
  async scrape(): Promise<string> {
    const { resourceMetrics, errors } = await this.#reader.collect();
    if (errors.length > 0) throw errors[0];
    // Loaded by the first who asks: a server that nobody watches starts without it.
    const { PrometheusSerializer } = await import("@opentelemetry/exporter-prometheus");
    // Neither the resource nor the scope says anything here that the address does not.
    return new PrometheusSerializer(undefined, false, undefined, true, true).serialize(resourceMetrics);
  }

  /** Lets go of everything. */
  async close(): Promise<void> {
    await this.#provider.shutdown();
  }
}

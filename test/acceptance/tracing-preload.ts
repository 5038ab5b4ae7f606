/**
 * For `node --import`: sets OpenTelemetry up as a host would before it starts a server, with spans that are written to the
 * file TRACE_FILE, one a line.
 */
import { appendFileSync } from "node:fs";
import { trace } from "@opentelemetry/api";
import { SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { SpanExporter } from "@opentelemetry/sdk-trace";

/** A span, as it is written. */
export interface WrittenSpan {
  /** Its name. */
  readonly name: string;
  /** The trace that it belongs to. */
  readonly traceId: string;
  /** Its id. */
  readonly spanId: string;
  /** The span above it. */
  readonly parentSpanId?: string;
  /** What it says. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

const exporter: SpanExporter = {
  export(spans, done) {
    for (const span of spans) {
      const { name, attributes, parentSpanContext } = span;
      const { traceId, spanId } = span.spanContext();
      const written = { name, traceId, spanId, parentSpanId: parentSpanContext?.spanId, attributes };
      appendFileSync(process.env["TRACE_FILE"] ?? "", `${JSON.stringify(written)}\n`);
    }
    done({ code: 0 });
  },
  shutdown: async () => undefined,
};

if (process.env["TRACE_FILE"] !== undefined) {
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
}

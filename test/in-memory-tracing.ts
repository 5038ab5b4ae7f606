/**
 * OpenTelemetry as a host sets it up, with spans that stay in memory: a tracer, and a manager that carries the active span
 * through promises, which is what hosts use a package for.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { ROOT_CONTEXT, context } from "@opentelemetry/api";
import type { Context, ContextManager } from "@opentelemetry/api";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { onTestFinished } from "vitest";

/** Carries the active context through promises. */
export class AsyncContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    work: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(active, () => work.call(self, ...args));
  }

  bind<T>(_active: Context, target: T): T {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}

/** Spans of a test. */
export interface Tracing {
  /** What to make spans with. */
  readonly tracerProvider: TracerProvider;
  /** The spans that have ended, in the order in which they did. */
  spans(): readonly ReadableSpan[];
  /** Those of a name. */
  named(name: string): readonly ReadableSpan[];
}

/** Sets it up until the test has ended. */
export function startTracing(): Tracing {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  context.setGlobalContextManager(new AsyncContextManager());
  onTestFinished(async () => {
    context.disable();
    await tracerProvider.shutdown();
  });
  const spans = (): readonly ReadableSpan[] => exporter.getFinishedSpans();
  return { tracerProvider, spans, named: (name) => spans().filter((span) => span.name === name) };
}

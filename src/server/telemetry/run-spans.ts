/**
 * The spans of one run: itself, and below it each tool call and each step of its model, as its events tell them.
 *
 * `agui.run` lasts from the request for the run to its end in the log. `execute_tool` is a tool call, from its beginning to
 * its result. `chat` is what a model says in one go: from the first message, reasoning or call after the run's start, or
 * after a tool's result, to the last of them before the next result, or before the end. Names are those of OpenTelemetry's
 * conventions for generative AI where there is one.
 */
import { SpanKind, SpanStatusCode, context, trace } from "@opentelemetry/api";
import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api";
import type { Agent, TraceHeaders } from "../../agent/index.ts";
import type { RunEnd, RunKey } from "../../store/index.ts";
import { tokenSum } from "../token-sum.ts";
import { writeTrace } from "./trace-parent.ts";

/** A run, as its spans tell it. */
export interface TracedRun extends RunKey {
  /** Who runs. */
  readonly agent: string;
  /** The run that it hangs on. */
  readonly parentRunId: string | undefined;
}

/** Longest name of a tool in the name of a span. */
const MAX_NAME_CHARS = 100;

/** The spans of a run. */
export class RunSpans {
  /** The headers that carry the trace on; undefined where the run has none. */
  readonly headers: TraceHeaders | undefined;
  /** Id of the trace; undefined where the run has none. */
  readonly traceId: string | undefined;
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #context: Context;

  constructor(tracer: Tracer, run: TracedRun, parent: Context) {
    const attributes = { ...attributesOf(run), "gen_ai.operation.name": "invoke_agent" };
    this.#tracer = tracer;
    this.#span = tracer.startSpan("agui.run", { kind: SpanKind.SERVER, attributes }, parent);
    this.#context = trace.setSpan(parent, this.#span);
    const named = this.#span.spanContext();
    this.headers = writeTrace(named);
    this.traceId = this.headers && named.traceId;
  }

  /** Whether anybody keeps them. */
  get kept(): boolean {
    return this.#span.isRecording();
  }

  /** The same agent; spans that anything in it makes are below the run's. */
  around(agent: Agent): Agent {
    if (this.traceId === undefined) return agent;
    const inside = this.#context;
    return {
      ...agent,
      async run(given) {
        const said: unknown = await context.with(inside, () => agent.run(given));
        return isAsyncIterable(said) ? within(inside, said) : said;
      },
    };
  }

  /** A tool call that is over. */
  tool(name: string, toolCallId: string, outcome: string, startMs: number, endMs: number): void {
    const attributes = {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      "gen_ai.tool.call.id": toolCallId,
      "agui.tool.outcome": outcome,
    };
    const span = this.#below(`execute_tool ${name.slice(0, MAX_NAME_CHARS)}`, attributes, startMs);
    if (outcome === "failed") span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endMs);
  }

  /** A step of the model that is over. */
  step(startMs: number, endMs: number): void {
    this.#below("chat", { "gen_ai.operation.name": "chat" }, startMs).end(endMs);
  }

  #below(name: string, attributes: Attributes, startTime: number): Span {
    return this.#tracer.startSpan(name, { attributes, startTime }, this.#context);
  }

  /** The run is over. */
  end(status: string, events: number, end: RunEnd | undefined): void {
    const { error, usage } = end ?? {};
    this.#span.setAttributes({ "agui.outcome": status, "agui.event.count": events, ...usageOf(usage ?? []) });
    if (error !== undefined) this.#span.setAttribute("error.type", error.code ?? "agent-failed");
    if (status === "failed" || status === "lost") this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
  }
}

/** What a span says of the run that it is about. */
export const attributesOf = ({ tenant, threadId, runId, agent, parentRunId }: TracedRun): Attributes => ({
  "agui.thread.id": threadId,
  "agui.run.id": runId,
  ...(parentRunId !== undefined && { "agui.run.parent.id": parentRunId }),
  "agui.tenant": tenant,
  "gen_ai.agent.name": agent,
  "gen_ai.conversation.id": threadId,
});

function usageOf(usage: NonNullable<RunEnd["usage"]>): Attributes {
  const sum = tokenSum(usage);
  const models = [...new Set(usage.flatMap(({ model }) => model ?? []))];
  return {
    ...(models.length === 1 && { "gen_ai.response.model": models[0] }),
    ...(sum.inputTokens !== undefined && { "gen_ai.usage.input_tokens": sum.inputTokens }),
    ...(sum.outputTokens !== undefined && { "gen_ai.usage.output_tokens": sum.outputTokens }),
    ...(sum.cachedInputTokens !== undefined && { "gen_ai.usage.cache_read.input_tokens": sum.cachedInputTokens }),
    ...(sum.cacheWriteInputTokens !== undefined && {
      "gen_ai.usage.cache_creation.input_tokens": sum.cacheWriteInputTokens,
    }),
  };
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** A generator does its work when it is asked for more, so that is what happens inside. */
function within(inside: Context, said: AsyncIterable<unknown>): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = context.with(inside, () => said[Symbol.asyncIterator]());
      return {
        next: () => context.with(inside, () => iterator.next()),
        return: async (value: unknown) =>
          (await context.with(inside, () => iterator.return?.(value))) ?? { done: true, value },
      };
    },
  };
}

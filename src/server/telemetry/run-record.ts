/**
 * What is noted of one run while it is executed: its numbers, its spans, and the lines of the log about it.
 *
 * It is told of every event, and of most wants nothing: deltas pass with one look into a table. Nothing that an event says is
 * noted, only that it came, what tool was called, and how it went.
 */
import type { Event, EventType } from "../../protocol/index.ts";
import { ENDINGS } from "../../store/index.ts";
import type { RunEnd } from "../../store/index.ts";
import { failureIn } from "../branch-moments.ts";
import { tokenSum } from "../token-sum.ts";
import type { BoundedNames } from "./bounded-names.ts";
import type { Measures, Tally } from "./measures.ts";
import type { RunSpans } from "./run-spans.ts";

/** Takes a line about the run, and the id of its trace. */
export type RecordLine = (
  message: string,
  fields: Readonly<Record<string, unknown>>,
  traceId: string | undefined,
) => void;

/** What a record writes to. */
export interface RecordParts {
  /** Who runs. */
  readonly agent: string;
  /** Numbers. */
  readonly measures: Measures;
  /** Names of tools that are counted under their own. */
  readonly tools: BoundedNames;
  /** Spans. */
  readonly spans: RunSpans;
}

/** How a run can be over here. */
export const STATUSES = [...ENDINGS, "lost"] as const;

/** Most calls whose results are waited for. */
const MAX_OPEN_CALLS = 1000;

/** Longest name of a tool in a line. */
const MAX_NAME_CHARS = 100;

/** The events that say when a model speaks, and when a tool is done. */
const NOTED: ReadonlySet<EventType> = new Set([
  "TEXT_MESSAGE_START",
  "TEXT_MESSAGE_END",
  "REASONING_START",
  "REASONING_END",
  "REASONING_MESSAGE_START",
  "REASONING_MESSAGE_END",
  "TOOL_CALL_START",
  "TOOL_CALL_END",
  "TOOL_CALL_RESULT",
]);

/** The record of a run. */
export class RunRecord {
  /** Its spans. */
  readonly spans: RunSpans;
  readonly #parts: RecordParts;
  readonly #line: (message: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly #committed: Tally;
  readonly #calls = new Map<string, { readonly name: string; readonly startMs: number }>();
  readonly #startMs = nowMs();
  #events = 0;
  #hasSpoken = false;
  #step: { readonly startMs: number; endMs: number } | undefined;

  constructor(parts: RecordParts, line: RecordLine) {
    this.spans = parts.spans;
    this.#parts = parts;
    this.#line = (message, fields) => line(message, fields, parts.spans.traceId);
    this.#committed = parts.measures.tally("events", parts.agent);
  }

  /** How many events are in the log. */
  get events(): number {
    return this.#events;
  }

  /** The run is not begun after all. */
  drop(): void {
    this.spans.end("not-started", 0, undefined);
  }

  /** The run is begun: so many events are in the log. */
  started(events: number): void {
    const { measures, agent } = this.#parts;
    measures.tally("runsStarted", agent).value += 1;
    this.#count(events);
    this.#line("run started", {});
  }

  /** So many more events are in the log. */
  committed(events: number): void {
    this.#count(events);
    if (this.#hasSpoken) return;
    this.#hasSpoken = true;
    this.#parts.measures.record("firstEventSeconds", (nowMs() - this.#startMs) / 1000, this.#parts.agent);
  }

  #count(events: number): void {
    this.#events += events;
    this.#committed.value += events;
  }

  /** The agent said something. */
  saw(event: Event): void {
    if (!NOTED.has(event.type)) return;
    const atMs = nowMs();
    if (event.type === "TOOL_CALL_RESULT") this.#endStep();
    else if (this.#step === undefined) this.#step = { startMs: atMs, endMs: atMs };
    else this.#step.endMs = atMs;
    if (event.type === "TOOL_CALL_START" && this.#calls.size < MAX_OPEN_CALLS) {
      this.#calls.set(event.toolCallId, { name: event.toolCallName, startMs: atMs });
    }
    if (event.type === "TOOL_CALL_RESULT") {
      const isFailed = failureIn(event.metadata) !== undefined;
      this.#endCall(event.toolCallId, isFailed ? "failed" : "completed", atMs);
    }
  }

  #endCall(toolCallId: string, outcome: "completed" | "failed", endMs: number): void {
    const call = this.#calls.get(toolCallId);
    // A result of a call that another run made.
    if (call === undefined) return;
    this.#calls.delete(toolCallId);
    const { name, startMs } = call;
    const { measures, tools } = this.#parts;
    measures.record("toolSeconds", (endMs - startMs) / 1000, tools.of(name));
    if (this.spans.kept) this.spans.tool(name, toolCallId, outcome, startMs, endMs);
    this.#line("tool call ended", {
      tool: name.slice(0, MAX_NAME_CHARS),
      toolCallId,
      outcome,
      durationMs: Math.round(endMs - startMs),
    });
  }

  #endStep(): void {
    if (this.#step !== undefined && this.spans.kept) this.spans.step(this.#step.startMs, this.#step.endMs);
    this.#step = undefined;
  }

  /** The run is over; without an end where somebody else has it, or nobody could end it. */
  ended(end: RunEnd | undefined): void {
    const { measures, agent } = this.#parts;
    const status: (typeof STATUSES)[number] = end?.status ?? "lost";
    const endMs = nowMs();
    this.#endStep();
    if (this.spans.kept) {
      for (const [id, { name, startMs }] of this.#calls) this.spans.tool(name, id, "pending", startMs, endMs);
    }
    measures.tally("runsEnded", agent, status).value += 1;
    measures.record("runSeconds", (endMs - this.#startMs) / 1000, agent);
    this.spans.end(status, this.#events, end);
    const { error, usage } = end ?? {};
    this.#line("run ended", {
      status,
      durationMs: Math.round(endMs - this.#startMs),
      events: this.#events,
      ...(error !== undefined && { code: error.code ?? "agent-failed" }),
      ...(usage !== undefined && { usage: tokenSum(usage) }),
    });
  }
}

/** Milliseconds since 1970, finer than whole ones and never backwards. */
const nowMs = (): number => performance.timeOrigin + performance.now();

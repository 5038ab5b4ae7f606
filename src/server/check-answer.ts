/**
 * Judges the answer of an agent that is tried, frame by frame, as it comes: by the rules that a gateway repairs, and with all
 * that would be put right told in place of being put right.
 *
 * What is kept is bounded whatever comes: a sample, the beginning of the text, and so many findings.
 */
import { parseEvent } from "../protocol/index.ts";
import type { Event, Message, Warning } from "../protocol/index.ts";
import { createNormaliseMemory, normaliseEvent } from "../protocol/dialects/index.ts";
import { createRepairState, repair } from "../stream/repair/index.ts";
import type { Repair } from "../stream/repair/index.ts";
import { detachEvent } from "./detach-event.ts";
import { EchoFilter } from "./echo-filter.ts";
import { DEFAULT_LIMITS } from "./run-limits.ts";

/** Something that is wrong. */
export interface CheckFinding {
  /** How bad: `error` ends a run, `repair` breaks clients unless it is put right, `warning` is left out or translated. */
  readonly kind: "repair" | "warning" | "error";
  /** The rule that is broken, or the code of the warning or error. */
  readonly rule?: string;
  /** What is wrong, in one sentence. */
  readonly message: string;
  /** Which event, counted from 0. */
  readonly at?: number;
}

/** What an answer came to. */
export interface JudgedAnswer {
  /** When the first event came. */
  readonly firstEventMs?: number;
  /** How many events came. */
  readonly events: number;
  /** How many of each type. */
  readonly types: Readonly<Record<string, number>>;
  /** How the run ended. */
  readonly outcome?: string;
  /** The beginning of what was said as text. */
  readonly text: string;
  /** What is wrong. */
  readonly findings: readonly CheckFinding[];
  /** The first events. */
  readonly sample: readonly unknown[];
}

const MAX_FINDINGS = 200;
const MAX_SAMPLE = 50;
const MAX_SAMPLE_CHARS = 256 * 1024;
const MAX_TEXT_CHARS = 20_000;
const MAX_TYPES = 100;
const MAX_WORD_CHARS = 500;

const short = (text: string): string => (text.length > MAX_WORD_CHARS ? `${text.slice(0, MAX_WORD_CHARS)}…` : text);

/** Judges one answer. */
export class AnswerJudge {
  readonly #elapsedMs: () => number;
  readonly #memory = createNormaliseMemory();
  readonly #repairs: ReturnType<typeof createRepairState>;
  readonly #echoes: EchoFilter;
  readonly #types = new Map<string, number>();
  readonly #findings: CheckFinding[] = [];
  readonly #sample: unknown[] = [];
  #sampleChars = 0;
  #events = 0;
  #firstEventMs: number | undefined;
  #outcome: string | undefined;
  #text = "";

  constructor(messages: readonly Message[], elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
    this.#repairs = createRepairState({ messages });
    this.#echoes = new EchoFilter(messages, (each) => this.#repaired(each));
  }

  /** Takes what a frame holds. Throws `event-invalid` and `limit-exceeded` where a gateway would end the run. */
  take(value: unknown): void {
    this.#firstEventMs ??= this.#elapsedMs();
    this.#events += 1;
    this.#count(value);
    detachEvent(value, DEFAULT_LIMITS.maxEventBytes);
    this.#keep(value);
    for (const each of normaliseEvent(value, this.#memory).values) {
      const { value: event } = parseEvent(each);
      const passed = event === undefined ? undefined : this.#echoes.pass(event);
      if (passed === undefined) continue;
      const { events, repairs } = repair(this.#repairs, passed);
      for (const found of repairs) this.#repaired(found);
      for (const out of events) this.#hear(out);
    }
  }

  /** Takes a warning about the newest frame. */
  warn({ code, message }: Warning): void {
    this.#find({ kind: "warning", rule: code, message });
  }

  /** What it came to. */
  end(): JudgedAnswer {
    const firstEventMs = this.#firstEventMs;
    const outcome = this.#outcome;
    return {
      ...(firstEventMs !== undefined && { firstEventMs }),
      events: this.#events,
      types: Object.fromEntries(this.#types),
      ...(outcome !== undefined && { outcome }),
      text: this.#text,
      findings: this.#findings,
      sample: this.#sample,
    };
  }

  #repaired({ rule, message }: Repair): void {
    this.#find({ kind: "repair", rule, message });
  }

  #find(finding: CheckFinding): void {
    if (this.#findings.length > MAX_FINDINGS) return;
    const at = this.#events === 0 ? {} : { at: this.#events - 1 };
    const isLast = this.#findings.length === MAX_FINDINGS;
    const found = isLast ? { kind: finding.kind, message: "There is more of this: the rest is not listed." } : finding;
    this.#findings.push({ ...found, message: short(found.message), ...at });
  }

  #count(value: unknown): void {
    const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
    const named = typeof type === "string" ? short(type) : "(none)";
    const name = this.#types.has(named) || this.#types.size < MAX_TYPES ? named : "(others)";
    this.#types.set(name, (this.#types.get(name) ?? 0) + 1);
  }

  #keep(value: unknown): void {
    if (this.#sample.length >= MAX_SAMPLE || this.#sampleChars > MAX_SAMPLE_CHARS) return;
    this.#sampleChars += JSON.stringify(value).length;
    if (this.#sampleChars <= MAX_SAMPLE_CHARS) this.#sample.push(value);
  }

  #hear(event: Event): void {
    if (event.type === "TEXT_MESSAGE_CONTENT" && this.#text.length < MAX_TEXT_CHARS) {
      this.#text = (this.#text + event.delta).slice(0, MAX_TEXT_CHARS);
    }
    if (event.type === "RUN_STARTED") this.#outcome = undefined;
    if (event.type === "RUN_FINISHED") this.#outcome = event.outcome?.type ?? "success";
    if (event.type === "RUN_ERROR") {
      this.#outcome = "error";
      this.#find({ kind: "error", rule: event.code ?? "RUN_ERROR", message: `The run failed: ${event.message}` });
    }
  }
}

/**
 * The file form of a thread, version 1: lines of JSON. A header; the runs in order; of each run that has lost raw events
 * the compacted form; the raw events beyond the floor; and an end with counts, without which a file was cut.
 *
 * What can be worked out from events (how a run ended, snapshots) is not in the file, so a file cannot say otherwise.
 * An event stands last on its line, as the very text that the log holds. Annotations are events of their run, wherever
 * they stand. Runs that wait are not told, nor whose the thread is and who its members are.
 */
import { HeddleError, decodeJson } from "../protocol/index.ts";
import type { LineageKind } from "../stream/lineage/index.ts";
import { ENDINGS } from "./run-end.ts";
import type { RunState } from "./run-end.ts";
import type { CompactedEvent, RunInfo, StoredEvent, ThreadDump } from "./store.ts";

/** The version of the form that is written, and the only one that is read. */
export const THREAD_FILE_VERSION = 1;

/** How many lines of each kind a file has. */
export interface LineCounts {
  /** Runs. */
  readonly runs: number;
  /** Raw events. */
  readonly events: number;
  /** Events of compacted runs. */
  readonly compacted: number;
}

/** A run as its line tells it. Its end is in its events. */
export interface RunLine extends Omit<ThreadDump["runs"][number], "end"> {
  /** How it stood. */
  readonly status: RunState;
}

/** What a line can be. */
export type ThreadLine =
  | { readonly type: "header"; readonly thread: ThreadDump["thread"] }
  | { readonly type: "run"; readonly run: RunLine }
  | {
      readonly type: "compacted";
      readonly runId: string;
      readonly number: number;
      readonly event: CompactedEvent;
    }
  | { readonly type: "event"; readonly event: StoredEvent }
  | { readonly type: "end"; readonly counts: LineCounts };

/** Writes the header. */
export function headerLine(thread: ThreadDump["thread"]): string {
  const { threadId, tail, floor, head, title, archived, metadata, createdAtMs, updatedAtMs } = thread;
  const about = { threadId, tail, floor, head, title, archived, metadata, createdAtMs, updatedAtMs };
  return `${JSON.stringify({ heddle: "thread", version: THREAD_FILE_VERSION, thread: about })}\n`;
}

/** Writes a run. */
export function runLine(run: RunInfo): string {
  const { runId, agent, parentRunId, kind, status, firstSeq, lastSeq, principal, startedAtMs, endedAtMs } = run;
  const place = { runId, agent, parentRunId, kind, status, firstSeq, lastSeq };
  return `${JSON.stringify({ type: "run", ...place, principal, startedAtMs, endedAtMs })}\n`;
}

/** Writes an event. */
export const eventLine = ({ seq, runId, json }: StoredEvent): string =>
  `{"type":"event","seq":${seq},"runId":${JSON.stringify(runId)},"event":${json}}\n`;

/** Writes an event of a compacted run, which is the so manieth of that run. */
export const compactedLine = (runId: string, number: number, { firstSeq, lastSeq, json }: CompactedEvent): string =>
  `{"type":"compacted","runId":${JSON.stringify(runId)},"number":${number},` +
  `"firstSeq":${firstSeq},"lastSeq":${lastSeq},"event":${json}}\n`;

/** Writes the end. */
export const endLine = ({ runs, events, compacted }: LineCounts): string =>
  `${JSON.stringify({ type: "end", runs, events, compacted })}\n`;

/** The error for a line that cannot be read back. */
export function brokenLine(line: number, problem: string, cause?: unknown): HeddleError<"import-invalid"> {
  const message = `Line ${line} ${problem}. Nothing was imported.`;
  return new HeddleError("import-invalid", message, { line, problem }, { cause });
}

/** The error for a line that is too long. */
export const tooLong = (line: number, maxLineBytes: number): HeddleError<"import-invalid"> =>
  brokenLine(line, `is longer than the limit of ${maxLineBytes} bytes`);

/** How a line begins on which an event stands last. */
const WITH_EVENT = /^\{"type":"(?:event|compacted)",/;
/** What the event follows. Text holds no bare quotes, so it cannot look like this. */
const BEFORE_EVENT = ',"event":';

/**
 * Reads one line by its form. What it says is judged by whoever knows the lines before; the texts of events too. Throws
 * `import-invalid`.
 */
export function readThreadLine(text: string, line: number): ThreadLine {
  const at = WITH_EVENT.test(text) ? text.indexOf(BEFORE_EVENT) : -1;
  if (at > 0 && text.endsWith("}")) {
    const head = new Fields(objectOf(`${text.slice(0, at)}}`, line), line);
    return readWithEvent(head, text.slice(at + BEFORE_EVENT.length, -1));
  }
  const fields = new Fields(objectOf(text, line), line);
  if (fields.has("heddle")) return readHeader(fields, line);
  const type = fields.text("type");
  if (type === "run") return readRun(fields);
  if (type === "end") {
    const counts = { runs: fields.count("runs"), events: fields.count("events"), compacted: fields.count("compacted") };
    fields.end();
    return { type, counts };
  }
  if (type === "event" || type === "compacted") {
    throw brokenLine(line, `is not written as an export writes lines of the type "${type}": the event stands last`);
  }
  throw brokenLine(line, `is of the unknown type ${shown(type)}`);
}

function readWithEvent(head: Fields, json: string): ThreadLine {
  const type = head.text("type");
  const runId = head.text("runId");
  if (type === "event") {
    const event = { seq: head.count("seq"), runId, json };
    head.end();
    return { type, event };
  }
  const number = head.count("number");
  const event = { firstSeq: head.count("firstSeq"), lastSeq: head.count("lastSeq"), json };
  head.end();
  return { type: "compacted", runId, number, event };
}

function objectOf(text: string, line: number): Readonly<Record<string, unknown>> {
  try {
    // Whoever reads lines has a limit on their length; what is too deep could be kept and never written again.
    const value = decodeJson(text, { maxBytes: text.length });
    if (isRecord(value)) return value;
  } catch (cause) {
    const deep = cause instanceof HeddleError && cause.code === "limit-exceeded";
    throw brokenLine(line, deep ? "is nested too deeply" : "is not JSON", cause);
  }
  throw brokenLine(line, "is not a JSON object");
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function readHeader(fields: Fields, line: number): ThreadLine {
  const what = fields.text("heddle");
  if (what !== "thread") throw brokenLine(line, `begins the export of something else than a thread: ${shown(what)}`);
  const version = fields.count("version");
  if (version !== THREAD_FILE_VERSION) {
    throw brokenLine(line, `is of version ${version}, and this Heddle reads version ${THREAD_FILE_VERSION} only`);
  }
  const about = new Fields(fields.record("thread"), line);
  fields.end();
  const thread = {
    threadId: about.text("threadId"),
    tail: about.count("tail"),
    floor: about.count("floor"),
    head: about.maybe("head", about.text),
    title: about.maybe("title", about.text),
    archived: about.flag("archived"),
    metadata: about.record("metadata"),
    createdAtMs: about.count("createdAtMs"),
    updatedAtMs: about.count("updatedAtMs"),
  };
  about.end();
  return { type: "header", thread };
}

const KINDS: ReadonlySet<string> = new Set(["continue", "branch", "spawn"] satisfies LineageKind[]);
const STATES: ReadonlySet<string> = new Set(["running", ...ENDINGS] satisfies RunState[]);
const isKind = (text: string): text is LineageKind => KINDS.has(text);
const isState = (text: string): text is RunState => STATES.has(text);

function readRun(fields: Fields): ThreadLine {
  const run = {
    runId: fields.text("runId"),
    agent: fields.text("agent"),
    parentRunId: fields.maybe("parentRunId", fields.text),
    kind: fields.maybe("kind", (name) => fields.one(name, isKind)),
    status: fields.one("status", isState),
    firstSeq: fields.count("firstSeq"),
    lastSeq: fields.count("lastSeq"),
    principal: fields.maybe("principal", fields.text),
    startedAtMs: fields.count("startedAtMs"),
    endedAtMs: fields.maybe("endedAtMs", fields.count),
  };
  fields.end();
  return { type: "run", run };
}

/** The members of a line, each asked for once; what nobody asked for does not belong there. */
class Fields {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #line: number;
  readonly #asked = new Set<string>();

  constructor(value: Readonly<Record<string, unknown>>, line: number) {
    this.#value = value;
    this.#line = line;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#value, name);
  }

  #take(name: string): unknown {
    this.#asked.add(name);
    return this.has(name) ? this.#value[name] : undefined;
  }

  #fail(name: string, expected: string): never {
    throw brokenLine(this.#line, `lacks ${expected} in "${name}"`);
  }

  readonly text = (name: string): string => {
    const value = this.#take(name);
    return typeof value === "string" ? value : this.#fail(name, "text");
  };

  readonly count = (name: string): number => {
    const value = this.#take(name);
    return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
      ? value
      : this.#fail(name, "a whole number");
  };

  flag(name: string): boolean {
    const value = this.#take(name);
    return typeof value === "boolean" ? value : this.#fail(name, "true or false");
  }

  record(name: string): Readonly<Record<string, unknown>> {
    const value = this.#take(name);
    return isRecord(value) ? value : this.#fail(name, "an object");
  }

  one<T extends string>(name: string, is: (text: string) => text is T): T {
    const text = this.text(name);
    return is(text) ? text : this.#fail(name, "one of the known words");
  }

  maybe<T>(name: string, read: (name: string) => T): T | undefined {
    return this.has(name) ? read(name) : undefined;
  }

  end(): void {
    const more = Object.keys(this.#value).find((name) => !this.#asked.has(name));
    if (more !== undefined) throw brokenLine(this.#line, `has an unknown member ${shown(more)}`);
  }
}

/** The beginning of a text that may be of any length. */
const shown = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

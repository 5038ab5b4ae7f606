/**
 * Judges the lines of an exported thread one by one, as the log grew: what was compacted first, then the events, each run
 * on its branch. What passes to the end is a thread that every store can hold, restore and go on with.
 *
 * Every refusal names its line. Runs that had not ended are closed as lost: nobody executes them here.
 */
import { HeddleError, decodeJson, parseEvent } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { createPreludeState, createVerifyState, prelude, stepPrelude, verify } from "../stream/index.ts";
import type { PreludeState, VerifyState } from "../stream/index.ts";
import { closingEvents } from "./closing-events.ts";
import { endOf } from "./run-end.ts";
import type { RunEnd } from "./run-end.ts";
import type { CompactedEvent, Snapshot, StoredEvent, ThreadDump } from "./store.ts";
import { brokenLine, readThreadLine, tooLong } from "./thread-lines.ts";
import type { LineCounts, RunLine, ThreadLine } from "./thread-lines.ts";

/** What came of the lines. */
export interface JudgedThread {
  /** The thread, ready for a store. */
  readonly dump: ThreadDump;
  /** The runs that had not ended, and were closed. */
  readonly closed: readonly string[];
}

/** A run, as far as it was read. */
interface JudgedRun {
  readonly about: RunLine;
  readonly line: number;
  /** Whether raw events of it are gone; then it is judged by its compacted form. */
  readonly lost: boolean;
  readonly compacted: CompactedEvent[];
  /** What the branch is with what was compacted, of a run that lost events. */
  fold: PreludeState | undefined;
  /** What is open in it, of a run that is whole. */
  order: VerifyState | undefined;
  /** The events of a run that had not ended. */
  readonly open: Event[];
  /** Seq of its newest raw event so far, annotations behind its last one apart. */
  seen: number;
  end: RunEnd | undefined;
  /** The thread that its branch names. */
  threadId: string | undefined;
  snapshot: Snapshot | undefined;
}

/** The kinds of lines, in the order of a file. */
const ORDER = ["header", "run", "compacted", "event", "end"] as const satisfies readonly ThreadLine["type"][];

/** Takes the lines of one thread in. */
export class ThreadJudge {
  readonly #as: string | undefined;
  readonly #maxLineBytes: number;
  readonly #runs = new Map<string, JudgedRun>();
  readonly #events: StoredEvent[] = [];
  #thread: ThreadDump["thread"] | undefined;
  #kind: ThreadLine["type"] | undefined;
  #lost: readonly JudgedRun[] = [];
  /** Which of the runs that lost events is being read. */
  #lostAt = -1;
  #compacted = 0;
  #lastFirstSeq = 0;
  #headerLine = 0;
  #line = 0;

  /** `threadId`, where given, is what the thread is called from now on. */
  constructor({ threadId, maxLineBytes }: { readonly threadId: string | undefined; readonly maxLineBytes: number }) {
    this.#as = threadId;
    this.#maxLineBytes = maxLineBytes;
  }

  /** Takes the next line in, with or without its line end. Throws `import-invalid`. */
  take(text: string): void {
    this.#line += 1;
    if (text.length > this.#maxLineBytes) throw tooLong(this.#line, this.#maxLineBytes);
    const bare = text.replace(/\r?\n$/, "");
    if (bare.trim() === "") return;
    if (this.#kind === "end") throw this.#broken("comes after the end");
    const line = readThreadLine(bare, this.#line);
    this.#enter(line.type);
    switch (line.type) {
      case "header":
        return this.#takeHeader(line.thread);
      case "run":
        return this.#takeRun(line.run);
      case "compacted":
        return this.#takeCompacted(line);
      case "event":
        return this.#takeEvent(line.event);
      case "end":
        return this.#takeEnd(line.counts);
    }
  }

  /** Says that there are no more lines. Returns what closes the runs that are open as of a moment. Throws `import-invalid`. */
  end(): (nowMs: number) => JudgedThread {
    const thread = this.#thread;
    if (thread === undefined || this.#kind !== "end") throw brokenLine(this.#line + 1, "is missing: the file was cut");
    return (nowMs) => this.#close(thread, nowMs);
  }

  #close(thread: ThreadDump["thread"], nowMs: number): JudgedThread {
    const runs = [...this.#runs.values()];
    const events = [...this.#events];
    const closed = runs.filter(({ about }) => about.endedAtMs === undefined);
    for (const run of closed) {
      const closers = closingEvents(run.open, "worker-lost", nowMs);
      run.end = endOf(closers) ?? run.end;
      for (const event of closers) {
        run.seen = thread.floor + events.length + 1;
        events.push({ seq: run.seen, runId: run.about.runId, json: JSON.stringify(event) });
      }
    }
    const updatedAtMs = closed.length === 0 ? thread.updatedAtMs : nowMs;
    const dump = {
      thread: { ...thread, threadId: this.#as ?? thread.threadId, tail: thread.floor + events.length, updatedAtMs },
      runs: runs.map((run) => dumped(run, nowMs)),
      events,
      settlements: this.#lost.flatMap(({ about: { runId }, compacted, snapshot }) =>
        snapshot === undefined ? [] : [{ runId, compacted, snapshot }],
      ),
    };
    return { dump, closed: closed.map(({ about }) => about.runId) };
  }

  #broken(problem: string, cause?: unknown): HeddleError<"import-invalid"> {
    return brokenLine(this.#line, problem, cause);
  }

  /** Lines of one kind follow those of another in one order only. */
  #enter(kind: ThreadLine["type"]): void {
    const before = this.#kind;
    if (before === undefined && kind !== "header") throw this.#broken("is not the header of an exported thread");
    if (before !== undefined && (kind === "header" || ORDER.indexOf(kind) < ORDER.indexOf(before))) {
      throw this.#broken(`is of the type "${kind}", which does not come after the type "${before}"`);
    }
    this.#kind = kind;
    if (kind === "run" || kind === "header" || kind === before) return;
    if (before === "run" || before === "header") this.#lost = [...this.#runs.values()].filter(({ lost }) => lost);
    if (kind !== "compacted" && before !== "event") this.#endCompacted();
  }

  #takeHeader(thread: ThreadDump["thread"]): void {
    if (this.#as === undefined && !isThreadId(thread.threadId)) throw this.#broken("names no thread");
    if (thread.floor > thread.tail) throw this.#broken("names a floor beyond the tail");
    this.#thread = thread;
    this.#headerLine = this.#line;
  }

  #takeRun(about: RunLine): void {
    const { tail = 0, floor = 0 } = this.#thread ?? {};
    const { runId, parentRunId, kind, status, firstSeq, lastSeq, endedAtMs } = about;
    if (this.#runs.has(runId)) throw this.#broken("tells of a run that was told before");
    if (firstSeq <= this.#lastFirstSeq || lastSeq < firstSeq || lastSeq > tail) {
      throw this.#broken("places a run where it cannot be, or runs are not in order");
    }
    this.#lastFirstSeq = firstSeq;
    if ((status === "running") !== (endedAtMs === undefined)) throw this.#broken("says both that a run ended and not");
    const lost = firstSeq <= floor;
    if (lost && endedAtMs === undefined) throw this.#broken("tells of a run that goes on and has lost events");
    if (parentRunId !== undefined) {
      const parent = this.#runs.get(parentRunId)?.about;
      if (parent === undefined) throw this.#broken("hangs a run on one that was not told before");
      if (kind !== "spawn" && (parent.endedAtMs === undefined || parent.lastSeq >= firstSeq)) {
        throw this.#broken("hangs a run on one that had not ended");
      }
    }
    const nothing = { fold: undefined, order: undefined, end: undefined, threadId: undefined, snapshot: undefined };
    this.#runs.set(runId, { about, line: this.#line, lost, compacted: [], open: [], seen: 0, ...nothing });
  }

  #takeCompacted({ runId, number, event }: Extract<ThreadLine, { type: "compacted" }>): void {
    let run = this.#lost[this.#lostAt];
    if (run?.about.runId !== runId) {
      this.#closeCompacted();
      this.#lostAt += 1;
      run = this.#lost[this.#lostAt];
    }
    if (run?.about.runId !== runId) throw this.#broken("belongs to a run whose compacted form is not due");
    if (number !== run.compacted.length) throw this.#broken(`is number ${number} where ${run.compacted.length} is due`);
    const { firstSeq, lastSeq } = event;
    const from = run.compacted.at(-1)?.firstSeq ?? run.about.firstSeq;
    if (firstSeq < from || lastSeq < firstSeq || lastSeq > run.about.lastSeq) {
      throw this.#broken("stands for events that cannot be its own");
    }
    const judged = this.#judge(event.json);
    const fold = (run.fold ??= this.#foldBefore(run));
    this.#step(run, judged.event, (next) => stepPrelude(fold, next));
    run.compacted.push({ firstSeq, lastSeq, json: judged.json });
    this.#compacted += 1;
  }

  /** What the branch was before a run. */
  #foldBefore(run: JudgedRun): PreludeState {
    const fold = createPreludeState();
    const parent = this.#parentOf(run);
    run.threadId = parent?.threadId;
    for (const event of parent?.snapshot?.events ?? []) stepPrelude(fold, event);
    return fold;
  }

  /** The run before this one on its branch. */
  #parentOf({ about: { parentRunId, kind } }: JudgedRun): JudgedRun | undefined {
    return parentRunId === undefined || kind === "spawn" ? undefined : this.#runs.get(parentRunId);
  }

  #closeCompacted(): void {
    const run = this.#lost[this.#lostAt];
    if (run === undefined) return;
    const { runId, lastSeq } = run.about;
    if (run.end === undefined || run.fold === undefined) throw this.#broken(`comes before the end of the run ${runId}`);
    run.snapshot = { runId, seq: lastSeq, events: prelude(run.fold) };
    run.fold = undefined;
  }

  #endCompacted(): void {
    this.#closeCompacted();
    const missing = this.#lost[this.#lostAt + 1]?.about.runId;
    if (missing !== undefined) throw this.#broken(`comes where the compacted form of the run ${missing} is due`);
  }

  #takeEvent({ seq, runId, json }: StoredEvent): void {
    const due = (this.#thread?.floor ?? 0) + this.#events.length + 1;
    if (seq !== due) throw this.#broken(`holds event ${seq} where ${due} is due`);
    const run = this.#runs.get(runId);
    if (run === undefined) throw this.#broken("belongs to a run that was not told");
    const first = run.seen === 0 && !run.lost;
    if (first ? seq !== run.about.firstSeq : seq < run.about.firstSeq) {
      throw this.#broken(`is not the first event of its run, which begins at ${run.about.firstSeq}`);
    }
    const judged = this.#judge(json);
    if (seq > run.about.lastSeq) {
      if (judged.event.type !== "META") {
        throw this.#broken(`comes after the last event of its run, ${run.about.lastSeq}, and is no annotation`);
      }
      this.#events.push({ seq, runId, json: judged.json });
      return;
    }
    // The order of what is left of a run cannot be judged without what it lost; its compacted form was.
    if (!run.lost) {
      const order = (run.order ??= this.#orderBefore(run));
      this.#step(run, judged.event, (next) => verify(order, next));
    }
    if (run.about.endedAtMs === undefined) run.open.push(judged.event);
    run.seen = seq;
    if (seq === run.about.lastSeq) run.order = undefined;
    this.#events.push({ seq, runId, json: judged.json });
  }

  /** What the order of a run depends on: which thread its branch is of, and how the run before ended. */
  #orderBefore(run: JudgedRun): VerifyState {
    const order = createVerifyState();
    const parent = this.#parentOf(run);
    if (parent?.end === undefined) return order;
    run.threadId = parent.threadId;
    const { threadId } = parent;
    const { runId } = parent.about;
    if (threadId !== undefined) verify(order, { type: "RUN_STARTED", threadId, runId });
    if (parent.end.status === "failed") verify(order, { type: "RUN_ERROR", message: "" });
    else if (threadId !== undefined) verify(order, { type: "RUN_FINISHED", threadId, runId });
    return order;
  }

  #step(run: JudgedRun, event: Event, step: (event: Event) => unknown): void {
    if (run.end !== undefined && event.type === "RUN_STARTED") throw this.#broken("starts a run for the second time");
    try {
      step(event);
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      throw this.#broken(`is out of order: ${unstopped(error.message)}`, error);
    }
    run.end = endOf([event]) ?? run.end;
    if (event.type === "RUN_STARTED") run.threadId = event.threadId;
  }

  /**
   * The event of a text, under the thread's new name where it gets one, and the event written anew: escapes, doubled members
   * and spaces of the file say nothing, and would hide words from whoever looks for them in the text.
   */
  #judge(json: string): { readonly event: Event; readonly json: string } {
    // A viewer is sent the text as it is, line by line.
    if (!json.startsWith("{") || !json.endsWith("}") || json.includes("\r") || json.includes("\n")) {
      throw this.#broken("holds something else than an event without line breaks");
    }
    const read = this.#eventOf(json);
    const from = this.#thread?.threadId;
    const event = this.#as === undefined || from === undefined ? read : renameThread(read, from, this.#as);
    return { event, json: JSON.stringify(event) };
  }

  #eventOf(json: string): Event {
    try {
      const { value, warnings } = parseEvent(decodeJson(json, { maxBytes: this.#maxLineBytes }));
      const [warning] = warnings;
      if (value !== undefined && warning === undefined) return value;
      throw this.#broken(`holds what AG-UI does not describe, at ${warning?.path || "the top of the event"}`);
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code === "import-invalid") throw error;
      throw this.#broken(`holds no valid event: ${unstopped(error.message)}`, error);
    }
  }

  #takeEnd(counts: LineCounts): void {
    const { head, tail = 0, floor = 0 } = this.#thread ?? {};
    const found = { runs: this.#runs.size, compacted: this.#compacted, events: this.#events.length };
    for (const kind of ["runs", "compacted", "events"] as const) {
      if (counts[kind] !== found[kind])
        throw this.#broken(`counts ${counts[kind]} ${kind}, and there are ${found[kind]}`);
    }
    if (floor + found.events !== tail)
      throw this.#broken(`comes at event ${floor + found.events}, and the tail is ${tail}`);
    if (head !== undefined && !this.#runs.has(head))
      throw brokenLine(this.#headerLine, "names a head that is none of the runs");
    for (const { about, line, lost, seen, end } of this.#runs.values()) {
      if ((!lost || about.lastSeq > floor) && seen !== about.lastSeq) {
        throw brokenLine(line, `says that the run's last event is ${about.lastSeq}, and it is ${seen}`);
      }
      if (about.endedAtMs !== undefined && end?.status !== about.status) {
        throw brokenLine(
          line,
          `says that the run is ${about.status}, and its events that it is ${end?.status ?? "running"}`,
        );
      }
    }
  }
}

/** Whether a thread can be called so. */
export const isThreadId = (id: string): boolean =>
  id !== "" && id !== "." && id !== ".." && id.length <= MAX_ID_CHARS && id.isWellFormed();

/** As of a run: no longer id can be named in a path again. */
const MAX_ID_CHARS = 256;

/** A run for a store. */
function dumped({ about, seen, end }: JudgedRun, nowMs: number): ThreadDump["runs"][number] {
  const { status: _status, ...run } = about;
  return { ...run, lastSeq: Math.max(run.lastSeq, seen), endedAtMs: run.endedAtMs ?? nowMs, end };
}

/** The event with another name for the thread, where it names it; else itself. */
function renameThread(event: Event, from: string, to: string): Event {
  switch (event.type) {
    case "RUN_STARTED": {
      const { input } = event;
      const named = event.threadId === from ? { ...event, threadId: to } : event;
      return input?.threadId === from ? { ...named, input: { ...input, threadId: to } } : named;
    }
    case "RUN_FINISHED":
      return event.threadId === from ? { ...event, threadId: to } : event;
    default:
      return event;
  }
}

const unstopped = (sentence: string): string => sentence.replace(/\.$/, "");

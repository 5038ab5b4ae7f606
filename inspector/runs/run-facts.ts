/**
 * What the log says of each run beyond what the server lists: what was asked, how many events it has and tools it called, and
 * what people noted. Entries are only ever added to a log, so each is looked at once.
 */
import { useMemo } from "react";
import type { Message, RunAgentInput } from "heddle/protocol";
import type { LogEntry, LogView } from "../log/thread-log.ts";

/** A note that somebody left. */
export interface Note {
  /** What kind of note. */
  readonly type: string;
  /** What it says. */
  readonly payload: unknown;
  /** Its place in the log. */
  readonly seq: number;
}

/** What the log says of a run. */
export interface RunFacts {
  /** What was asked, in a line; undefined until its beginning is here. */
  readonly asked?: string;
  /** How many of its events are in the log: others may stand between them. */
  readonly events: number;
  /** How many tools were called. */
  readonly toolCalls: number;
  /** What people noted, oldest first. */
  readonly notes: readonly Note[];
}

const NOTHING: RunFacts = { events: 0, toolCalls: 0, notes: [] };
const ASKED_CHARS = 200;

/** Facts about runs, out of a log that grows. */
export class RunFactsIndex {
  readonly #facts = new Map<string, RunFacts>();
  #read = 0;

  /** Looks at what is new. */
  take(entries: readonly LogEntry[], count: number): void {
    for (; this.#read < count; this.#read++) {
      const entry = entries[this.#read];
      if (entry !== undefined) this.#look(entry);
    }
  }

  /** What is known of a run. */
  of(runId: string): RunFacts {
    return this.#facts.get(runId) ?? NOTHING;
  }

  #look({ event, runId, seq }: LogEntry): void {
    const before = this.of(runId);
    const held = { ...before, events: before.events + 1 };
    this.#facts.set(runId, held);
    if (event.type === "RUN_STARTED") {
      this.#facts.set(runId, { ...held, asked: askedIn(event.input) });
    } else if (event.type === "TOOL_CALL_START") {
      this.#facts.set(runId, { ...held, toolCalls: held.toolCalls + 1 });
    } else if (event.type === "META" && !event.metaType.startsWith("heddle.")) {
      const note = { type: event.metaType, payload: event.payload, seq };
      this.#facts.set(runId, { ...held, notes: [...held.notes, note] });
    }
  }
}

/** What a run was asked, in a line. */
export function askedIn(input: RunAgentInput | undefined): string {
  const user = input?.messages.findLast(({ role }) => role === "user");
  if (user !== undefined) return textOf(user).replace(/\s+/g, " ").trim().slice(0, ASKED_CHARS) || "An attachment";
  if ((input?.resume ?? []).length > 0) return "Answered a question";
  if (input?.messages.some(({ role }) => role === "tool") === true) return "Gave the result of a tool";
  return "Ran again";
}

/** The text of a message; other parts are named. */
export function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined ? "" : JSON.stringify(content);
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join(" ");
}

/** Facts about the runs of a log, in a component. */
export function useRunFacts({ entries, count }: Pick<LogView, "entries" | "count">): (runId: string) => RunFacts {
  const index = useMemo(() => new RunFactsIndex(), [entries]);
  return useMemo(() => {
    index.take(entries, count);
    return (runId: string) => index.of(runId);
  }, [index, entries, count]);
}

/** Threads as text for a terminal: a table of many, the details of one, its runs drawn as a tree. */
import type { RunEnd } from "../store/index.ts";
import type { ListedThread, ShownRun, ThreadInFull } from "./thread-source.ts";

/** What is open at the end of a branch. */
export interface OpenEnd {
  /** The run that left it open. */
  readonly runId: string;
  /** Questions that nobody has answered. */
  readonly interrupts: RunEnd["interrupts"];
  /** Frontend calls that nobody has answered. */
  readonly pendingToolCallIds: readonly string[];
}

/** Text that does nothing to a terminal: whatever is invisible is spelled out. */
export const printable = (text: string): string =>
  text.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);

/** A moment, to the second. */
export const momentText = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

const MAX_TITLE = 50;

/** The rows of a list under their heads. */
export function threadTable(threads: readonly ListedThread[]): string {
  const rows = threads.map(({ threadId, title = "", updatedAtMs, status }) => [
    printable(threadId),
    shortened(printable(title)),
    momentText(updatedAtMs),
    status ?? "",
  ]);
  return aligned([["THREAD", "TITLE", "UPDATED", "HEAD"], ...rows]);
}

const shortened = (text: string): string =>
  [...text].length > MAX_TITLE ? `${[...text].slice(0, MAX_TITLE - 1).join("")}…` : text;

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, at) => Math.max(widest[at] ?? 0, [...cell].length)),
    [],
  );
  const padded = (cell: string, at: number): string => cell + " ".repeat((widths[at] ?? 0) - [...cell].length);
  return rows.map((row) => row.map(padded).join("  ").trimEnd()).join("\n");
}

/** What the branches of a thread left open: at runs that no other run follows. */
export function openEnds(runs: readonly ShownRun[]): readonly OpenEnd[] {
  const followed = new Set(runs.flatMap(({ parentRunId, kind }) => (kind === "spawn" ? [] : [parentRunId])));
  return runs.flatMap(({ runId, end }) => {
    if (end === undefined || followed.has(runId)) return [];
    const { interrupts, pendingToolCallIds } = end;
    return interrupts.length + pendingToolCallIds.length === 0 ? [] : [{ runId, interrupts, pendingToolCallIds }];
  });
}

/** Everything about one thread. */
export function threadDetails(thread: ThreadInFull): string {
  const { threadId, title, archived, metadata, tail, floor, createdAtMs, updatedAtMs, runs } = thread;
  const about = aligned([
    ["Thread", printable(threadId)],
    ...(title === undefined ? [] : [["Title", printable(title)]]),
    ["Created", momentText(createdAtMs)],
    ["Updated", momentText(updatedAtMs)],
    ...(archived ? [["Archived", "yes"]] : []),
    ["Events", floor === 0 ? String(tail) : `${tail}, of which ${floor} were dropped by retention`],
    ...(Object.keys(metadata).length === 0 ? [] : [["Metadata", printable(JSON.stringify(metadata))]]),
  ]);
  const open = openEnds(runs);
  const questions = open.flatMap(({ runId, interrupts }) =>
    interrupts.map(({ id, reason, message }) => [printable(runId), printable(id), printable(message ?? reason)]),
  );
  const calls = open.flatMap(({ runId, pendingToolCallIds }) =>
    pendingToolCallIds.map((id) => [printable(runId), printable(id)]),
  );
  return [
    about,
    `Runs\n${indented(runTree(runs, thread.head).join("\n"))}`,
    ...(questions.length === 0 ? [] : [`Open questions\n${indented(aligned(questions))}`]),
    ...(calls.length === 0 ? [] : [`Pending tool calls\n${indented(aligned(calls))}`]),
  ].join("\n\n");
}

const indented = (text: string): string => text.replace(/^/gm, "  ");

interface Branch {
  readonly run: ShownRun;
  /** What stands in front of it. */
  readonly mark: string;
  /** What stands in front of whatever is drawn below it. */
  readonly below: string;
}

/** The runs of a thread as lines. What goes on stays in its column; forks and spawned runs are moved in. */
export function runTree(runs: readonly ShownRun[], head: string | undefined): readonly string[] {
  const children = Map.groupBy(runs, ({ parentRunId }) => parentRunId);
  const lines: string[] = [];
  const waiting: Branch[] = (children.get(undefined) ?? []).toReversed().map((run) => ({ run, mark: "", below: "" }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { run, mark, below } = next;
    lines.push(`${mark}${runText(run)}${run.runId === head ? "  <- head" : ""}`);
    const hanging = children.get(run.runId) ?? [];
    const following = hanging.filter(({ kind }) => kind !== "spawn");
    const [only] = following.length === 1 ? following : [];
    if (only !== undefined) waiting.push({ run: only, mark: below, below });
    const moved = only === undefined ? hanging : hanging.filter((each) => each !== only);
    for (const [index, each] of moved.toReversed().entries()) {
      const [corner, rest] = index === 0 ? ["└─ ", "   "] : ["├─ ", "│  "];
      waiting.push({ run: each, mark: below + corner, below: below + rest });
    }
  }
  return lines;
}

function runText({ runId, agent, kind, status, firstSeq, lastSeq, startedAtMs, end }: ShownRun): string {
  const how = kind === undefined || kind === "continue" ? "" : `${kind}, `;
  const why = end?.error === undefined ? "" : `: ${shortened(printable(end.error.code ?? end.error.message))}`;
  const place = `${how}events ${firstSeq} to ${lastSeq}, ${momentText(startedAtMs)}`;
  return `${printable(runId)}  ${status}${why}  ${printable(agent)}  (${place})`;
}

/**
 * Events as something to take along: a fixture, a command that reads them from this server, a test. Each works as it is pasted;
 * what it cannot say exactly it says in a comment.
 */
import type { Event } from "heddle/protocol";
import { createVerifyState, reduceAll, verify, verifyEnd } from "heddle/stream";
import { bareEvent } from "../../log/thread-log.ts";
import type { LogEntry } from "../../log/thread-log.ts";
import { randomId } from "heddle/client";

/** What events are taken along as. */
export const COPIES = {
  fixture: { title: "Fixture", text: "The events, one line of JSON each: for heddle and for your own tests." },
  curl: { title: "curl", text: "Commands for a terminal that ask this server." },
  test: { title: "Test", text: "A test for vitest: the events are in order, and come to what they come to here." },
} as const;

/** What events are taken along as. */
export type CopyForm = keyof typeof COPIES;

/** Which events, and where they come from. */
export interface Selection {
  /** What they are, as a title: `Run run-1`. */
  readonly title: string;
  /** The events, in the order of the log. */
  readonly entries: readonly LogEntry[];
  /** What is before the first of them, from the start of its run; undefined where they are no one stretch of a run. */
  readonly before: readonly LogEntry[] | undefined;
  /** The run, where they are of one. */
  readonly runId: string | undefined;
  /** The cursor that the run is read behind; undefined from its beginning. */
  readonly after: string | undefined;
  /** What of the run is read so: these events, and others between and behind them. */
  readonly among: readonly LogEntry[];
  /** An id that they are likely to carry alone, in the form that JSON has it. */
  readonly mark: string | undefined;
  /** Whether there are events in the thread that the reader may not see. */
  readonly hasHidden: boolean;
  /** Whether they are all of the run. */
  readonly isWholeRun: boolean;
}

/** The server, as commands name it. */
export interface CopySource {
  /** Its address. */
  readonly url: string;
  /** The thread. */
  readonly threadId: string;
  /** Whether it wants a token. */
  readonly wantsToken: boolean;
  /** The agent of the run, where it is known. */
  readonly agent: string | undefined;
}

/** Lines of JSON, one event each, without what the server adds for whoever reads all branches. */
export const fixtureOf = ({ entries }: Selection): string =>
  entries.map((entry) => `${JSON.stringify(bareEvent(entry))}\n`).join("");

/** A text for a shell, whatever is in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A text for a shell's comment: ids are anybody's, and not every shell takes a comment for one where commands are typed. */
const remarked = (text: string): string => text.replaceAll(/[^\p{L}\p{N} …_-]/gu, "_");

/** The address that the events are read from: of their run, else of the whole thread. */
export function eventsUrl({ runId, after }: Selection, { url, threadId }: CopySource): string {
  const query = new URLSearchParams(runId === undefined ? { all: "true" } : { run: runId });
  if (after !== undefined) query.set("after", after);
  query.set("meta", "true");
  query.set("follow", "false");
  return `${url}/threads/${encodeURIComponent(threadId)}/events?${query}`;
}

/** A command that reads exactly these events, and, for a whole run, one that starts it again. */
export function curlOf(selection: Selection, source: CopySource): string {
  const token = source.wantsToken ? ` \\\n  -H "Authorization: Bearer $HEDDLE_TOKEN"` : "";
  const lines = `-H 'Accept: application/x-ndjson'`;
  const read = `curl -sN ${quoted(eventsUrl(selection, source))}${token}`;
  if (selection.isWholeRun) return [`# Read the run.\n${read}`, againOf(selection, source, token)].join("\n\n");
  if (selection.runId === undefined) {
    return `# Everything in the thread: the filter of the page is not the server's.\n${read}\n`;
  }
  // What may not be seen has a line too, with its cursor alone.
  const seen = selection.hasHidden ? `grep -F '"event":' | ` : "";
  return `# ${remarked(selection.title)}: one event a line.\n${read} \\\n  ${lines} | ${seen}${onlyThese(selection)}\n`;
}

/** What takes these lines out of those of the run: the first of them, those with an id, or by their places. */
function onlyThese({ entries, among, mark }: Selection): string {
  const wanted = new Set(entries);
  const places = among.flatMap((entry, place) => (wanted.has(entry) ? [place + 1] : []));
  if (places.length === places.at(-1)) return `head -n ${places.length}`;
  const isMarked = ({ event }: LogEntry): boolean => mark !== undefined && JSON.stringify(event).includes(mark);
  if (mark !== undefined && among.every((entry) => isMarked(entry) === wanted.has(entry))) {
    return `grep -F ${quoted(mark)}`;
  }
  return `sed -n '${stretchesOf(places).join(";")}'`;
}

/** Places as what sed prints: `3p;5,9p`. */
function stretchesOf(places: readonly number[]): readonly string[] {
  const stretches: { from: number; to: number }[] = [];
  for (const place of places) {
    const last = stretches.at(-1);
    if (last !== undefined && last.to === place - 1) last.to = place;
    else stretches.push({ from: place, to: place });
  }
  return stretches.map(({ from, to }) => (from === to ? `${from}p` : `${from},${to}p`));
}

function againOf({ entries }: Selection, { url, agent }: CopySource, token: string): string {
  const started = entries.find(({ event }) => event.type === "RUN_STARTED")?.event;
  if (started?.type !== "RUN_STARTED" || started.input === undefined) {
    return "# The log has no input of this run to start it again with.\n";
  }
  if (agent === undefined) return "# Which agent ran it is not known yet: the server has not answered.\n";
  // An argument may not be as long as an input.
  return `# Start it again, as a run of its own beside it.
curl -sN -X POST ${quoted(`${url}/agents/${encodeURIComponent(agent)}`)}${token} \\
  -H 'Content-Type: application/json' \\
  --data-binary @- <<'INPUT'
${JSON.stringify(againInput(started))}
INPUT
`;
}

/** The input of a run that starts it again: under another id, behind the run that it came from. */
export function againInput(started: Extract<Event, { type: "RUN_STARTED" }>): Readonly<Record<string, unknown>> {
  const { input, threadId, runId, protocolVersion, parentRunId } = started;
  const parent = parentRunId ?? lineageParent(started);
  return {
    ...input,
    threadId,
    runId: `${runId}-again-${randomId().slice(0, 8)}`,
    ...(parent !== undefined && { parentRunId: parent }),
    protocolVersion: input?.protocolVersion ?? protocolVersion ?? "1.0",
  };
}

function lineageParent({ metadata }: Event): string | undefined {
  const { parent }: { parent?: unknown } = Object(Object(Object(metadata).heddle).lineage);
  return typeof parent === "string" ? parent : undefined;
}

/** What a stream comes to: why it is refused, else what a reader holds at its end. */
function outcomeOf(events: readonly Event[], isWhole: boolean): { refused: string } | { held: unknown } {
  const order = createVerifyState();
  try {
    for (const event of events) verify(order, event);
    if (isWhole) verifyEnd(order);
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  }
  return { held: JSON.parse(JSON.stringify(reduceAll(events))) };
}

/** A test that feeds the events through `verify` and `reduce`, and expects what they come to now. */
export function testOf(selection: Selection): string {
  const { title, entries, before, isWholeRun } = selection;
  // What is a part of a run is only in order behind what came before it.
  const events = [...(isWholeRun ? [] : (before ?? [])), ...entries].map(bareEvent);
  const outcome = outcomeOf(events, isWholeRun);
  const end = isWholeRun ? `  verifyEnd(order);\n` : "";
  const judged =
    "refused" in outcome
      ? `  expect(() => {
    for (const event of events) verify(order, event);
${end.replace(/^ {2}/, "    ")}  }).toThrow(${JSON.stringify(outcome.refused)});`
      : `  for (const event of events) verify(order, event);
${end}  expect(JSON.parse(JSON.stringify(reduceAll(events)))).toEqual(held);`;
  const held = "held" in outcome ? `\nconst held = ${indented(outcome.held)};\n` : "";
  const names = [
    "createVerifyState",
    ...("held" in outcome ? ["reduceAll"] : []),
    "verify",
    ...(isWholeRun ? ["verifyEnd"] : []),
  ];
  return `import type { Event } from "heddle/protocol";
import { ${names.join(", ")} } from "heddle/stream";
import { expect, test } from "vitest";

const events: readonly Event[] = [
${events.map((event) => `  ${JSON.stringify(event)},\n`).join("")}];
${held}
test(${JSON.stringify(`${title} ${"refused" in outcome ? "is refused" : "is in order and comes to the same"}`)}, () => {
  const order = createVerifyState();
${judged}
});
`;
}

const indented = (value: unknown): string => JSON.stringify(value, undefined, 2);

/** The events as what is asked for. */
export function copied(form: CopyForm, selection: Selection, source: CopySource): string {
  if (form === "fixture") return fixtureOf(selection);
  return form === "curl" ? curlOf(selection, source) : testOf(selection);
}

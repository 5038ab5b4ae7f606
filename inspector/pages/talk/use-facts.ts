/**
 * What there is to know about a thread beside what was said: who may do what, which agent spoke last, how long calls took, which
 * run a message is of, who the subagents are. Asked for when a run has begun or ended; subagents of runs long over are looked up
 * in the log of their run.
 */
import { useEffect, useMemo, useState } from "react";
import type { Thread, ThreadDetails, ThreadSnapshot, ToolCallState } from "heddle/client";
import { useThread } from "heddle/react";
import { noteSubagent } from "./subagents.ts";
import type { Subagents } from "./subagents.ts";

/** What is known. */
export interface Facts {
  readonly role: ThreadDetails["role"] | undefined;
  readonly title: string | undefined;
  /** The agent of the newest run; undefined where it is not known, or there is none. */
  readonly lastAgent: string | undefined;
  /** Whether it was asked for, where there is a thread at all. */
  readonly isKnown: boolean;
  /** Tool calls as the server counts them: how long they took, and whether they failed. */
  readonly calls: ReadonlyMap<string, ToolCallState>;
  readonly runs: ThreadSnapshot["messageRuns"];
  readonly times: ThreadSnapshot["messageTimes"];
  readonly subagents: Subagents;
}

type Asked = Omit<Facts, "subagents">;

const NOTHING: Asked = {
  role: undefined,
  title: undefined,
  lastAgent: undefined,
  isKnown: false,
  calls: new Map(),
  runs: {},
  times: {},
};

/** What could not be learned is asked for again so much later. */
const RETRY_MS = 2000;

/** What is known of the thread around. */
export function useFacts(threadId: string): Facts {
  const { thread, newest, connection } = useThread(threadId);
  const [asked, setAsked] = useState(NOTHING);
  const [attempt, setAttempt] = useState(0);
  const isOnline = connection === "live" || connection === "caught-up";
  const isRunning = newest.status === "running";
  useEffect(() => {
    if (!isOnline) return undefined;
    if (newest.runId === undefined) {
      setAsked({ ...NOTHING, isKnown: true });
      return undefined;
    }
    let isWanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const parts = Promise.all([thread.details(), isRunning ? undefined : thread.snapshotAt(newest.runId)]);
    parts.then(
      ([details, snapshot]) => isWanted && setAsked((before) => factsOf(before, newest.runId, details, snapshot)),
      // Where the connection is lost, or the thread is gone, whoever follows it says so; then nobody is online here.
      () => {
        if (isWanted) timer = setTimeout(() => setAttempt((count) => count + 1), RETRY_MS);
      },
    );
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [thread, newest.runId, isRunning, isOnline, attempt]);
  const subagents = useSubagents(thread, asked.runs);
  return useMemo(() => ({ ...asked, subagents }), [asked, subagents]);
}

function factsOf(
  before: Asked,
  newest: string | undefined,
  details: ThreadDetails,
  snapshot: ThreadSnapshot | undefined,
): Asked {
  const { role, title, runs } = details;
  // The newest of the branch that is shown; others may have gone on elsewhere.
  const last = runs.find(({ runId }) => runId === newest) ?? runs.findLast(({ kind }) => kind !== "spawn");
  return {
    role,
    title,
    lastAgent: last?.agent,
    isKnown: true,
    calls: snapshot === undefined ? before.calls : new Map(snapshot.toolCalls.map((call) => [call.id, call])),
    runs: snapshot?.messageRuns ?? before.runs,
    times: snapshot?.messageTimes ?? before.times,
  };
}

function useSubagents(thread: Thread, runs: Facts["runs"]): Subagents {
  const [known, setKnown] = useState<Subagents>(new Map());
  useEffect(
    () =>
      thread.onEvent((event) => {
        if (event.type.startsWith("SUBAGENT_")) setKnown((before) => noteSubagent(before, event));
      }),
    [thread],
  );
  useEffect(() => {
    const isStrange = (id: string | undefined): boolean => id !== undefined && !known.has(id);
    const wanted = thread.messages.flatMap(({ id, subagentRunId }) => (isStrange(subagentRunId) ? [runs[id]] : []));
    const leaving = new AbortController();
    for (const run of new Set(wanted)) {
      if (run !== undefined) void lookUp(thread, run, leaving.signal, setKnown);
    }
    return () => leaving.abort();
    // Only when the messages of a run that ended are known is it worth asking.
  }, [thread, runs]);
  return known;
}

/** Never rejects: what cannot be looked up now is looked up after the next run. */
async function lookUp(
  thread: Thread,
  run: string,
  signal: AbortSignal,
  change: (note: (before: Subagents) => Subagents) => void,
): Promise<void> {
  try {
    let found: Subagents = new Map();
    for await (const { event } of thread.history({ run, signal })) found = noteSubagent(found, event);
    if (!signal.aborted) change((before) => new Map([...before, ...found]));
  } catch {
    // Names are a help only: the messages are there without them.
  }
}

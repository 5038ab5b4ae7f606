/**
 * Runs as careless adapters emit them, by the name that a user message asks for: what they send, and the texts that a
 * person should see all the same. They are valid events in an invalid order.
 */
import type { Event, RunAgentInput } from "heddle/protocol";

/** One careless run. */
export interface SloppyRun {
  /** What is wrong with it. */
  readonly name: string;
  /** What is sent. */
  readonly events: readonly Event[];
  /** What the assistant's messages of the run hold together. */
  readonly says: string;
  /** Whether the run is one that failed. */
  readonly fails?: true;
}

type Ids = Pick<RunAgentInput, "threadId" | "runId">;

const open = (messageId: string): Event => ({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
const say = (messageId: string, delta: string): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
const close = (messageId: string): Event => ({ type: "TEXT_MESSAGE_END", messageId });
const call = (toolCallId: string): Event => ({ type: "TOOL_CALL_START", toolCallId, toolCallName: "look" });
const args = (toolCallId: string, delta: string): Event => ({ type: "TOOL_CALL_ARGS", toolCallId, delta });
const called = (toolCallId: string): Event => ({ type: "TOOL_CALL_END", toolCallId });
const result = (toolCallId: string, messageId: string): Event => ({
  type: "TOOL_CALL_RESULT",
  toolCallId,
  messageId,
  content: "found",
});
const step = (stepName: string): Event => ({ type: "STEP_STARTED", stepName });
const stepped = (stepName: string): Event => ({ type: "STEP_FINISHED", stepName });

/** The careless runs, for a run of these ids; ids of messages are its own. */
export function sloppyRuns({ threadId, runId }: Ids): readonly SloppyRun[] {
  const started: Event = { type: "RUN_STARTED", threadId, runId };
  const finished: Event = { type: "RUN_FINISHED", threadId, runId };
  const [m, n, c] = [`${runId}-m`, `${runId}-n`, `${runId}-c`];
  const inFrame = (...events: readonly Event[]): readonly Event[] => [started, ...events, finished];
  return [
    { name: "forgets TEXT_MESSAGE_END", events: inFrame(open(m), say(m, "one")), says: "one" },
    {
      name: "repeats STEP_STARTED",
      events: inFrame(step("s"), step("s"), open(m), say(m, "one"), close(m), stepped("s"), stepped("s")),
      says: "one",
    },
    {
      name: "sends content after end",
      events: inFrame(open(m), say(m, "one"), close(m), say(m, " two")),
      says: "one two",
    },
    { name: "sends content without start", events: inFrame(say(m, "one"), close(m)), says: "one" },
    {
      name: "opens a message twice and closes it twice",
      events: inFrame(open(m), say(m, "one"), open(m), say(m, " two"), close(m), close(m)),
      says: "one two",
    },
    {
      name: "ends what never began",
      events: inFrame(close(n), called(c), stepped("s"), open(m), say(m, "one"), close(m)),
      says: "one",
    },
    {
      name: "leaves a call open and answers it",
      events: inFrame(open(m), say(m, "one"), call(c), args(c, "{}"), result(c, n), close(m)),
      says: "one",
    },
    {
      name: "goes on with a call that ended",
      events: inFrame(call(c), args(c, "{"), called(c), args(c, "}"), called(c), result(c, n), open(m), say(m, "one")),
      says: "one",
    },
    {
      name: "answers a call that nobody made, and twice",
      events: inFrame(result(c, n), result(c, n), open(m), say(m, "one"), close(m)),
      says: "one",
    },
    {
      name: "thinks without beginning or end",
      events: inFrame(
        { type: "REASONING_MESSAGE_CONTENT", messageId: n, delta: "hm" },
        { type: "REASONING_START", messageId: n },
        { type: "REASONING_MESSAGE_START", messageId: n, role: "reasoning" },
        open(m),
        say(m, "one"),
      ),
      says: "one",
    },
    {
      name: "patches what is not there",
      events: inFrame(
        { type: "STATE_DELTA", delta: [{ op: "replace", path: "/no/where", value: 1 }] },
        { type: "ACTIVITY_DELTA", messageId: n, activityType: "PLAN", patch: [{ op: "remove", path: "/x" }] },
        open(m),
        say(m, "one"),
        close(m),
      ),
      says: "one",
    },
    {
      name: "ends a subagent that never began",
      events: inFrame({ type: "SUBAGENT_FINISHED", subagentRunId: n }, open(m), say(m, "one"), close(m)),
      says: "one",
    },
    {
      name: "starts twice and talks after the end",
      events: [started, open(m), say(m, "one"), started, say(m, " two"), finished, say(m, " three"), finished],
      says: "one two",
    },
    { name: "has no start", events: [open(m), say(m, "one"), step("s"), finished], says: "one" },
    {
      name: "has the frame of another run",
      events: [{ ...started, runId: "other" }, open(m), say(m, "one"), { ...finished, threadId: "other", runId: "x" }],
      says: "one",
    },
    {
      name: "mixes chunks with the rest",
      events: inFrame(
        { type: "TEXT_MESSAGE_CHUNK", messageId: m, role: "assistant", delta: "one" },
        say(m, " two"),
        { type: "TOOL_CALL_CHUNK", toolCallId: c, toolCallName: "look", delta: "{}" },
        args(c, " "),
      ),
      says: "one two",
    },
    {
      name: "fails, and then finishes",
      events: [started, open(m), say(m, "one"), { type: "RUN_ERROR", message: "broke" }, finished],
      says: "one",
      fails: true,
    },
  ];
}

/** The careless run of a name, for a run of these ids. */
export function sloppyRun(name: string, ids: Ids): SloppyRun {
  const found = sloppyRuns(ids).find((run) => run.name === name);
  if (found === undefined) throw new Error(`No careless run is called ${name}.`);
  return found;
}

/** The events of the run that the newest user message names. */
export function sloppyEvents(input: RunAgentInput): readonly Event[] {
  const asked = input.messages.findLast(({ role }) => role === "user")?.content;
  return sloppyRun(String(asked), input).events;
}

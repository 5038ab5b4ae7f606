/**
 * Arbitrary streams of AG-UI events, for property tests: valid ones, and sloppy ones made of them.
 *
 * A valid stream is a list of moves that the model of `stream-script.ts` carries out, so a failing one shrinks to the
 * few moves that matter. A sloppy one is a valid one with a list of slips: events dropped, doubled, moved, ids changed.
 * Every single event of both is well-formed. Timestamps only grow in valid streams.
 */
import fc from "fast-check";
import type {
  Event,
  Interrupt,
  JsonPatchOperation,
  RunAgentInput,
  RunFinishedOutcome,
  TokenUsage,
} from "../src/protocol/index.ts";
import { MOVES, Script, given, pick, restate } from "./stream-script.ts";
import type { Move } from "./stream-script.ts";

/** Options of `arbitraryStream`. */
export interface StreamOptions {
  /** Some items come as chunks. Default: false. */
  readonly chunks?: boolean;
  /** Most runs of a stream. Default: 3. */
  readonly runs?: number;
  /** Most moves of a run. Default: 20. */
  readonly moves?: number;
}

const THREAD = "thread";

const WEIGHTS: Readonly<Record<keyof typeof MOVES, number>> = {
  startText: 6,
  startCall: 5,
  startThought: 3,
  goOn: 10,
  end: 6,
  chunk: 8,
  answer: 4,
  step: 2,
  subagent: 3,
  state: 4,
  activity: 4,
  restate: 2,
  seal: 2,
  other: 2,
};

const kinds = (Object.keys(WEIGHTS) as (keyof typeof MOVES)[]).flatMap((kind) =>
  Array.from({ length: WEIGHTS[kind] }, () => kind),
);
const move: fc.Arbitrary<Move> = fc.record({
  kind: fc.constantFrom(...kinds),
  at: fc.nat(7),
  by: fc.nat(7),
  how: fc.nat(63),
});

const ENDINGS = ["finished", "plain", "interrupt", "cancelled", "failed", "late failure", "failed first"] as const;

interface Run {
  readonly moves: readonly Move[];
  readonly ending: (typeof ENDINGS)[number];
  readonly opening: Move;
  readonly closing: Move;
}

const USAGE: readonly TokenUsage[] = [{ model: "m", inputTokens: 3, outputTokens: 4 }];
const INTERRUPTS: readonly Interrupt[] = [
  { id: "i1", reason: "approval", message: "May I?" },
  { id: "i2", reason: "x.y", responseSchema: { type: "string" }, metadata: { k: 1 } },
];

/** The input that a run echoes: some of what is known, a new message of the user, and the state as it is. */
function inputOf(script: Script, { opening }: Run): RunAgentInput {
  const asked = { id: `u${script.runId}`, role: "user", content: "go on" } as const;
  return {
    threadId: THREAD,
    runId: script.runId,
    messages: [...restate(script, opening), ...(opening.at === 0 ? [] : [asked])],
    ...(script.state === null || opening.at === 1 ? {} : { state: script.state }),
  };
}

function play(script: Script, run: Run, index: number): void {
  const { opening, closing, ending } = run;
  script.runId = `run${index + 1}`;
  for (const tracked of [script.open, script.steps, script.subagents, script.lanes]) tracked.clear();
  for (const tracked of [script.tagged, script.pending, script.begun, script.settled, script.dropped]) tracked.clear();
  const failure = { type: "RUN_ERROR", message: "no", ...given("code", closing.by > 3 ? "x" : undefined) } as const;
  if (ending === "failed first") {
    if (script.events.at(-1)?.type !== "RUN_ERROR") script.emit({ ...failure, ...script.common(closing) });
    return;
  }
  // The first input says what the state is; a later one carries it back.
  if (index === 0 && opening.at > 5) script.state = { a: 1, list: [] };
  const echo = opening.at < 4 && index > 0 ? undefined : opening.by < 2 ? undefined : inputOf(script, run);
  if (index === 0 && echo?.state === undefined) script.state = {};
  const version = given("protocolVersion", opening.how % 2 === 0 ? "1.0" : undefined);
  const common = { ...version, ...given("input", echo), ...script.common(opening) };
  script.emit({ type: "RUN_STARTED", threadId: THREAD, runId: script.runId, ...common });
  for (const each of run.moves) MOVES[each.kind](script, each);
  if (ending === "failed") {
    script.emit({ ...failure, ...given("usage", closing.by % 2 === 0 ? undefined : USAGE), ...script.common(closing) });
    return;
  }
  finish(script, run);
  if (ending === "late failure") script.emit({ ...failure, ...script.common(closing) });
}

function finish(script: Script, { ending, closing }: Run): void {
  script.closeAll(closing);
  const pending = { type: "success", pendingToolCallIds: [...script.pending] } as const;
  const outcome: RunFinishedOutcome | undefined =
    ending === "interrupt"
      ? { type: "interrupt", interrupts: INTERRUPTS.slice(0, 1 + (closing.by % 2)) }
      : ending === "cancelled"
        ? { type: "cancelled" }
        : ending === "finished"
          ? pick([pending, { type: "success" } as const, undefined], closing.by)
          : undefined;
  const said = {
    ...given("result", ending === "finished" && closing.at > 2 ? { answer: closing.at } : undefined),
    ...given("outcome", outcome),
    ...given("usage", closing.by % 2 === 0 ? undefined : USAGE),
  };
  script.emit({ type: "RUN_FINISHED", threadId: THREAD, runId: script.runId, ...said, ...script.common(closing) });
}

/** Valid streams of one to three runs on one thread: `expand` and `verify` accept them, and they may end there. */
export function arbitraryStream(options: StreamOptions = {}): fc.Arbitrary<readonly Event[]> {
  const { chunks = false, runs = 3, moves = 20 } = options;
  const run = fc.record({
    moves: fc.array(move, { maxLength: moves, size: "max" }),
    ending: fc.constantFrom(...ENDINGS),
    opening: move,
    closing: move,
  });
  return fc.array(run, { minLength: 1, maxLength: runs }).map((played) => {
    const script = new Script(chunks);
    for (const [index, each] of played.entries()) play(script, each, index);
    return script.events;
  });
}

/** One thing that goes wrong with a stream. */
interface Slip {
  readonly kind: keyof typeof SLIPS;
  readonly at: number;
  readonly to: number;
}

const ID_FIELDS = ["messageId", "toolCallId", "parentMessageId", "subagentRunId", "stepName", "entityId"] as const;
const SOME_IDS = ["m1", "m2", "c1", "r-c1", "t1", "a1", "s1", "s2", "h1", "plan", "new"];

function withOtherId(event: Event, to: number): Event {
  const fields = ID_FIELDS.filter((field) => field in event);
  if (fields.length === 0) return event;
  return { ...event, [pick(fields, to)]: pick(SOME_IDS, to) };
}

function withOtherBoundary(event: Event, to: number): Event {
  if (event.type !== "RUN_STARTED" && event.type !== "RUN_FINISHED") return event;
  return { ...event, ...(to % 2 === 0 ? { runId: "other" } : { threadId: "elsewhere" }) };
}

/** Every message id that is one of two becomes the other, in all events: nothing else is out of order. */
function withAlias(event: Event, from: string, to: string): Event {
  const fields = (["messageId", "parentMessageId", "entityId"] as const).filter(
    (field) => field in event && Reflect.get(event, field) === from,
  );
  return fields.length === 0 ? event : { ...event, ...Object.fromEntries(fields.map((field) => [field, to])) };
}

/** A place in a stream: the first event comes last, for with that one gone little else is looked at. */
const at = (events: readonly Event[], index: number): number => (index + 1) % Math.max(1, events.length);

const BAD_OPERATIONS = [
  { op: "remove", path: "/none" },
  { op: "replace", path: "/none", value: 1 },
  { op: "replace", path: "/none/deep", value: 1 },
  { op: "add", path: "/none/deep", value: 1 },
  { op: "add", path: "/a/deep", value: 1 },
  { op: "test", path: "/a", value: "other" },
  { op: "test", path: "/none", value: null },
  { op: "add", path: "/list/9", value: 1 },
  { op: "remove", path: "/list/-" },
  { op: "move", from: "/none", path: "/b" },
  { op: "copy", from: "/none", path: "/b" },
  { op: "copy", from: "/a", path: "/a/b" },
] as const;

/** What may go wrong, by name: each makes another list of events. */
const SLIPS = {
  drop: (events: readonly Event[], slip: Slip) => events.toSpliced(at(events, slip.at), 1),
  double: (events: readonly Event[], slip: Slip) =>
    events.flatMap((event, index) => (index === at(events, slip.at) ? [event, event] : [event])),
  repeatLater: (events: readonly Event[], slip: Slip) =>
    events.toSpliced(at(events, slip.to), 0, ...events.slice(at(events, slip.at), at(events, slip.at) + 1)),
  swap: (events: readonly Event[], slip: Slip) => {
    const [event] = events.slice(at(events, slip.at));
    return event === undefined
      ? events
      : events.toSpliced(at(events, slip.at), 1).toSpliced(at(events, slip.at) + 1, 0, event);
  },
  move: (events: readonly Event[], slip: Slip) => {
    const [event] = events.slice(at(events, slip.at));
    return event === undefined
      ? events
      : events.toSpliced(at(events, slip.at), 1).toSpliced(at(events, slip.to), 0, event);
  },
  rename: (events: readonly Event[], slip: Slip) =>
    events.map((event, index) => (index === at(events, slip.at) ? withOtherId(event, slip.to) : event)),
  /** The nearest end behind a place is missing. */
  loseEnd: (events: readonly Event[], slip: Slip) => {
    const index = events.findIndex(({ type }, index) => index >= at(events, slip.at) && /_(END|FINISHED)$/.test(type));
    return index < 0 ? events : events.toSpliced(index, 1);
  },
  finishTwice: (events: readonly Event[], slip: Slip) =>
    events.flatMap((event): readonly Event[] =>
      event.type !== "RUN_FINISHED"
        ? [event]
        : slip.to % 2 === 0
          ? [event, event]
          : [event, { type: "RUN_ERROR", message: "late" }],
    ),
  truncate: (events: readonly Event[], slip: Slip) => events.slice(0, at(events, slip.at) + 1),
  trail: (events: readonly Event[], slip: Slip) => [
    ...events,
    ...events.slice(at(events, slip.at), at(events, slip.at) + 1),
  ],
  misboundary: (events: readonly Event[], slip: Slip) => {
    const places = events.flatMap(({ type }, index) => (/^RUN_(STARTED|FINISHED)$/.test(type) ? [index] : []));
    const place = places[slip.at % Math.max(1, places.length)];
    return events.map((event, index) => (index === place ? withOtherBoundary(event, slip.to) : event));
  },
  alias: (events: readonly Event[], slip: Slip) =>
    events.map((event) =>
      withAlias(event, pick(["m1", "t1", "a1", "r-c1"], slip.at), pick(["h1", "a1", "m1", "r-c1"], slip.to)),
    ),
  badDelta: (events: readonly Event[], slip: Slip) =>
    events.toSpliced(at(events, slip.at), 0, {
      type: "STATE_DELTA",
      delta: [{ op: "add", path: "/a", value: slip.to }, pick(BAD_OPERATIONS, slip.to)],
    }),
  badActivity: (events: readonly Event[], slip: Slip) =>
    events.toSpliced(at(events, slip.at), 0, {
      type: "ACTIVITY_DELTA",
      messageId: pick(["a1", "a2", "m1", "none"], slip.to),
      activityType: "RETYPED",
      patch: [slip.to % 3 === 0 ? { op: "replace", path: "", value: [1] } : pick(BAD_OPERATIONS, slip.to)],
      metadata: { k: 9 },
    }),
  /** The state is no object, and is patched all the same. */
  scalarState: (events: readonly Event[], slip: Slip) =>
    events.toSpliced(
      at(events, slip.at),
      0,
      { type: "STATE_SNAPSHOT", snapshot: pick<unknown>([null, 0, "text", [1], false], slip.to) },
      {
        type: "STATE_DELTA",
        delta: pick<readonly JsonPatchOperation[]>(
          [[{ op: "add", path: "/a", value: 1 }], [], [{ op: "replace", path: "", value: { b: 1 } }]],
          slip.to,
        ),
      },
    ),
  orphanResult: (events: readonly Event[], slip: Slip) =>
    events.toSpliced(at(events, slip.at), 0, {
      type: "TOOL_CALL_RESULT",
      messageId: pick(["r-c1", "r9", "m1"], slip.to),
      toolCallId: pick(["c1", "c9"], slip.to),
      content: "from nowhere",
    }),
  /** Text goes on under its id after a tool call, as some frameworks do. */
  talkOn: (events: readonly Event[], slip: Slip) => {
    const index = events.findIndex(({ type }, index) => index >= at(events, slip.at) && type === "TOOL_CALL_END");
    const talk = { type: "TEXT_MESSAGE_CONTENT", messageId: pick(["m1", "m2"], slip.to), delta: "and " } as const;
    return index < 0 ? events : events.toSpliced(index + 1, 0, talk);
  },
  sameInterrupt: (events: readonly Event[]) =>
    events.map((event) =>
      event.type === "RUN_FINISHED" && event.outcome?.type === "interrupt"
        ? {
            ...event,
            outcome: {
              type: "interrupt" as const,
              interrupts: [...event.outcome.interrupts, ...event.outcome.interrupts],
            },
          }
        : event,
    ),
  /** A message that is streamed as text is restated as one that holds parts. */
  partsForText: (events: readonly Event[], slip: Slip) =>
    events.toSpliced(at(events, slip.at), 0, {
      type: "MESSAGES_SNAPSHOT",
      messages: [{ id: pick(["m1", "m2", "t1"], slip.to), role: "user", content: [{ type: "text", text: "part" }] }],
    }),
  snapshotTwice: (events: readonly Event[]) =>
    events.map((event) =>
      event.type === "MESSAGES_SNAPSHOT" ? { ...event, messages: [...event.messages, ...event.messages] } : event,
    ),
};

const slip: fc.Arbitrary<Slip> = fc.record({
  kind: fc.constantFrom(...(Object.keys(SLIPS) as (keyof typeof SLIPS)[]), "alias", "alias"),
  at: fc.nat(60),
  to: fc.nat(60),
});

const slipped = (events: readonly Event[], slip: Slip): readonly Event[] => SLIPS[slip.kind](events, slip);

/** Sloppy streams: one to four slips on a valid stream, with chunks in half of them. */
export function arbitrarySoup(options: StreamOptions = {}): fc.Arbitrary<readonly Event[]> {
  const { chunks } = options;
  const valid =
    chunks === undefined
      ? fc.boolean().chain((some) => arbitraryStream({ ...options, chunks: some }))
      : arbitraryStream(options);
  return fc
    .tuple(valid, fc.array(slip, { minLength: 1, maxLength: 4 }))
    .map(([events, slips]) => slips.reduce((held, each) => slipped(held, each), events));
}

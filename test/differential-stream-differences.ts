/**
 * Where we judge or fold otherwise than `@ag-ui/client` 1.0.0 on purpose: one entry each, with the rule that asks for it.
 *
 * An entry says what of a stream brings the difference out, by taking it out: the two have to agree on what is left.
 * Whatever no entry accounts for is a defect on one of the two sides.
 */
import type { Event, Message } from "../src/protocol/index.ts";
import { createReduceState, reduce } from "../src/stream/index.ts";

/** One intended difference. */
export interface Difference {
  readonly id: string;
  /** A rule of ag-ui-rules.md, or an entry of ag-ui-facts.md, section 12. */
  readonly rule: string;
  readonly why: string;
  /** Where the two part: over what is accepted and how it is expanded, or over what accepted events add up to. */
  readonly stage: "verdict" | "fold";
  /** Whether a stream has what the difference is about. At the stage "fold" streams are expanded. */
  readonly applies: (events: readonly Event[]) => boolean;
  /** The stream without it: where the difference does not apply, the same list. */
  readonly without: (events: readonly Event[]) => readonly Event[];
  /** A stream that this difference alone explains. */
  readonly case: readonly Event[];
}

type Change = (event: Event, held: Held) => Event | undefined;

/** What a fold holds right before an event. */
interface Held {
  readonly message: (id: string) => Message | undefined;
  readonly hasCall: (id: string) => boolean;
  readonly state: unknown;
}

/** A difference over single events: `change` gives the event that both read alike, undefined for none. */
function difference(entry: Omit<Difference, "applies" | "without">, change: Change): Difference {
  const without = (events: readonly Event[]): readonly Event[] => {
    const fold = createReduceState();
    const held: Held = {
      message: (id) => fold.list.get(id),
      hasCall: (id) => fold.list.carrierOf(id) !== undefined,
      get state() {
        return fold.document;
      },
    };
    const left = events.flatMap((event) => {
      const changed = change(event, held);
      if (changed === undefined) return [];
      if (entry.stage === "fold") reduce(fold, changed);
      return [changed];
    });
    return left.length === events.length && left.every((event, index) => event === events[index]) ? events : left;
  };
  return { ...entry, without, applies: (events) => without(events) !== events };
}

/** A difference over boundaries: `change` also knows the event that opened the run, and the stream's first. */
function boundaryDifference(
  entry: Omit<Difference, "applies" | "without" | "stage">,
  change: (event: Event, opened: Started | undefined, first: Started | undefined) => Event,
): Difference {
  const without = (events: readonly Event[]): readonly Event[] => {
    let opened: Started | undefined;
    const first = events.find((event) => event.type === "RUN_STARTED");
    const left = events.map((event) => {
      if (event.type === "RUN_STARTED") opened = event;
      return change(event, opened, first);
    });
    return left.every((event, index) => event === events[index]) ? events : left;
  };
  return { ...entry, stage: "verdict", without, applies: (events) => without(events) !== events };
}

type Started = Extract<Event, { readonly type: "RUN_STARTED" }>;

const THREAD = "thread";
const started: Event = { type: "RUN_STARTED", threadId: THREAD, runId: "run1" };
const finished: Event = { type: "RUN_FINISHED", threadId: THREAD, runId: "run1" };
const says = (id: string): readonly Event[] => [
  { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: "hi" },
  { type: "TEXT_MESSAGE_END", messageId: id },
];
const called: readonly Event[] = [
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "search" },
  { type: "TOOL_CALL_END", toolCallId: "c1" },
];

/** A run that is open at the end of a stream, as far as boundaries say; or no run at all. */
const endsOpen = (events: readonly Event[]): boolean =>
  (events.findLast(({ type }) => type.startsWith("RUN_"))?.type ?? "RUN_STARTED") === "RUN_STARTED";

const hasChunks = (events: readonly Event[]): boolean => events.some(({ type }) => type.endsWith("_CHUNK"));

function untimed(event: Event): Event {
  const { timestamp: _, ...rest } = event;
  return rest;
}

const VERDICTS: readonly Difference[] = [
  {
    id: "missing-terminal",
    rule: "R-TRAN-07",
    why: "A stream that ends with its run open is truncated, never a success; the peer completes as if all were well.",
    stage: "verdict",
    applies: endsOpen,
    without: (events) => (endsOpen(events) ? [...events, { type: "RUN_ERROR", message: "truncated" }] : events),
    case: [started, ...says("m1")],
  },
  boundaryDifference(
    {
      id: "second-thread",
      rule: "R-IN-03",
      why: "A stream is of one thread; the peer lets a second run name another.",
      case: [started, finished, { ...started, threadId: "other" }, { ...finished, threadId: "other" }],
    },
    (event, opened, first) => {
      if (event.type !== "RUN_STARTED" && event.type !== "RUN_FINISHED") return event;
      const moved = event.threadId === opened?.threadId && event.threadId !== first?.threadId;
      return moved && first !== undefined ? { ...event, threadId: first.threadId } : event;
    },
  ),
  boundaryDifference(
    {
      id: "boundary-thread-id",
      rule: "R-IN-03",
      why: "RUN_FINISHED names the thread of its RUN_STARTED; the peer does not look (A8).",
      case: [started, { ...finished, threadId: "other" }],
    },
    (event, opened) =>
      event.type === "RUN_FINISHED" && opened !== undefined && event.threadId !== opened.threadId
        ? { ...event, threadId: opened.threadId }
        : event,
  ),
  boundaryDifference(
    {
      id: "boundary-run-id",
      rule: "R-IN-04",
      why: "RUN_FINISHED names the run of its RUN_STARTED; the peer does not look (A8).",
      case: [started, { ...finished, runId: "other" }],
    },
    (event, opened) =>
      event.type === "RUN_FINISHED" && opened !== undefined && event.runId !== opened.runId
        ? { ...event, runId: opened.runId }
        : event,
  ),
  difference(
    {
      id: "interrupt-ids",
      rule: "R-INT-03",
      why: "Interrupts of a run have different ids, else an answer could not say which it is for; the peer does not look.",
      stage: "verdict",
      case: [
        started,
        {
          ...finished,
          outcome: {
            type: "interrupt",
            interrupts: [
              { id: "i1", reason: "approval" },
              { id: "i1", reason: "approval" },
            ],
          },
        },
      ],
    },
    (event) => {
      if (event.type !== "RUN_FINISHED" || event.outcome?.type !== "interrupt") return event;
      const interrupts = [...new Map(event.outcome.interrupts.map((each) => [each.id, each])).values()];
      return interrupts.length === event.outcome.interrupts.length
        ? event
        : { ...event, outcome: { ...event.outcome, interrupts } };
    },
  ),
  {
    id: "chunk-timestamps",
    rule: "A23",
    why: "What is made of a chunk keeps the chunk's time, and an end that of the event which brought it; the peer drops both.",
    stage: "verdict",
    applies: (events) => hasChunks(events) && events.some(({ timestamp }) => timestamp !== undefined),
    without: (events) => (hasChunks(events) ? events.map(untimed) : events),
    case: [started, { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "hi", timestamp: 5 }, finished],
  },
];

const FOLDS: readonly Difference[] = [
  difference(
    {
      id: "result-twice",
      rule: "A7",
      why: "A tool result is its message: one that comes again under a held id replaces it (or is skipped, over another kind); the peer adds a second message with the id.",
      stage: "fold",
      case: [
        started,
        ...called,
        { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "one" },
        { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "two" },
        finished,
      ],
    },
    (event, { message }) =>
      event.type === "TOOL_CALL_RESULT" && message(event.messageId) !== undefined ? undefined : event,
  ),
  difference(
    {
      id: "snapshot-ids",
      rule: "A9",
      why: "An id that comes twice in one snapshot is one message, as it comes last; the peer adds both.",
      stage: "fold",
      case: [
        started,
        {
          type: "MESSAGES_SNAPSHOT",
          messages: [
            { id: "m1", role: "user", content: "one" },
            { id: "m1", role: "user", content: "two" },
          ],
        },
        finished,
      ],
    },
    (event) => {
      if (event.type !== "MESSAGES_SNAPSHOT") return event;
      const messages = [...new Map(event.messages.map((each) => [each.id, each])).values()];
      return messages.length === event.messages.length ? event : { ...event, messages };
    },
  ),
  difference(
    {
      id: "activity-over-message",
      rule: "A33",
      why: "An activity never overwrites a message of another kind that has its id; in the peer it does.",
      stage: "fold",
      case: [
        started,
        ...says("m1"),
        { type: "ACTIVITY_SNAPSHOT", messageId: "m1", activityType: "PLAN", content: {} },
        finished,
      ],
    },
    (event, { message }) => {
      const role = event.type === "ACTIVITY_SNAPSHOT" ? message(event.messageId)?.role : undefined;
      return role === undefined || role === "activity" ? event : undefined;
    },
  ),
  difference(
    {
      id: "activity-content",
      rule: "R-ACT-09",
      why: "A patch that leaves no object is not applied: an activity's content is one; the peer holds what comes out.",
      stage: "fold",
      case: [
        started,
        { type: "ACTIVITY_SNAPSHOT", messageId: "a1", activityType: "PLAN", content: {} },
        {
          type: "ACTIVITY_DELTA",
          messageId: "a1",
          activityType: "PLAN",
          patch: [{ op: "replace", path: "", value: [1] }],
        },
        finished,
      ],
    },
    (event, { message }) => {
      if (event.type !== "ACTIVITY_DELTA" || message(event.messageId)?.role !== "activity") return event;
      return event.patch.some((op) => op.path === "" && "value" in op && Array.isArray(op.value)) ? undefined : event;
    },
  ),
  difference(
    {
      id: "text-over-parts",
      rule: "A33",
      why: "Text is not appended to a message that holds parts; in the peer the text replaces them.",
      stage: "fold",
      case: [
        started,
        { type: "MESSAGES_SNAPSHOT", messages: [{ id: "m1", role: "user", content: [{ type: "text", text: "a" }] }] },
        ...says("m1"),
        finished,
      ],
    },
    (event, { message }) => {
      if (!/^(TEXT|REASONING)_MESSAGE_/.test(event.type) || !("messageId" in event)) return event;
      return Array.isArray(message(event.messageId ?? "")?.content) ? undefined : event;
    },
  ),
  difference(
    {
      id: "call-id-taken",
      rule: "A36",
      why: "A message made for a call gets an id that no message has; in the peer two messages share it.",
      stage: "fold",
      case: [started, ...says("c1"), ...called, finished],
    },
    (event, { message, hasCall }) => {
      if (event.type !== "TOOL_CALL_START" || hasCall(event.toolCallId)) return event;
      const parent = event.parentMessageId === undefined ? undefined : message(event.parentMessageId);
      const usesOwnId = event.parentMessageId === undefined || (parent !== undefined && parent.role !== "assistant");
      return usesOwnId && message(event.toolCallId) !== undefined ? undefined : event;
    },
  ),
  difference(
    {
      id: "encrypted-value-type",
      rule: "R-REAS-10",
      why: "AG-UI 1.1 stores the type of an encrypted value with it; the peer speaks 1.0 and drops it.",
      stage: "fold",
      case: [
        started,
        ...says("m1"),
        {
          type: "REASONING_ENCRYPTED_VALUE",
          subtype: "message",
          entityId: "m1",
          encryptedValue: "x",
          encryptedValueType: "v.t",
        },
        finished,
      ],
    },
    (event) => {
      if (event.type !== "REASONING_ENCRYPTED_VALUE" || event.encryptedValueType === undefined) return event;
      const { encryptedValueType: _, ...rest } = event;
      return rest;
    },
  ),
];

/** All intended differences. */
export const DIFFERENCES: readonly Difference[] = [...VERDICTS, ...FOLDS];

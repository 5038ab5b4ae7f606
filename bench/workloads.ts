/**
 * The workloads of DESIGN 12, made the same way on every run: W1 = 10,000 text deltas; W2 = 50 tool calls of 40 argument
 * deltas and 20 state deltas on 20 kB; W4 = reasoning and activities. Text holds characters beyond Latin-1, as real
 * answers do.
 */
import {
  activityDelta,
  activitySnapshot,
  reasoningEnd,
  reasoningMessageContent,
  reasoningMessageEnd,
  reasoningMessageStart,
  reasoningStart,
  runFinished,
  runStarted,
  stateDelta,
  stateSnapshot,
  textMessageContent,
  textMessageEnd,
  textMessageStart,
  toolCallArgs,
  toolCallEnd,
  toolCallResult,
  toolCallStart,
} from "heddle/protocol";
import type { Event, Message } from "heddle/protocol";

const WORDS = ["the ", "loom ", "holds ", "each ", "thread ", "— ", "in ", "its ", "place ", "„so“ "];
/** The words of an answer, one after the other. */
export const word = (index: number): string => WORDS[index % WORDS.length] ?? "";
const range = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const run = (id: string, body: readonly Event[]): readonly Event[] => [
  runStarted({ threadId: "thread-1", runId: id, protocolVersion: "1.0" }),
  ...body,
  runFinished({ threadId: "thread-1", runId: id }),
];

const text = (messageId: string, deltas: number): readonly Event[] => [
  textMessageStart({ messageId, role: "assistant" }),
  ...range(deltas, (index) => textMessageContent({ messageId, delta: word(index) })),
  textMessageEnd({ messageId }),
];

/** W1: one long answer. */
export const w1 = (deltas = 10_000): readonly Event[] => run("run-w1", text("message-0001", deltas));

/** W2: tools and state. */
export function w2(): readonly Event[] {
  const rows = range(200, (index) => ({ id: index, name: `row ${index}`, note: "x".repeat(60), done: false }));
  const calls = range(50, (call) => {
    const toolCallId = `call-${String(call).padStart(4, "0")}`;
    return [
      toolCallStart({ toolCallId, toolCallName: "search", parentMessageId: "message-0001" }),
      ...range(40, (index) => toolCallArgs({ toolCallId, delta: `"k${index}":"${word(index)}",` })),
      toolCallEnd({ toolCallId }),
      toolCallResult({ messageId: `result-${call}`, toolCallId, content: "72°F, sunny" }),
    ];
  }).flat();
  const deltas = range(20, (index) =>
    stateDelta({
      delta: [
        { op: "replace", path: `/rows/${index}/done`, value: true },
        { op: "replace", path: `/rows/${index}/note`, value: "changed" },
        { op: "add", path: "/log/-", value: { at: index } },
      ],
    }),
  );
  return run("run-w2", [stateSnapshot({ snapshot: { rows, log: [] } }), ...calls, ...deltas]);
}

/** W4: reasoning and activities. */
export function w4(): readonly Event[] {
  const messageId = "reasoning-0001";
  const plan = { messageId: "activity-0001", activityType: "PLAN" };
  return run("run-w4", [
    reasoningStart({ messageId: "span-1" }),
    reasoningMessageStart({ messageId, role: "reasoning" }),
    ...range(3_000, (index) => reasoningMessageContent({ messageId, delta: word(index) })),
    reasoningMessageEnd({ messageId }),
    reasoningEnd({ messageId: "span-1" }),
    activitySnapshot({ ...plan, content: { steps: range(20, (index) => ({ title: `step ${index}`, done: false })) } }),
    ...range(200, (index) =>
      activityDelta({ ...plan, patch: [{ op: "replace", path: `/steps/${index % 20}/done`, value: index % 2 === 0 }] }),
    ),
    ...text("message-0002", 500),
  ]);
}

/** Messages that a thread holds already: questions and answers of a few hundred characters. */
export const history = (count: number): readonly Message[] =>
  range(count, (index) => ({
    id: `held-${index}`,
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index}: ${"the loom holds each thread in its place — ".repeat(8)}`,
  }));

/** One run that changes 20 kB of state many times. */
export function stateLog(deltas: number): readonly Event[] {
  const rows = range(200, (index) => ({ id: index, name: `row ${index}`, note: "x".repeat(60), done: false }));
  return run("run-state", [
    stateSnapshot({ snapshot: { rows, log: [] } }),
    ...range(deltas, (index) =>
      stateDelta({ delta: [{ op: "replace", path: `/rows/${index % 200}/note`, value: `change ${index}` }] }),
    ),
  ]);
}

/** Runs of W2's kind, one behind the other, until there are so many events. */
export function agenticLog(events: number): readonly Event[] {
  const one = w2();
  const copies = Math.ceil(events / one.length);
  return range(copies, (copy) =>
    one.map((event): Event =>
      JSON.parse(JSON.stringify(event).replaceAll(/"(call-|result-|run-w2|message-)/g, `"${copy}-$1`)),
    ),
  ).flat();
}

/** Events that an agent gives in one turn of its process, as from one read of a model's answer. */
export const PER_TURN = 16;

/** Pause between the writes of 16 events to many viewers. */
export const WRITE_EVERY_MS = 40;

/** What the agents of the servers that are measured are told to say. */
export interface Order {
  /** How many words. */
  readonly deltas: number;
  /** Least length of each. */
  readonly wordChars: number;
  /** Whether it waits until the server is told to open. */
  readonly gated: boolean;
  /** Whether it waits after 16 words until they are committed, so that one commit holds them and one write. */
  readonly oneWrite: boolean;
}

/** The order in forwarded properties, which are ours. */
export const orderOf = (forwardedProps: unknown): Order => ({
  deltas: 1,
  wordChars: 0,
  gated: false,
  oneWrite: false,
  ...Object(forwardedProps),
});

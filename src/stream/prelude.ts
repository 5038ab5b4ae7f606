/**
 * A valid opening for someone who joins a stream in the middle with nothing: after it, the rest of the stream verifies and
 * folds as it does for those who were there from the start.
 *
 * The run is started again without its input, snapshots say what there is, partial text and arguments too, and what was
 * open is opened again; a start of something known adds nothing. Where no run is open, the last one is told as a closed
 * one, with its own terminal event. Questions that a run before left open are told by that run, ahead. Two things in the
 * rest are taken as given: it opens no call again that this run has answered, and it tags a message of an earlier run,
 * if at all, with the subagent that the message names.
 */
import type {
  Event,
  Message,
  RunAgentInput,
  RunFinishedEvent,
  RunStartedEvent,
  TextMessageRole,
} from "../protocol/index.ts";
import { restateCalls } from "./compact-calls.ts";
import type { MessageList } from "./message-list.ts";
import { createReduceState, reduce, view } from "./reduce.ts";
import type { ReduceState } from "./reduce.ts";
import { createVerifyState, verify } from "./verify.ts";
import type { VerifyState } from "./verify.ts";

/** What `prelude` needs to know of the events so far. */
export interface PreludeState {
  /** What is open, and whose it is. */
  readonly verify: VerifyState;
  /** The fold. */
  readonly reduce: ReduceState;
  /** Start of the run that is open or was last. */
  started: RunStartedEvent | undefined;
  /** How that run ended: nothing yet, one event, or a late RUN_ERROR behind the first. */
  readonly ended: Event[];
  /** The run that asked the questions that are open. */
  asked: readonly [RunStartedEvent, RunFinishedEvent] | undefined;
  /** What was said about the subagents of the run. */
  readonly subagents: Event[];
  /** Names of the run's tool calls. */
  readonly names: Map<string, string>;
}

/** A fresh state: one for each stream. */
export const createPreludeState = (): PreludeState => ({
  verify: createVerifyState(),
  reduce: createReduceState(),
  started: undefined,
  ended: [],
  asked: undefined,
  subagents: [],
  names: new Map(),
});

/** Takes one expanded event in: verifies it, folds it and remembers what a prelude needs. Throws as `verify` does. */
export function stepPrelude(state: PreludeState, event: Event): void {
  verify(state.verify, event);
  reduce(state.reduce, event);
  switch (event.type) {
    case "RUN_STARTED":
      state.started = withoutInput(event);
      for (const list of [state.ended, state.subagents]) list.length = 0;
      state.names.clear();
      return;
    case "RUN_FINISHED":
      state.asked =
        event.outcome?.type === "interrupt" && state.started !== undefined ? [state.started, event] : undefined;
      state.ended.push(event);
      return;
    case "RUN_ERROR":
      state.ended.push(event);
      return;
    case "SUBAGENT_STARTED":
    case "SUBAGENT_FINISHED":
    case "SUBAGENT_ERROR":
      state.subagents.push(event);
      return;
    case "TOOL_CALL_START":
      state.names.set(event.toolCallId, event.toolCallName);
      return;
    default:
  }
}

/** The opening for who joins behind the events so far: a state that has seen them, or the expanded events themselves. */
export function prelude(seen: PreludeState | Iterable<Event>): readonly Event[] {
  if ("verify" in seen) return openingOf(seen);
  const state = createPreludeState();
  for (const event of seen) stepPrelude(state, event);
  return openingOf(state);
}

function openingOf(state: PreludeState): readonly Event[] {
  const { verify, reduce, started, ended, asked, subagents } = state;
  if (started === undefined) return [...ended];
  const { messages, state: snapshot, steps } = view(reduce);
  const running = verify.phase === "running";
  const items = running ? openItems(state) : { before: [], after: [] };
  const calls = restateCalls({
    calls: reduce.calls,
    list: reduce.list,
    names: state.names,
    open: running ? verify.calls : new Set(),
    closes: ended[0]?.type !== "RUN_ERROR",
    ownerOf: (id) => ownerIn(reduce.list.carrierOf(id), verify.callOwners.get(id)),
  });
  const before = [...items.before, ...calls.before];
  return [
    ...(ended[0]?.type === "RUN_FINISHED" ? [] : (asked ?? [])),
    started,
    ...before,
    ...(messages.length + before.length === 0 ? [] : [{ type: "MESSAGES_SNAPSHOT", messages } as const]),
    ...(reduce.document === undefined ? [] : [{ type: "STATE_SNAPSHOT", snapshot } as const]),
    ...subagents,
    ...steps.map(({ name, ...owner }) => ({ type: "STEP_STARTED", stepName: name, ...owner }) as const),
    ...items.after,
    ...calls.after,
    ...ended,
  ];
}

/** Spans and messages that are open. Those that the conversation lacks are opened before its snapshot takes them away. */
function openItems({ verify, reduce: { list } }: PreludeState): {
  readonly before: readonly Event[];
  readonly after: readonly Event[];
} {
  const before: Event[] = [];
  const after: Event[] = [];
  for (const id of verify.spans) {
    after.push({
      type: "REASONING_START",
      messageId: id,
      ...tag(ownerIn(thoughtIn(list, id), verify.thoughtOwners.get(id))),
    });
  }
  for (const id of verify.thoughts) {
    const owner = ownerIn(thoughtIn(list, id), verify.thoughtOwners.get(id));
    const events = list.get(id) === undefined ? before : after;
    events.push({ type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning", ...tag(owner) });
  }
  for (const id of verify.messages) {
    const held = list.get(id);
    const hasOwn = held?.role !== "reasoning" && held?.role !== "activity";
    const owner = ownerIn(hasOwn ? held : undefined, verify.messageOwners.get(id));
    const events = held === undefined ? before : after;
    events.push({ type: "TEXT_MESSAGE_START", messageId: id, ...speakerOf(held), ...tag(owner) });
  }
  return { before: [...placeholders(verify, list), ...before], after };
}

/**
 * Reasoning that is open but gone would outlive a snapshot without any reasoning. A message of another kind in its place
 * does not, and can be opened as well.
 */
function placeholders({ thoughts, messageOwners }: VerifyState, list: MessageList): readonly Event[] {
  const gone = [...thoughts].filter((id) => list.get(id) === undefined);
  if (gone.length === 0 || list.publish().some(({ role }) => role === "reasoning")) return [];
  const messages = gone.map((id) => ({ id, role: "assistant", ...tag(messageOwners.get(id)) }) as const);
  return [{ type: "MESSAGES_SNAPSHOT", messages }];
}

/** The owner that a snapshot gives to what it restates; of what it lacks, the one on record. */
const ownerIn = (held: Message | undefined, recorded: string | undefined): string | undefined =>
  held === undefined ? recorded : held.subagentRunId;

function thoughtIn(list: MessageList, id: string): Message | undefined {
  const held = list.get(id);
  return held?.role === "reasoning" ? held : undefined;
}

const tag = (owner: string | undefined) => (owner === undefined ? {} : { subagentRunId: owner });

/** Role and name of who speaks, as a start says them. */
function speakerOf(held: Message | undefined): { readonly role?: TextMessageRole; readonly name?: string } {
  if (held === undefined || held.role === "tool" || held.role === "activity" || held.role === "reasoning") return {};
  return { role: held.role, ...(held.name === undefined ? {} : { name: held.name }) };
}

/** A start of a run without what the snapshots tell. */
function withoutInput(event: RunStartedEvent): RunStartedEvent {
  const started: RunStartedEvent & { input?: RunAgentInput; rawEvent?: unknown } = { ...event };
  delete started.input;
  delete started.rawEvent;
  return started;
}

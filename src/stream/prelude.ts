/**
 * A valid opening for someone who joins a stream in the middle with nothing: after it, the rest of the stream verifies and
 * folds as it does for those who were there from the start.
 *
 * The run is started again without its input, snapshots say what there is, partial text and arguments too, and what was
 * open is opened again; a start of something known adds nothing. Where no run is open, the last one is told as a closed
 * one, with its own terminal event. Questions that a run before left open are told by that run, ahead.
 *
 * Two rests come out a little otherwise. One that opens a call again which this run has answered leaves it pending: to say
 * that it is answered takes three events for each call of the run, which every client would take for new calls.
 * A rest that tags a message or its call otherwise than the conversation does folds the same but does not verify. AG-UI
 * forbids it (R-TEXT-03, R-SUB-14); `verify` lets it pass, not knowing earlier runs. A snapshot makes owners known and
 * only RUN_STARTED forgets them, so it would have to stand in a run ahead; but answered calls and lost items can only be
 * told in their own run, and leave traces that only a snapshot behind them takes away.
 */
import type { Event, Message, RunFinishedEvent, RunStartedEvent, TextMessageRole } from "../protocol/index.ts";
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
    case "RUN_STARTED": {
      // The snapshots tell what its input told.
      const { input: _input, rawEvent: _rawEvent, ...started } = event;
      state.started = started;
      state.ended.length = state.subagents.length = 0;
      state.names.clear();
      return;
    }
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
    ownerOf: (id) => ownerIn(reduce.list.carrierOf(id), SPEAKS, verify.callOwners, id),
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
  const before = [...placeholders(verify, list)];
  const after: Event[] = [];
  const sideOf = (id: string): Event[] => (list.get(id) === undefined ? before : after);
  const thought = (id: string) => ({ messageId: id, ...tag(ownerIn(list.get(id), THINKS, verify.thoughtOwners, id)) });
  for (const id of verify.spans) after.push({ type: "REASONING_START", ...thought(id) });
  for (const id of verify.thoughts) {
    sideOf(id).push({ type: "REASONING_MESSAGE_START", role: "reasoning", ...thought(id) });
  }
  for (const id of verify.messages) {
    const held = list.get(id);
    const owner = tag(ownerIn(held, SPEAKS, verify.messageOwners, id));
    sideOf(id).push({ type: "TEXT_MESSAGE_START", messageId: id, ...speakerOf(held), ...owner });
  }
  return { before, after };
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

/** Roles of the messages that reasoning, and text and calls, are owned by. */
const THINKS = /^reasoning/;
const SPEAKS = /^(?!reasoning|activity)/;

/** The owner that a snapshot gives to what it restates; of what it lacks, the one on record. */
const ownerIn = (held: Message | undefined, roles: RegExp, owners: VerifyState["callOwners"], id: string) =>
  held !== undefined && roles.test(held.role) ? held.subagentRunId : owners.get(id);

const tag = (owner: string | undefined) => (owner === undefined ? {} : { subagentRunId: owner });

/** Role and name of who speaks, as a start says them. */
function speakerOf(held: Message | undefined): { readonly role?: TextMessageRole; readonly name?: string } {
  if (held === undefined || held.role === "tool" || held.role === "activity" || held.role === "reasoning") return {};
  return { role: held.role, ...(held.name === undefined ? {} : { name: held.name }) };
}

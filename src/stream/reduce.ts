/**
 * The fold: events to messages, state and what else a reader sees.
 *
 * The state is an accumulator; what `view` hands out never changes. Between two views an event costs the same whatever
 * the history: items are found by id and changed in place, and only what was handed out is copied. Takes expanded and
 * verified events; what does not fit is skipped with a warning and never fails the run (R-SNAP-08, R-ACT-08, R-REAS-12).
 */
import type { Event, Interrupt, Message, Metadata, RunFinishedEvent, Warning } from "../protocol/index.ts";
import { applyPatch } from "./apply-patch.ts";
import { MessageList } from "./message-list.ts";
import { reduceSnapshot } from "./reduce-snapshot.ts";
import type { RunView, StepView, SubagentView, ThreadView } from "./view.ts";

/** What a fold starts from. */
export interface ReduceOptions {
  /** Messages held already. */
  readonly messages?: readonly Message[];
  /** State held already. */
  readonly state?: unknown;
}

/** What `reduce` keeps between events. Opaque: read it by `view`. */
export interface ReduceState {
  /** The messages. */
  readonly list: MessageList;
  /** The shared state; undefined until anything says what it is. */
  document: unknown;
  /** The newest run. */
  run: RunView;
  /** Open steps. */
  steps: readonly StepView[];
  /** Subagents of the newest run. */
  subagents: readonly SubagentView[];
  /** Open questions. */
  interrupts: readonly Interrupt[];
  /** Calls of the newest run, in order: true once answered. */
  readonly calls: Map<string, boolean>;
  /** The calls that nobody has answered, while that list still holds. */
  pending: readonly string[] | undefined;
  /** The view that was handed out last, while it still holds. */
  view: ThreadView | undefined;
}

/** A fresh fold. */
export function createReduceState(options: ReduceOptions = {}): ReduceState {
  return {
    list: new MessageList(options.messages),
    document: options.state,
    run: { status: "none", usage: [] },
    steps: [],
    subagents: [],
    interrupts: [],
    calls: new Map(),
    pending: [],
    view: undefined,
  };
}

/** The shared state before there is one: the same object each time, as everything that has not changed is. */
const NO_STATE: unknown = {};
const NONE: readonly Warning[] = Object.freeze([]);

/** Takes one event in. Returns what could not be applied, nearly always nothing. */
export function reduce(state: ReduceState, event: Event): readonly Warning[] {
  state.view = undefined;
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CONTENT":
      return appendText(state, event);
    case "TOOL_CALL_ARGS": {
      const call = state.list.callDraft(event.toolCallId);
      if (call === undefined) return skip(event, `there is no tool call ${event.toolCallId}`);
      call.function.arguments += event.delta;
      mergeMetadata(call, event.metadata);
      return NONE;
    }
    case "TEXT_MESSAGE_START":
    case "REASONING_MESSAGE_START":
      return startMessage(state, event);
    case "TEXT_MESSAGE_END":
    case "REASONING_MESSAGE_END":
      return endMessage(state, event);
    case "TOOL_CALL_START":
      return startCall(state, event);
    case "TOOL_CALL_END": {
      if (event.metadata === undefined) return NONE;
      const call = state.list.callDraft(event.toolCallId);
      if (call === undefined) return skip(event, `there is no tool call ${event.toolCallId}`);
      mergeMetadata(call, event.metadata);
      return NONE;
    }
    case "TOOL_CALL_RESULT":
      return answerCall(state, event);
    default:
      return reduceOther(state, event);
  }
}

type Handled =
  | `TEXT_MESSAGE_${"START" | "CONTENT" | "END"}`
  | `REASONING_MESSAGE_${"START" | "CONTENT" | "END"}`
  | `TOOL_CALL_${"START" | "ARGS" | "END" | "RESULT"}`;

function reduceOther(state: ReduceState, event: Exclude<Event, { readonly type: Handled }>): readonly Warning[] {
  switch (event.type) {
    case "STATE_SNAPSHOT":
      state.document = event.snapshot;
      return NONE;
    case "STATE_DELTA": {
      if (event.delta.length === 0) return NONE;
      const patched = applyPatch(state.document === undefined ? {} : state.document, event.delta);
      if (!patched.ok)
        return skip(
          event,
          `its patch does not apply: ${patched.problem.reason} at ${patched.problem.path || "the top"}`,
        );
      state.document = patched.value;
      return NONE;
    }
    case "MESSAGES_SNAPSHOT":
      reduceSnapshot(state.list, event.messages);
      return NONE;
    case "ACTIVITY_SNAPSHOT":
      return setActivity(state, event);
    case "ACTIVITY_DELTA":
      return changeActivity(state, event);
    case "REASONING_ENCRYPTED_VALUE":
      return setEncrypted(state, event);
    case "RUN_STARTED":
      return startRun(state, event);
    case "RUN_FINISHED":
      finishRun(state, event);
      return NONE;
    case "RUN_ERROR": {
      const { message, code, usage = state.run.usage } = event;
      const error = code === undefined ? { message } : { message, code };
      state.run = { ...state.run, status: "failed", error, usage };
      endRun(state);
      return NONE;
    }
    case "STEP_STARTED":
      state.steps = [...state.steps, { name: event.stepName, ...owner(event) }];
      return NONE;
    case "STEP_FINISHED":
      state.steps = state.steps.filter(
        ({ name, subagentRunId }) => name !== event.stepName || subagentRunId !== event.subagentRunId,
      );
      return NONE;
    case "SUBAGENT_STARTED":
    case "SUBAGENT_FINISHED":
    case "SUBAGENT_ERROR":
      reduceSubagent(state, event);
      return NONE;
    case "TEXT_MESSAGE_CHUNK":
    case "TOOL_CALL_CHUNK":
    case "REASONING_MESSAGE_CHUNK":
      return skip(event, "expand chunks first");
    case "REASONING_START":
    case "REASONING_END":
    case "RAW":
    case "CUSTOM":
    case "META":
      return NONE;
  }
}

/** The thread as the events so far make it: the same object until the next event. */
export function view(state: ReduceState): ThreadView {
  return (state.view ??= {
    messages: state.list.publish(),
    state: state.document === undefined ? NO_STATE : state.document,
    run: state.run,
    steps: state.steps,
    subagents: state.subagents,
    interrupts: state.interrupts,
    pendingToolCallIds: (state.pending ??= [...state.calls].flatMap(([id, answered]) => (answered ? [] : [id]))),
  });
}

type EventOf<T extends Event["type"]> = Extract<Event, { readonly type: T }>;

function skip(event: Event, why: string): readonly Warning[] {
  return [{ code: "not-applied", path: "", message: `${event.type} was skipped: ${why}.` }];
}

const owner = ({ subagentRunId }: { readonly subagentRunId?: string }) =>
  subagentRunId === undefined ? {} : { subagentRunId };

/** Metadata of the events of an item, key by key, the last write wins (R-META-05). */
function mergeMetadata(target: { metadata?: Metadata }, metadata: Metadata | undefined): void {
  if (metadata !== undefined) target.metadata = { ...target.metadata, ...metadata };
}

function startMessage(
  { list }: ReduceState,
  event: EventOf<"TEXT_MESSAGE_START" | "REASONING_MESSAGE_START">,
): readonly Warning[] {
  const { messageId: id } = event;
  const held = list.get(id);
  if (held === undefined) {
    const common = { ...owner(event), ...(event.metadata === undefined ? {} : { metadata: event.metadata }) };
    const text = event.type === "TEXT_MESSAGE_START";
    const name = text && event.name !== undefined ? { name: event.name } : {};
    list.append(
      text
        ? { id, role: event.role ?? "assistant", content: "", ...name, ...common }
        : { id, role: "reasoning", content: "", ...common },
    );
    return NONE;
  }
  if (!takesText(held)) return skip(event, `the message ${id} holds no text`);
  if (event.metadata !== undefined) mergeMetadata(list.draft(id), event.metadata);
  return NONE;
}

/** Text may be added to whatever holds text, or nothing yet. */
const takesText = ({ role, content }: Message): boolean =>
  role !== "activity" && (content === undefined || typeof content === "string");

function appendText(
  { list }: ReduceState,
  event: EventOf<"TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT">,
): readonly Warning[] {
  const { messageId: id } = event;
  let draft = list.recentDraft(id);
  if (draft === undefined || typeof draft.content !== "string") {
    const held = list.get(id);
    if (held === undefined || !takesText(held)) return skip(event, `there is no text message ${id}`);
    draft = list.draft(id);
  }
  draft.content = ((draft.content as string | undefined) ?? "") + event.delta;
  if (event.metadata !== undefined) mergeMetadata(draft, event.metadata);
  return NONE;
}

function endMessage(
  { list }: ReduceState,
  event: EventOf<"TEXT_MESSAGE_END" | "REASONING_MESSAGE_END">,
): readonly Warning[] {
  const held = list.get(event.messageId);
  if (held === undefined || !takesText(held)) return skip(event, `there is no text message ${event.messageId}`);
  if (event.metadata !== undefined) mergeMetadata(list.draft(event.messageId), event.metadata);
  return NONE;
}

function startCall(state: ReduceState, event: EventOf<"TOOL_CALL_START">): readonly Warning[] {
  const { list } = state;
  const { toolCallId: id, toolCallName: name } = event;
  if (!state.calls.has(id)) {
    state.calls.set(id, false);
    state.pending = undefined;
  }
  const held = list.callDraft(id);
  if (held !== undefined) {
    const renamed = held.function.name !== name;
    held.function.name = name;
    mergeMetadata(held, event.metadata);
    return renamed ? skip(event, `the tool call ${id} had another name, which is replaced`) : NONE;
  }
  const metadata = event.metadata === undefined ? {} : { metadata: event.metadata };
  list.addCall(carrierFor(list, event), { id, type: "function", function: { name, arguments: "" }, ...metadata });
  return NONE;
}

/** The assistant message that a new call goes to; made where there is none, with an id that nothing else has. */
function carrierFor(list: MessageList, event: EventOf<"TOOL_CALL_START">): string {
  const { toolCallId, parentMessageId: parentId } = event;
  const parent = parentId === undefined ? undefined : list.get(parentId);
  if (parent?.role === "assistant") return parent.id;
  let id = parentId === undefined || parentId === "" || parent !== undefined ? toolCallId : parentId;
  while (list.get(id) !== undefined) id = `${id}-call`;
  list.append({ id, role: "assistant", ...owner(event) });
  return id;
}

function answerCall(state: ReduceState, event: EventOf<"TOOL_CALL_RESULT">): readonly Warning[] {
  const { list } = state;
  const { messageId: id, toolCallId, content, metadata } = event;
  if (state.calls.has(toolCallId)) {
    state.calls.set(toolCallId, true);
    state.pending = undefined;
  }
  const message: Message = {
    id,
    role: "tool",
    toolCallId,
    content,
    ...owner(event),
    ...(metadata === undefined ? {} : { metadata }),
  };
  const held = list.get(id);
  if (held?.role === "tool") list.replace(message);
  else if (held !== undefined) return skip(event, `the id ${id} belongs to a message of role ${held.role}`);
  else {
    const carrier = list.carrierOf(toolCallId);
    if (carrier === undefined) list.append(message);
    else list.insertAnswer(message, carrier.id);
  }
  return NONE;
}

function setActivity({ list }: ReduceState, event: EventOf<"ACTIVITY_SNAPSHOT">): readonly Warning[] {
  const { messageId: id, activityType, content, metadata } = event;
  const held = list.get(id);
  const created = { id, role: "activity", activityType, content, ...owner(event) } as const;
  if (held === undefined) {
    list.append(metadata === undefined ? created : { ...created, metadata });
    return NONE;
  }
  if (held.role !== "activity") return skip(event, `the id ${id} belongs to a message of role ${held.role}`);
  // A replacing snapshot re-mints the attribution and keeps the metadata (R-ACT-04).
  if (event.replace !== false)
    list.replace(held.metadata === undefined ? created : { ...created, metadata: held.metadata });
  if (metadata !== undefined) mergeMetadata(list.draft(id), metadata);
  return NONE;
}

function changeActivity({ list }: ReduceState, event: EventOf<"ACTIVITY_DELTA">): readonly Warning[] {
  const { messageId: id, activityType, patch, metadata } = event;
  const held = list.get(id);
  if (held?.role !== "activity") return skip(event, `there is no activity ${id}`);
  if (metadata !== undefined) mergeMetadata(list.draft(id), metadata);
  const patched = applyPatch(held.content, patch);
  if (!patched.ok)
    return skip(event, `its patch does not apply: ${patched.problem.reason} at ${patched.problem.path || "the top"}`);
  if (typeof patched.value !== "object" || patched.value === null || Array.isArray(patched.value)) {
    return skip(event, "its patch leaves no object");
  }
  Object.assign(list.draft(id), { content: patched.value, activityType });
  return NONE;
}

function setEncrypted({ list }: ReduceState, event: EventOf<"REASONING_ENCRYPTED_VALUE">): readonly Warning[] {
  const { entityId: id, encryptedValue, encryptedValueType } = event;
  const role = list.get(id)?.role;
  const known =
    event.subtype === "tool-call" ? list.carrierOf(id) !== undefined : role !== undefined && role !== "activity";
  const target = !known ? undefined : event.subtype === "tool-call" ? list.callDraft(id) : list.draft(id);
  if (target === undefined) return skip(event, `there is no ${event.subtype} ${id}`);
  target.encryptedValue = encryptedValue;
  // A new value takes its type along, and the old type goes with the old value (R-REAS-10).
  if (encryptedValueType === undefined) delete target.encryptedValueType;
  else target.encryptedValueType = encryptedValueType;
  return NONE;
}

function startRun(state: ReduceState, event: EventOf<"RUN_STARTED">): readonly Warning[] {
  const { threadId, runId, input } = event;
  state.run = { status: "running", threadId, runId, usage: [] };
  state.steps = [];
  state.subagents = [];
  state.calls.clear();
  state.pending = undefined;
  if (state.document === undefined && input?.state !== undefined) state.document = input.state;
  for (const message of input?.messages ?? []) if (state.list.get(message.id) === undefined) state.list.append(message);
  return NONE;
}

function finishRun(state: ReduceState, { outcome, result, usage = [] }: RunFinishedEvent): void {
  const status =
    outcome?.type === "interrupt" ? "interrupted" : outcome?.type === "cancelled" ? "cancelled" : "finished";
  state.interrupts = outcome?.type === "interrupt" ? outcome.interrupts : [];
  state.run = { ...state.run, status, usage, ...(result === undefined ? {} : { result }) };
  endRun(state);
}

/** What was open is over with its run. */
function endRun(state: ReduceState): void {
  if (state.steps.length > 0) state.steps = [];
  if (state.subagents.some(({ status }) => status === "running")) {
    state.subagents = state.subagents.map((each) =>
      each.status === "running" ? { ...each, status: "abandoned" } : each,
    );
  }
}

function reduceSubagent(state: ReduceState, event: EventOf<`SUBAGENT_${"STARTED" | "FINISHED" | "ERROR"}`>): void {
  const { subagentRunId } = event;
  if (event.type === "SUBAGENT_STARTED") {
    state.subagents = [...state.subagents, { subagentRunId, name: event.name, status: "running" }];
    return;
  }
  const status =
    event.type === "SUBAGENT_ERROR" ? "failed" : event.outcome?.type === "suspended" ? "suspended" : "finished";
  state.subagents = state.subagents.map((each) => (each.subagentRunId === subagentRunId ? { ...each, status } : each));
}

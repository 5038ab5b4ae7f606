/**
 * The rules of order, one event at a time: what may follow what, and who may say it.
 *
 * Takes expanded and enforced events. A broken rule throws `sequence-violation`; what AG-UI does not call fatal comes back
 * as advice. META stands outside the grammar of runs and always passes. One state is good for one stream, which may
 * carry several runs; `verifyEnd` says whether the stream may end here.
 */
import { PROTOCOL_VERSION } from "../protocol/index.ts";
import type { Event, Message, RunFinishedEvent, RunStartedEvent } from "../protocol/index.ts";
import { violation } from "./rules.ts";
import type { Advice } from "./rules.ts";

/** Which subagent owns each item of one kind; the agent itself is undefined. Kept after the item is closed. */
type Owners = Map<string, string | undefined>;

/** What `verify` remembers between events. Opaque: its form may change. */
export interface VerifyState {
  /** Where in a run the stream is. */
  phase: "before" | "running" | "finished" | "failed";
  /** The thread of the stream, once it is known. */
  threadId: string | undefined;
  /** The run that is open or was last. */
  runId: string | undefined;
  /** Version that the reader declares; a newer producer is worth advice. */
  readonly version: string;
  /** Open text messages. */
  readonly messages: Set<string>;
  /** Open tool calls. */
  readonly calls: Set<string>;
  /** Open reasoning spans. */
  readonly spans: Set<string>;
  /** Open reasoning messages. */
  readonly thoughts: Set<string>;
  /** Open steps by owner. */
  readonly steps: Map<string | undefined, Set<string>>;
  /** Announced subagents: true while they are active. */
  readonly subagents: Map<string, boolean>;
  /** Calls of the run in order: true once answered. */
  readonly answered: Map<string, boolean>;
  /** What the last delta of each kind was for, as long as that is open: deltas come in rows. */
  recentMessage: string | undefined;
  /** The same for tool calls. */
  recentCall: string | undefined;
  /** The same for reasoning messages. */
  recentThought: string | undefined;
  /** Owners of text, tool and other messages. */
  readonly messageOwners: Owners;
  /** Owners of tool calls. */
  readonly callOwners: Owners;
  /** Owners of activities. */
  readonly activityOwners: Owners;
  /** Owners of reasoning messages and spans. */
  readonly thoughtOwners: Owners;
}

/** A fresh state: one for each stream. */
export const createVerifyState = (version: string = PROTOCOL_VERSION): VerifyState => ({
  phase: "before",
  threadId: undefined,
  runId: undefined,
  version,
  messages: new Set(),
  calls: new Set(),
  spans: new Set(),
  thoughts: new Set(),
  steps: new Map(),
  subagents: new Map(),
  answered: new Map(),
  recentMessage: undefined,
  recentCall: undefined,
  recentThought: undefined,
  messageOwners: new Map(),
  callOwners: new Map(),
  activityOwners: new Map(),
  thoughtOwners: new Map(),
});

const NONE: readonly Advice[] = Object.freeze([]);

/** Judges one event in its place. Throws `sequence-violation`; returns advice, nearly always none. */
export function verify(state: VerifyState, event: Event): readonly Advice[] {
  if (state.phase !== "running") checkOutside(state, event);
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
      if (event.messageId !== state.recentMessage) {
        mustBeOpen(state.messages, event.messageId, event);
        state.recentMessage = event.messageId;
      }
      if (event.subagentRunId !== undefined) mustOwn(state.messageOwners, event.messageId, event);
      return NONE;
    case "TOOL_CALL_ARGS":
      if (event.toolCallId !== state.recentCall) {
        mustBeOpen(state.calls, event.toolCallId, event);
        state.recentCall = event.toolCallId;
      }
      if (event.subagentRunId !== undefined) mustOwn(state.callOwners, event.toolCallId, event);
      return NONE;
    case "REASONING_MESSAGE_CONTENT":
      if (event.messageId !== state.recentThought) {
        mustBeOpen(state.thoughts, event.messageId, event);
        state.recentThought = event.messageId;
      }
      if (event.subagentRunId !== undefined) mustOwn(state.thoughtOwners, event.messageId, event);
      return NONE;
    case "META":
      return NONE;
    case "RUN_STARTED":
      return startRun(state, event);
    case "RUN_FINISHED":
      return finishRun(state, event);
    case "RUN_ERROR":
      state.phase = "failed";
      return NONE;
    case "TOOL_CALL_RESULT":
      state.messageOwners.set(event.messageId, event.subagentRunId);
      return judgeResult(state, event);
    default:
      verifyItem(state, event);
      return NONE;
  }
}

/** Says whether the stream may end here. Throws `sequence-violation` where a run is open, or nothing came at all. */
export function verifyEnd({ phase, runId }: VerifyState): void {
  if (phase === "running") throw violation("truncated", `The stream ended before the run ${runId} did.`);
  if (phase === "before") throw violation("truncated", "The stream ended before any run.");
}

type Item = Exclude<
  Event,
  {
    readonly type:
      | "META"
      | "TEXT_MESSAGE_CONTENT"
      | "TOOL_CALL_ARGS"
      | "REASONING_MESSAGE_CONTENT"
      | "RUN_STARTED"
      | "RUN_FINISHED"
      | "RUN_ERROR"
      | "TOOL_CALL_RESULT";
  }
>;

function verifyItem(state: VerifyState, event: Item): void {
  switch (event.type) {
    case "TEXT_MESSAGE_START":
      return open(state.messages, state.messageOwners, event.messageId, event);
    case "TEXT_MESSAGE_END":
      state.recentMessage = undefined;
      return close(state.messages, state.messageOwners, event.messageId, event);
    case "TOOL_CALL_START":
      return openCall(state, event);
    case "TOOL_CALL_END":
      state.recentCall = undefined;
      return close(state.calls, state.callOwners, event.toolCallId, event);
    case "REASONING_START":
      return open(state.spans, state.thoughtOwners, event.messageId, event);
    case "REASONING_END":
      return close(state.spans, state.thoughtOwners, event.messageId, event);
    case "REASONING_MESSAGE_START":
      return open(state.thoughts, state.thoughtOwners, event.messageId, event);
    case "REASONING_MESSAGE_END":
      state.recentThought = undefined;
      return close(state.thoughts, state.thoughtOwners, event.messageId, event);
    case "REASONING_ENCRYPTED_VALUE":
      return mustOwn(encryptedOwners(state, event), event.entityId, event);
    case "STEP_STARTED":
    case "STEP_FINISHED":
      return verifyStep(state, event);
    case "ACTIVITY_SNAPSHOT":
      if (event.replace !== false || !state.activityOwners.has(event.messageId)) {
        state.activityOwners.set(event.messageId, event.subagentRunId);
      }
      return;
    case "ACTIVITY_DELTA":
      return mustOwn(state.activityOwners, event.messageId, event);
    case "SUBAGENT_STARTED":
    case "SUBAGENT_FINISHED":
    case "SUBAGENT_ERROR":
      return verifySubagent(state, event);
    case "MESSAGES_SNAPSHOT":
      return seedOwners(state, event.messages, true);
    case "TEXT_MESSAGE_CHUNK":
    case "TOOL_CALL_CHUNK":
    case "REASONING_MESSAGE_CHUNK":
      throw violation("chunk-unexpanded", "Chunks are expanded before they are verified.", event);
    case "STATE_SNAPSHOT":
    case "STATE_DELTA":
    case "RAW":
    case "CUSTOM":
      return;
  }
}

function checkOutside({ phase }: VerifyState, event: Event): void {
  if (event.type === "RUN_STARTED" || event.type === "META") return;
  if (event.type === "RUN_ERROR" && phase !== "failed") return;
  if (phase === "before") {
    throw violation("first-event", `A stream begins with RUN_STARTED or RUN_ERROR, not with ${event.type}.`, event);
  }
  throw violation(
    phase === "finished" ? "after-finish" : "after-error",
    `${event.type} comes after the run's end.`,
    event,
  );
}

function startRun(state: VerifyState, event: RunStartedEvent): readonly Advice[] {
  if (state.phase === "running") throw violation("nested-run", `The run ${state.runId} has not ended yet.`, event);
  if (state.threadId !== undefined && state.threadId !== event.threadId) {
    throw violation("second-thread", `The stream is of thread ${state.threadId}, not ${event.threadId}.`, event);
  }
  state.phase = "running";
  state.threadId = event.threadId;
  state.runId = event.runId;
  for (const open of [state.messages, state.calls, state.spans, state.thoughts, state.steps, state.subagents])
    open.clear();
  for (const owners of ["messageOwners", "callOwners", "activityOwners", "thoughtOwners", "answered"] as const) {
    state[owners].clear();
  }
  state.recentMessage = state.recentCall = state.recentThought = undefined;
  seedOwners(state, event.input?.messages ?? [], false);
  return judgeVersion(state.version, event);
}

function judgeVersion(own: string, event: RunStartedEvent): readonly Advice[] {
  const theirs = event.protocolVersion;
  if (theirs === undefined || theirs === own) return NONE;
  const [major, minor] = /^\d+\.\d+$/.test(theirs) ? theirs.split(".").map(Number) : [];
  if (major === undefined || minor === undefined) {
    return [{ rule: "version-unreadable", message: `The version ${theirs} cannot be read.`, event }];
  }
  const [ownMajor = 0, ownMinor = 0] = own.split(".").map(Number);
  if ((major - ownMajor || minor - ownMinor) <= 0) return NONE;
  return [{ rule: "version-newer", message: `The version ${theirs} is newer than ${own}.`, event }];
}

function finishRun(state: VerifyState, event: RunFinishedEvent): readonly Advice[] {
  if (event.runId !== state.runId) {
    throw violation("run-id", `The run is ${state.runId}; RUN_FINISHED names ${event.runId}.`, event);
  }
  if (event.threadId !== state.threadId) {
    throw violation("thread-id", `The thread is ${state.threadId}; RUN_FINISHED names ${event.threadId}.`, event);
  }
  const left = stillOpen(state);
  if (left.length > 0)
    throw violation("open-at-finish", `The run finishes with these open: ${left.join(", ")}.`, event);
  const { outcome } = event;
  if (outcome?.type === "interrupt") {
    const ids = outcome.interrupts.map(({ id }) => id);
    if (new Set(ids).size < ids.length) throw violation("interrupt-ids", "Two interrupts have one id.", event);
  }
  state.phase = "finished";
  const named = outcome?.type === "success" ? outcome.pendingToolCallIds : undefined;
  if (named === undefined) return NONE;
  const pending = [...state.answered].flatMap(([id, answered]) => (answered ? [] : [id]));
  if (named.length === pending.length && named.every((id, index) => id === pending[index])) return NONE;
  return [{ rule: "pending-calls", message: `The calls that wait are: ${pending.join(", ") || "none"}.`, event }];
}

/** Everything that is open, in words. */
function stillOpen(state: VerifyState): readonly string[] {
  return [
    ...[...state.steps.values()].flatMap((names) => [...names].map((name) => `step ${name}`)),
    ...[...state.messages].map((id) => `message ${id}`),
    ...[...state.thoughts].map((id) => `reasoning message ${id}`),
    ...[...state.spans].map((id) => `reasoning ${id}`),
    ...[...state.calls].map((id) => `tool call ${id}`),
    ...[...state.subagents].flatMap(([id, active]) => (active ? [`subagent ${id}`] : [])),
  ];
}

type Attributed = Extract<Event, { readonly subagentRunId?: string }>;

function mustBeOpen(items: ReadonlySet<string>, id: string, event: Event): void {
  if (!items.has(id)) throw violation("not-open", `${event.type} names ${id}, which is not open.`, event);
}

/** A tag that is there has to name the owner; no tag agrees with every owner (R-SUB-13). */
function mustOwn(owners: Owners, id: string, event: Attributed): void {
  const tag = event.subagentRunId;
  if (tag === undefined || !owners.has(id) || owners.get(id) === tag) return;
  const owner = owners.get(id) ?? "the agent itself";
  throw violation("owner-mismatch", `${id} belongs to ${owner}; ${event.type} says ${tag}.`, event);
}

function open(items: Set<string>, owners: Owners, id: string, event: Attributed, owner = event.subagentRunId): void {
  if (items.has(id)) throw violation("already-open", `${event.type} opens ${id}, which is open already.`, event);
  mustOwn(owners, id, event);
  items.add(id);
  if (!owners.has(id)) owners.set(id, owner);
}

function close(items: Set<string>, owners: Owners, id: string, event: Attributed): void {
  mustBeOpen(items, id, event);
  mustOwn(owners, id, event);
  items.delete(id);
}

function openCall(state: VerifyState, event: Extract<Event, { readonly type: "TOOL_CALL_START" }>): void {
  const { toolCallId: id, parentMessageId: parent, subagentRunId: tag } = event;
  const { callOwners, messageOwners } = state;
  const carried = parent !== undefined && messageOwners.has(parent);
  const owner = carried ? messageOwners.get(parent) : undefined;
  const claimed = tag ?? (callOwners.has(id) ? callOwners.get(id) : owner);
  if (carried && claimed !== owner && !state.calls.has(id)) {
    throw violation("call-owner", `The call ${id} and its message ${parent} have different owners.`, event);
  }
  open(state.calls, callOwners, id, event, tag ?? owner);
  if (!state.answered.has(id)) state.answered.set(id, false);
}

function judgeResult(
  state: VerifyState,
  event: Extract<Event, { readonly type: "TOOL_CALL_RESULT" }>,
): readonly Advice[] {
  const { toolCallId } = event;
  const answered = state.answered.get(toolCallId);
  // A call of an earlier run may be answered in this one; only history could tell, so this stays advice.
  if (answered === undefined && !state.callOwners.has(toolCallId)) {
    return [{ rule: "result-orphan", message: `Nothing in this run called ${toolCallId}.`, event }];
  }
  if (answered === true) {
    return [{ rule: "result-duplicate", message: `The tool call ${toolCallId} is answered already.`, event }];
  }
  state.answered.set(toolCallId, true);
  return NONE;
}

function encryptedOwners(
  state: VerifyState,
  event: Extract<Event, { readonly type: "REASONING_ENCRYPTED_VALUE" }>,
): Owners {
  if (event.subtype === "tool-call") return state.callOwners;
  return state.messageOwners.has(event.entityId) ? state.messageOwners : state.thoughtOwners;
}

function verifyStep(state: VerifyState, event: Extract<Event, { readonly type: `STEP_${string}` }>): void {
  const { stepName, subagentRunId: owner } = event;
  const names = state.steps.get(owner) ?? new Set();
  if (event.type === "STEP_STARTED") {
    if (names.has(stepName)) throw violation("step-already-open", `The step ${stepName} is open already.`, event);
    state.steps.set(owner, names.add(stepName));
  } else if (!names.delete(stepName)) {
    throw violation("step-not-open", `The step ${stepName} is not open.`, event);
  }
}

function verifySubagent(state: VerifyState, event: Extract<Event, { readonly type: `SUBAGENT_${string}` }>): void {
  const { subagentRunId: id } = event;
  const active = state.subagents.get(id);
  if (event.type !== "SUBAGENT_STARTED") {
    if (active !== true) throw violation("subagent-not-active", `The subagent ${id} is not active.`, event);
    state.subagents.set(id, false);
    return;
  }
  if (active === true) throw violation("subagent-active", `The subagent ${id} is active already.`, event);
  if (active === false) throw violation("subagent-reused", `The id ${id} was another invocation.`, event);
  const { parentSubagentRunId: parent } = event;
  if (parent !== undefined && !state.subagents.has(parent)) {
    throw violation("subagent-parent", `The parent ${parent} was never announced.`, event);
  }
  state.subagents.set(id, true);
}

/** Messages that a snapshot restates, or an input echoes, have owners too. */
function seedOwners(state: VerifyState, messages: readonly Message[], restated: boolean): void {
  const claim = (owners: Owners, id: string, owner: string | undefined): void => {
    if (restated || !owners.has(id)) owners.set(id, owner);
  };
  for (const message of messages) {
    const { id, role, subagentRunId: owner } = message;
    claim(
      role === "reasoning" ? state.thoughtOwners : role === "activity" ? state.activityOwners : state.messageOwners,
      id,
      owner,
    );
    if (role === "assistant") for (const call of message.toolCalls ?? []) claim(state.callOwners, call.id, owner);
  }
}

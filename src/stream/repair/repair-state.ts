/**
 * What repair remembers, and the two ways in which anything leaves it: an event by `emit`, a report by `report`.
 *
 * `emit` lets nothing out that does not verify. What the rules refuse is dropped, with the rule that it breaks; so the
 * verifier's own state is all that repair needs to know of what is open and who owns it.
 */
import { HeddleError } from "../../protocol/index.ts";
import type {
  Event,
  JsonPatch,
  Message,
  RunFinishedOutcome,
  TextMessageStartEvent,
  ToolCallResultEvent,
} from "../../protocol/index.ts";
import { createExpandState } from "../expand.ts";
import type { ExpandState } from "../expand.ts";
import type { Repair } from "./repair-rules.ts";
import { RULES } from "../rules.ts";
import type { Rule } from "../rules.ts";
import { createVerifyState, verify } from "../verify.ts";
import type { VerifyState } from "../verify.ts";

/** What a gateway knows beforehand. All of it may be left out. */
export interface RepairOptions {
  /** The thread of the stream: boundaries that say another are corrected. */
  readonly threadId?: string;
  /** The first run of the stream: boundaries that say another are corrected. */
  readonly runId?: string;
  /** Messages held already: their calls may be continued, their activities changed. */
  readonly messages?: readonly Message[];
  /** State held already: what the first delta applies to. */
  readonly state?: unknown;
}

/** Names that were made for ids of the agent: what it calls so is called otherwise from then on. */
export interface Names {
  /** The name in use, and how many were tried, by the agent's id. */
  readonly current: Map<string, { readonly name: string; readonly count: number }>;
  /** All that were made. */
  readonly made: Set<string>;
}

/** What `repair` remembers between events. Opaque: its form may change. */
export interface RepairState {
  /** What the gateway knows. */
  readonly options: RepairOptions;
  /** The stream that came out so far, as the verifier sees it. */
  readonly verified: VerifyState;
  /** Chunks that are open. */
  readonly chunks: ExpandState;
  /** Ids that messages, calls and subagents have had. */
  readonly ids: Set<string>;
  /** Names of text messages. */
  readonly texts: Names;
  /** Names of reasoning messages. */
  readonly thoughts: Names;
  /** Names of subagents, in the run. */
  readonly subagents: Names;
  /** Speakers of text messages, where they are not the assistant without a name. */
  readonly speakers: Map<string, Pick<TextMessageStartEvent, "role" | "name">>;
  /** Tool calls that are known: what they call, and what carries them. */
  readonly calls: Map<string, { readonly toolCallName: string; readonly parentMessageId?: string }>;
  /** The last answer to each call, in the run. */
  readonly results: Map<string, ToolCallResultEvent>;
  /** Contents of activities. */
  readonly activities: Map<string, unknown>;
  /** The shared state; undefined until anything says what it is. */
  document: unknown;
  /** How the agent calls the run that the stream is about, and how we do. */
  alias: { readonly theirs: string; readonly ours: string } | undefined;
}

/** No names yet. */
export const createNames = (): Names => ({ current: new Map(), made: new Set() });

/** A fresh state: one for each stream. */
export function createRepairState(options: RepairOptions = {}): RepairState {
  const state: RepairState = {
    options,
    verified: createVerifyState(),
    chunks: createExpandState(),
    ids: new Set(),
    texts: createNames(),
    thoughts: createNames(),
    subagents: createNames(),
    speakers: new Map(),
    calls: new Map(),
    results: new Map(),
    activities: new Map(),
    document: options.state,
    alias: undefined,
  };
  learn(state, options.messages ?? []);
  return state;
}

/** What comes out for one event. */
export interface RepairStep {
  /** What is remembered. */
  readonly state: RepairState;
  /** The event that is repaired; undefined at the end of the stream. */
  readonly event: Event | undefined;
  /** Events in place of it. */
  readonly events: Event[];
  /** What was repaired. */
  readonly repairs: Repair[];
}

/** Reports a repair. */
export function report({ repairs, event }: RepairStep, rule: Repair["rule"], message: string): void {
  repairs.push(event === undefined ? { rule, message } : { rule, message, event });
}

/** Members of events that a repair may change. */
interface Amendments {
  readonly threadId?: string;
  readonly runId?: string;
  readonly id?: string;
  readonly messageId?: string;
  readonly entityId?: string;
  readonly parentMessageId?: string | undefined;
  readonly subagentRunId?: string | undefined;
  readonly parentSubagentRunId?: string | undefined;
  readonly outcome?: RunFinishedOutcome | undefined;
  readonly delta?: JsonPatch;
  readonly patch?: JsonPatch;
  readonly timestamp?: number | undefined;
}

/** The same with other members, where undefined takes one out; the same object where nothing changes. */
export function amend<T extends object>(before: T, members: Amendments): T {
  let after = before;
  for (const [key, value] of Object.entries(members)) {
    if (Reflect.get(before, key) === value) continue;
    if (after === before) after = { ...before };
    if (value === undefined) Reflect.deleteProperty(after, key);
    else Reflect.set(after, key, value);
  }
  return after;
}

/** Lets an event out that no agent sent: at the time of the one that is repaired, in the name of its owner. */
export function add(step: RepairStep, event: Event, subagentRunId?: string): void {
  emit(step, amend(event, { timestamp: step.event?.timestamp, subagentRunId }));
}

/** Lets an event out, and says whether it went: what does not verify is dropped and reported. */
export function emit(step: RepairStep, event: Event): boolean {
  const { verified, calls } = step.state;
  try {
    for (const { rule, message } of verify(verified, event)) {
      const isAnswer = event.type === "TOOL_CALL_RESULT";
      // A call of history may be answered now: the verifier cannot know, but we do.
      if (isAnswer && (rule !== "result-orphan" || !calls.has(event.toolCallId))) report(step, rule, message);
    }
  } catch (error) {
    return reportDropped(step, error);
  }
  step.events.push(event);
  return true;
}

/** Reports that an event is dropped for the rule that it breaks. Throws what is no breach of a rule. */
export function reportDropped(step: RepairStep, error: unknown): false {
  if (!(error instanceof HeddleError) || !isRule(error.details.rule)) throw error;
  report(step, error.details.rule, `${error.message} It is dropped.`);
  return false;
}

const isRule = (rule: unknown): rule is Rule => typeof rule === "string" && Object.hasOwn(RULES, rule);

/** The name in use for what the agent calls `id`. */
export function nameOf<T extends string | undefined>(step: RepairStep, names: Names, id: T): T | string {
  if (id === undefined) return id;
  const held = names.current.get(id);
  if (held !== undefined) return held.name;
  if (!names.made.has(id)) return id;
  const name = rename(step.state.ids, names, id);
  report(step, "id-taken", `${id} was made for something else: it becomes ${name}.`);
  return name;
}

/** Makes a new name for what the agent calls `id`, one that nothing on the stream has had. */
export function rename(ids: Set<string>, names: Names, id: string): string {
  let count = names.current.get(id)?.count ?? 1;
  let name: string;
  do name = `${id}-${++count}`;
  while (ids.has(name));
  ids.add(name);
  names.made.add(name);
  names.current.set(id, { name, count });
  return name;
}

/** Takes in messages that history holds. */
export function learn(state: RepairState, messages: readonly Message[]): void {
  for (const message of messages) {
    state.ids.add(message.id);
    if (message.role === "activity") state.activities.set(message.id, message.content);
    if (message.role !== "assistant") continue;
    for (const { id, function: called } of message.toolCalls ?? []) {
      state.ids.add(id);
      state.calls.set(id, { toolCallName: called.name, parentMessageId: message.id });
    }
  }
}

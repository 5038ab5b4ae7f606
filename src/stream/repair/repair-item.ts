/**
 * Repairs of what is opened, continued and closed: messages, reasoning and tool calls.
 *
 * An item that is continued but not open is opened; under a name of its own where its id has been something before, so
 * that text after a tool call stands after it. Whoever owned an item first owns it: a tag that disagrees is replaced.
 */
import type { Event, ToolCallStartEvent } from "../../protocol/index.ts";
import { add, amend, emit, nameOf, rename, report } from "./repair-state.ts";
import type { Names, RepairStep } from "./repair-state.ts";
import type { Rule } from "../rules.ts";

type Attributed = Exclude<Extract<Event, { readonly subagentRunId?: string }>, { readonly type: `SUBAGENT_${string}` }>;
type TextEvent = Extract<Event, { readonly type: `TEXT_MESSAGE_${"START" | "CONTENT" | "END"}` }>;
type ThoughtEvent = Extract<Event, { readonly type: `REASONING_MESSAGE_${"START" | "CONTENT" | "END"}` }>;
type Content = Extract<Event, { readonly type: `${"TEXT" | "REASONING"}_MESSAGE_CONTENT` }>;
type CallEvent = Extract<Event, { readonly type: `TOOL_CALL_${"ARGS" | "END"}` }>;
type SpanEvent = Extract<Event, { readonly type: `REASONING_${"START" | "END"}` }>;
type Owners = ReadonlyMap<string, string | undefined>;

/** An event under the name that its subagent has now. */
export function rightlyTagged<T extends Attributed>(step: RepairStep, event: T): T {
  const { ids, subagents } = step.state;
  if (event.subagentRunId === undefined) return event;
  ids.add(event.subagentRunId);
  return amend(event, { subagentRunId: nameOf(step, subagents, event.subagentRunId) });
}

/** An event under the tag of whoever owns the item. */
export function rightlyOwned<T extends Attributed>(
  step: RepairStep,
  event: T,
  owners: Owners,
  id: string,
  rule: Rule = "owner-mismatch",
): T {
  if (event.subagentRunId === undefined) return event;
  if (!owners.has(id)) return rightlyTagged(step, event);
  const owner = owners.get(id);
  if (event.subagentRunId === owner) return event;
  if (rightlyTagged(step, event).subagentRunId !== owner) {
    report(step, rule, `${event.type} names another owner than ${owner ?? "the agent itself"}, who has ${id}.`);
  }
  return amend(event, { subagentRunId: owner });
}

/** Repairs one event of a text or reasoning message. */
export function repairMessage(step: RepairStep, event: TextEvent | ThoughtEvent): void {
  const { texts, thoughts, ids, speakers, verified } = step.state;
  const { type } = event;
  const [names, open, owners] = type.startsWith("T")
    ? [texts, verified.messages, verified.messageOwners]
    : [thoughts, verified.thoughts, verified.thoughtOwners];
  let messageId = nameOf(step, names, event.messageId);
  if ((type === "TEXT_MESSAGE_CONTENT" || type === "REASONING_MESSAGE_CONTENT") && !open.has(messageId)) {
    messageId = openMessage(step, event, names, owners, messageId);
  }
  const named = messageId === event.messageId ? event : amend(event, { messageId });
  const starts = type.endsWith("START");
  // What is going to be dropped is not worth a second report.
  const stray = starts === open.has(messageId);
  emit(step, stray ? named : rightlyOwned(step, named, owners, messageId));
  if (starts) ids.add(messageId);
  if (type === "TEXT_MESSAGE_START" && !stray) speakers.set(messageId, event);
}

/** Opens the message that is continued, and says under which id. */
function openMessage(step: RepairStep, event: Content, names: Names, owners: Owners, known: string): string {
  const { ids, speakers } = step.state;
  const messageId = ids.has(known) ? rename(ids, names, event.messageId) : known;
  ids.add(messageId);
  report(step, "not-open", `${event.type} names ${event.messageId}, which is not open: ${messageId} is opened.`);
  const { role = "assistant", name } = speakers.get(known) ?? {};
  const start: Attributed =
    event.type === "REASONING_MESSAGE_CONTENT"
      ? { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" }
      : { type: "TEXT_MESSAGE_START", messageId, role, ...(name === undefined ? {} : { name }) };
  if (start.type === "TEXT_MESSAGE_START") speakers.set(messageId, start);
  const subagentRunId = event.subagentRunId ?? owners.get(known);
  const owned = rightlyOwned(step, amend(start, { subagentRunId }), owners, messageId);
  add(step, owned, owned.subagentRunId);
  return messageId;
}

/** Repairs one event of a reasoning span. */
export function repairSpan(step: RepairStep, event: SpanEvent): void {
  const { spans, thoughtOwners } = step.state.verified;
  const stray = (event.type === "REASONING_START") === spans.has(event.messageId);
  emit(step, stray ? event : rightlyOwned(step, event, thoughtOwners, event.messageId));
}

/** Repairs the start of a tool call: it belongs to whoever owns the message that carries it. */
export function repairCallStart(step: RepairStep, event: ToolCallStartEvent): void {
  const { ids, texts, calls, verified } = step.state;
  const { callOwners, messageOwners } = verified;
  const { toolCallId: id, parentMessageId: said } = event;
  if (verified.calls.has(id)) return void emit(step, event);
  const isKnown = callOwners.has(id);
  const parent = isKnown ? said : nameOf(step, texts, said);
  const isCarried = parent !== undefined && messageOwners.has(parent);
  let fixed = amend(event, { parentMessageId: parent });
  if (isKnown) {
    if (isCarried && callOwners.get(id) !== messageOwners.get(parent)) {
      report(step, "call-owner", `${id} has another owner than ${parent}: it stays where it is.`);
      fixed = amend(fixed, { parentMessageId: undefined });
    }
    fixed = rightlyOwned(step, fixed, callOwners, id);
  } else if (isCarried) fixed = rightlyOwned(step, fixed, messageOwners, parent, "call-owner");
  else fixed = rightlyTagged(step, fixed);
  emit(step, fixed);
  ids.add(id);
  if (parent !== undefined) ids.add(parent);
  calls.set(id, fixed);
}

/** Repairs what continues or ends a tool call: one that is known and has no answer yet is opened again. */
export function repairCall(step: RepairStep, event: CallEvent): void {
  const { calls, verified } = step.state;
  const { toolCallId: id } = event;
  const known = calls.get(id);
  const isContinued = event.type === "TOOL_CALL_ARGS" && !verified.calls.has(id);
  if (isContinued && known !== undefined && verified.answered.get(id) !== true) {
    report(step, "not-open", `TOOL_CALL_ARGS names ${id}, which is not open: it is opened again.`);
    const { toolCallName, parentMessageId } = known;
    const { timestamp, subagentRunId } = event;
    const start: ToolCallStartEvent = { type: "TOOL_CALL_START", toolCallId: id, toolCallName };
    repairCallStart(step, amend(start, { parentMessageId, timestamp, subagentRunId }));
  }
  emit(step, verified.calls.has(id) ? rightlyOwned(step, event, verified.callOwners, id) : event);
}

/** Ends the messages that go by a name of ours: a snapshot speaks of the agent's ids again. */
export function endRenamed(step: RepairStep): void {
  const { texts, thoughts, verified } = step.state;
  for (const { name: messageId } of texts.current.values()) {
    if (verified.messages.has(messageId)) add(step, { type: "TEXT_MESSAGE_END", messageId });
  }
  for (const { name: messageId } of thoughts.current.values()) {
    if (verified.thoughts.has(messageId)) add(step, { type: "REASONING_MESSAGE_END", messageId });
  }
  texts.current.clear();
  thoughts.current.clear();
}

/** The 31 event types of AG-UI, and META of our own (PROTOCOL.md, PROTO-META). */
import {
  boolean,
  constant,
  int,
  json,
  list,
  may,
  must,
  object,
  oneOf,
  open,
  ref,
  string,
  textOr,
  union,
  value,
} from "./shape.ts";
import type { Definitions, Fields, ObjectDefinition } from "./shape.ts";

const base: Fields = {
  timestamp: may(int, "When the event was made, in milliseconds since the epoch. Never an order: arrival is."),
  rawEvent: may(value, "The provider's own event that this one was made from. Never drives behaviour."),
  metadata: may(ref("Metadata"), "Extra information, open by key. `ag-ui` is reserved."),
};

const attributable: Fields = {
  ...base,
  subagentRunId: may(
    ref("SubagentRunId"),
    "The subagent invocation that this belongs to; absent for the agent itself.",
  ),
};

const event = (type: string, doc: string, common: Fields, own: Fields): ObjectDefinition =>
  object(doc, { type: must(constant(type), "Which event this is."), ...own, ...common });

const messageId = must(string, "Id of the message.");
const toolCallId = must(string, "Id of the tool call.");
const delta = must(string, "The next fragment. May be empty.");
const spanId = must(string, "Id of the reasoning span; apart from the ids of reasoning messages.");
const invocation = must(ref("SubagentRunId"), "Id of the invocation.");
const threadId = must(string, "Id of the conversation.");
const runId = must(string, "Id of the run, unique in its thread.");
const usage = may(list(ref("TokenUsage")), "Tokens spent, one entry per provider and model.");

const lifecycle: Definitions = {
  RunStartedEvent: event("RUN_STARTED", "Opens a run.", base, {
    threadId,
    runId,
    protocolVersion: may(string, "Version that the producer speaks, `MAJOR.MINOR`; absent before 1.0."),
    parentRunId: may(string, "The run that this one comes from."),
    input: may(ref("RunAgentInput"), "The input that the run was started with."),
  }),
  RunFinishedEvent: event("RUN_FINISHED", "Closes a run that did not fail.", base, {
    threadId,
    runId,
    result: may(value, "What the run returned."),
    outcome: may(ref("RunFinishedOutcome"), "How it ended; absent means success."),
    usage,
  }),
  RunErrorEvent: event("RUN_ERROR", "Ends a run that failed, or reports that a finished one failed after all.", base, {
    message: must(string, "What went wrong, for people."),
    code: may(string, "What went wrong, for programs."),
    usage,
  }),
  StepStartedEvent: event("STEP_STARTED", "Opens a named step.", attributable, {
    stepName: must(string, "Name of the step."),
  }),
  StepFinishedEvent: event("STEP_FINISHED", "Closes a named step.", attributable, {
    stepName: must(string, "Name of the step."),
  }),
};

const text: Definitions = {
  TextMessageStartEvent: event("TEXT_MESSAGE_START", "Opens a text message.", attributable, {
    messageId,
    role: may(ref("TextMessageRole"), "Who speaks; absent means assistant."),
    name: may(string, "Name to show for the speaker."),
  }),
  TextMessageContentEvent: event("TEXT_MESSAGE_CONTENT", "Adds text to an open message.", attributable, {
    messageId,
    delta,
  }),
  TextMessageEndEvent: event("TEXT_MESSAGE_END", "Closes a text message.", attributable, { messageId }),
  TextMessageChunkEvent: event("TEXT_MESSAGE_CHUNK", "Shorthand for start, content and end.", attributable, {
    messageId: may(string, "Id of the message; the first chunk must have it."),
    role: may(ref("TextMessageRole"), "Who speaks; absent means assistant."),
    delta: may(string, "The next fragment."),
    name: may(string, "Name to show for the speaker."),
  }),
};

const tools: Definitions = {
  ToolCallStartEvent: event("TOOL_CALL_START", "Opens a tool call.", attributable, {
    toolCallId,
    toolCallName: must(string, "Name of the tool."),
    parentMessageId: may(string, "The assistant message that the call belongs to."),
  }),
  ToolCallArgsEvent: event("TOOL_CALL_ARGS", "Adds to the argument text of an open call.", attributable, {
    toolCallId,
    delta,
  }),
  ToolCallEndEvent: event("TOOL_CALL_END", "Closes a tool call: its arguments are complete.", attributable, {
    toolCallId,
  }),
  ToolCallChunkEvent: event("TOOL_CALL_CHUNK", "Shorthand for start, arguments and end.", attributable, {
    toolCallId: may(string, "Id of the tool call; the first chunk must have it."),
    toolCallName: may(string, "Name of the tool; the first chunk must have it."),
    parentMessageId: may(string, "The assistant message that the call belongs to."),
    delta: may(string, "The next fragment of the argument text."),
  }),
  ToolCallResultEvent: event("TOOL_CALL_RESULT", "What a tool returned: a message of its own.", attributable, {
    messageId: must(string, "Id of the new tool message."),
    toolCallId,
    content: must(textOr(list(ref("ContentPart"))), "The result: text, or parts in order."),
    role: may(constant("tool"), "Always `tool`."),
  }),
};

const state: Definitions = {
  StateSnapshotEvent: event("STATE_SNAPSHOT", "Replaces the state.", attributable, {
    snapshot: must(ref("State"), "The whole state; null is a state too."),
  }),
  StateDeltaEvent: event("STATE_DELTA", "Changes the state by a patch.", attributable, {
    delta: must(ref("JsonPatch"), "Operations, applied in order, all or none."),
  }),
  MessagesSnapshotEvent: event("MESSAGES_SNAPSHOT", "Restates the conversation's messages.", base, {
    messages: must(list(ref("Message")), "The messages."),
  }),
  ActivitySnapshotEvent: event("ACTIVITY_SNAPSHOT", "Creates or replaces an activity message.", attributable, {
    messageId,
    activityType: must(string, "What kind of activity; an open set."),
    content: must(open, "What is shown for it."),
    replace: may(boolean, "False leaves an existing activity alone; absent means true."),
  }),
  ActivityDeltaEvent: event("ACTIVITY_DELTA", "Changes an activity message by a patch.", attributable, {
    messageId,
    activityType: must(string, "What kind of activity; replaces the kind so far."),
    patch: must(ref("JsonPatch"), "Operations on its content."),
  }),
};

const reasoning: Definitions = {
  ReasoningStartEvent: event("REASONING_START", "Opens a reasoning span.", attributable, { messageId: spanId }),
  ReasoningMessageStartEvent: event("REASONING_MESSAGE_START", "Opens a reasoning message.", attributable, {
    messageId,
    role: must(constant("reasoning"), "Always `reasoning`."),
  }),
  ReasoningMessageContentEvent: event("REASONING_MESSAGE_CONTENT", "Adds reasoning text.", attributable, {
    messageId,
    delta,
  }),
  ReasoningMessageEndEvent: event("REASONING_MESSAGE_END", "Closes a reasoning message.", attributable, { messageId }),
  ReasoningMessageChunkEvent: event("REASONING_MESSAGE_CHUNK", "Shorthand for start, content and end.", attributable, {
    messageId: may(string, "Id of the message; the first chunk must have it."),
    delta: may(string, "The next fragment."),
  }),
  ReasoningEndEvent: event("REASONING_END", "Closes a reasoning span.", attributable, { messageId: spanId }),
  ReasoningEncryptedValueEvent: event(
    "REASONING_ENCRYPTED_VALUE",
    "Gives a message or tool call an opaque value to send back.",
    attributable,
    {
      subtype: must(ref("ReasoningEncryptedValueSubtype"), "What `entityId` names."),
      entityId: must(string, "Id of the message or tool call."),
      encryptedValue: must(string, "The opaque value; goes back to its issuer unchanged."),
      encryptedValueType: may(string, "What kind of value it is, in the issuer's words (1.1)."),
    },
  ),
};

const subagents: Definitions = {
  SubagentStartedEvent: event("SUBAGENT_STARTED", "Announces a subagent invocation.", base, {
    subagentRunId: invocation,
    name: must(string, "Name of the subagent."),
    description: may(string, "What it is asked to do."),
    parentSubagentRunId: may(ref("SubagentRunId"), "The invocation that started it."),
    parentToolCallId: may(string, "The tool call that started it."),
    parentMessageId: may(string, "The message that started it."),
  }),
  SubagentFinishedEvent: event("SUBAGENT_FINISHED", "Closes a subagent invocation.", base, {
    subagentRunId: invocation,
    result: may(value, "What it returned."),
    outcome: may(ref("SubagentFinishedOutcome"), "How it ended; absent means success."),
  }),
  SubagentErrorEvent: event("SUBAGENT_ERROR", "Ends a subagent invocation that failed.", base, {
    subagentRunId: invocation,
    message: must(string, "What went wrong, for people."),
    code: may(string, "What went wrong, for programs."),
  }),
};

const special: Definitions = {
  RawEvent: event("RAW", "An event of another system, passed through.", attributable, {
    event: must(json, "The event as it came."),
    source: may(string, "Where it came from."),
  }),
  CustomEvent: event("CUSTOM", "An event of the application's own.", attributable, {
    name: must(string, "Which one; prefix it with a vendor."),
    value: must(json, "What it carries."),
  }),
  MetaEvent: event("META", "An annotation beside the runs: a rating, a note, a tag. Heddle's own extension.", base, {
    metaType: must(string, "What kind of annotation."),
    payload: must(open, "What it says."),
  }),
};

const all: Definitions = {
  ...lifecycle,
  ...text,
  ...tools,
  ...state,
  ...reasoning,
  ...subagents,
  ...special,
};

/** Everything that travels from agent to user. */
export const eventDefinitions: Definitions = {
  ...all,
  Event: union("Every event.", "type", Object.keys(all)),
  TextMessageRole: oneOf("Who may speak in a streamed text message.", ["developer", "system", "assistant", "user"]),
  ReasoningEncryptedValueSubtype: oneOf("What an encrypted value belongs to.", ["tool-call", "message"]),
};

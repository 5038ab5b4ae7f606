/** What an event says, in one line for people. */
import type { Event } from "heddle/protocol";

const MOST = 140;

/** An event in a line. */
export function describeEvent(event: Event): string {
  switch (event.type) {
    case "RUN_STARTED":
      return "A run began.";
    case "RUN_FINISHED":
      return END[event.outcome?.type ?? "success"] ?? "The run ended.";
    case "RUN_ERROR":
      return `The run failed: ${cut(event.message)}`;
    case "TEXT_MESSAGE_START":
      return `A message of the ${event.role ?? "assistant"} began.`;
    case "TEXT_MESSAGE_CONTENT":
      return `Text was added: ${quote(event.delta)}`;
    case "TEXT_MESSAGE_END":
      return "The message is complete.";
    case "REASONING_MESSAGE_CONTENT":
      return `A thought was added: ${quote(event.delta)}`;
    case "TOOL_CALL_START":
      return `The tool ${event.toolCallName} is called.`;
    case "TOOL_CALL_ARGS":
      return `Arguments were added: ${quote(event.delta)}`;
    case "TOOL_CALL_END":
      return "The call is complete.";
    case "TOOL_CALL_RESULT":
      return `A tool answered: ${quote(typeof event.content === "string" ? event.content : JSON.stringify(event.content))}`;
    case "STATE_SNAPSHOT":
      return "The state was set as a whole.";
    case "STATE_DELTA":
      return `The state changed in ${places(event.delta.length)}.`;
    case "MESSAGES_SNAPSHOT":
      return "The messages were set as a whole.";
    case "ACTIVITY_SNAPSHOT":
      return `The activity ${event.activityType} was set.`;
    case "ACTIVITY_DELTA":
      return `The activity ${event.activityType} changed in ${places(event.patch.length)}.`;
    case "STEP_STARTED":
      return `The step ${quote(event.stepName)} began.`;
    case "STEP_FINISHED":
      return `The step ${quote(event.stepName)} ended.`;
    case "SUBAGENT_STARTED":
      return `The subagent ${event.name} began.`;
    case "CUSTOM":
      return `An event of the agent's own: ${event.name}.`;
    case "META":
      return noteLine(event.metaType, event.payload);
    default:
      return OTHER[event.type] ?? "";
  }
}

const END: Readonly<Record<string, string>> = {
  success: "The run ended.",
  interrupt: "The run ended with a question.",
  cancelled: "The run was stopped.",
};

const OTHER: { readonly [type in Event["type"]]?: string } = {
  REASONING_START: "Reasoning began.",
  REASONING_MESSAGE_START: "A thought began.",
  REASONING_MESSAGE_END: "The thought is complete.",
  REASONING_END: "Reasoning ended.",
  REASONING_ENCRYPTED_VALUE: "Reasoning that only its model can read was kept.",
  SUBAGENT_FINISHED: "A subagent ended.",
  SUBAGENT_ERROR: "A subagent failed.",
  RAW: "The provider's own event.",
};

function noteLine(type: string, payload: unknown): string {
  const said: unknown = Object(payload).message;
  if (type.startsWith("heddle.") && typeof said === "string") return cut(said);
  return `A note: ${type}.`;
}

const places = (count: number): string => (count === 1 ? "one place" : `${count} places`);
const cut = (text: string): string => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);
const quote = (text: string): string => `“${cut(text)}”`;

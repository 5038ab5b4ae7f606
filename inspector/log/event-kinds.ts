/** What events are about, in the few words and colours that every page uses for them. */
import type { Event } from "heddle/protocol";

/** What an event can be about; the name is the name of its colour. */
export const KINDS = {
  run: "Runs",
  text: "Text",
  thoughts: "Reasoning",
  tools: "Tool calls",
  state: "State",
  activity: "Activities",
  step: "Steps and subagents",
  other: "Other",
  warning: "Repairs and warnings",
  failure: "Errors",
} as const;

/** What an event is about. */
export type Kind = keyof typeof KINDS;

/** What an event is about. */
export function kindOf(event: Event): Kind {
  const { type } = event;
  if (type === "RUN_ERROR") return "failure";
  if (type === "META") return event.metaType.startsWith("heddle.") ? "warning" : "other";
  if (type.startsWith("RUN_")) return "run";
  if (type.startsWith("TEXT_MESSAGE")) return "text";
  if (type.startsWith("REASONING") || type.startsWith("THINKING")) return "thoughts";
  if (type.startsWith("TOOL_CALL")) return "tools";
  if (type.startsWith("STATE_") || type === "MESSAGES_SNAPSHOT") return "state";
  if (type.startsWith("ACTIVITY")) return "activity";
  if (type.startsWith("STEP_") || type.startsWith("SUBAGENT")) return "step";
  return "other";
}

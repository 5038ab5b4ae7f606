/** Events in words: what each type means, and what one event says, on one line. */
import type { Event } from "heddle/protocol";
import { ADVICE, RULES } from "heddle/stream";
import { REPAIRS } from "heddle/stream/repair";
import { NOTES } from "../../server/api.ts";
import { formatCount } from "../../ui/format.ts";

/** What an event of each type means, in a sentence. */
export const MEANINGS: Readonly<Record<Event["type"], string>> = {
  RUN_STARTED: "A run begins, with the input that it was started with.",
  RUN_FINISHED: "The run ends: done, stopped, or waiting for an answer.",
  RUN_ERROR: "The run ends because something went wrong.",
  STEP_STARTED: "A named step begins.",
  STEP_FINISHED: "A named step ends.",
  TEXT_MESSAGE_START: "A message begins.",
  TEXT_MESSAGE_CONTENT: "The next part of a message.",
  TEXT_MESSAGE_END: "A message is complete.",
  TEXT_MESSAGE_CHUNK: "A part of a message that begins and ends it by itself.",
  TOOL_CALL_START: "The agent begins to call a tool.",
  TOOL_CALL_ARGS: "The next part of a call's arguments.",
  TOOL_CALL_END: "The arguments of a call are complete.",
  TOOL_CALL_CHUNK: "A part of a call that begins and ends it by itself.",
  TOOL_CALL_RESULT: "What a tool returned.",
  STATE_SNAPSHOT: "The shared state, as a whole.",
  STATE_DELTA: "Changes to the shared state.",
  MESSAGES_SNAPSHOT: "All messages of the conversation, told anew.",
  ACTIVITY_SNAPSHOT: "An activity is shown, or shown anew.",
  ACTIVITY_DELTA: "Changes to an activity.",
  REASONING_START: "The agent begins to think.",
  REASONING_MESSAGE_START: "A thought begins.",
  REASONING_MESSAGE_CONTENT: "The next part of a thought.",
  REASONING_MESSAGE_END: "A thought is complete.",
  REASONING_MESSAGE_CHUNK: "A part of a thought that begins and ends it by itself.",
  REASONING_END: "The agent has thought enough.",
  REASONING_ENCRYPTED_VALUE: "An opaque value that goes back to the model's provider.",
  SUBAGENT_STARTED: "A subagent begins its work.",
  SUBAGENT_FINISHED: "A subagent has ended its work.",
  SUBAGENT_ERROR: "A subagent failed.",
  RAW: "An event of another system, passed through.",
  CUSTOM: "An event of the application's own.",
  META: "A note beside the run.",
};

const MAX = 240;
const short = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > MAX ? `${text.slice(0, MAX)}…` : text;
};

const messages = (count: number): string => `${formatCount(count)} ${count === 1 ? "message" : "messages"}`;

/** What one event says, on one line. */
export function summaryOf(event: Event): string {
  switch (event.type) {
    case "RUN_STARTED":
      return `${messages(event.input?.messages.length ?? 0)} in the input`;
    case "RUN_FINISHED":
      return event.outcome?.type ?? "success";
    case "RUN_ERROR":
    case "SUBAGENT_ERROR":
      return event.code === undefined ? event.message : `${event.code}: ${event.message}`;
    case "STEP_STARTED":
    case "STEP_FINISHED":
      return event.stepName;
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CONTENT":
    case "TOOL_CALL_ARGS":
      return short(JSON.stringify(event.delta));
    case "TEXT_MESSAGE_CHUNK":
    case "REASONING_MESSAGE_CHUNK":
    case "TOOL_CALL_CHUNK":
      return short(JSON.stringify(event.delta ?? ""));
    case "TEXT_MESSAGE_START":
      return event.role ?? "assistant";
    case "TOOL_CALL_START":
      return event.toolCallName;
    case "TOOL_CALL_RESULT":
      return short(event.content);
    case "STATE_SNAPSHOT":
      return short(event.snapshot);
    case "STATE_DELTA":
      return changesOf(event.delta);
    case "MESSAGES_SNAPSHOT":
      return messages(event.messages.length);
    case "ACTIVITY_SNAPSHOT":
      return short(event.content);
    case "ACTIVITY_DELTA":
      return changesOf(event.patch);
    case "SUBAGENT_STARTED":
      return event.description ?? event.name;
    case "SUBAGENT_FINISHED":
      return event.result === undefined ? (event.outcome?.type ?? "success") : short(event.result);
    case "META":
      return noteOf(event)?.message ?? `${event.metaType} ${short(event.payload)}`;
    case "CUSTOM":
      return `${event.name} ${short(event.value)}`;
    case "RAW":
      return short(event.event);
    case "REASONING_ENCRYPTED_VALUE":
      return `for the ${event.subtype} ${event.entityId}`;
    default:
      return "";
  }
}

type Patch = Extract<Event, { type: "STATE_DELTA" }>["delta"];

const changesOf = (patch: Patch): string => short(patch.map(changeOf).join(", "));

/** One change of a patch, on one line. */
export function changeOf(change: Patch[number]): string {
  const { op, path } = change;
  if (op === "add" || op === "replace" || op === "test") {
    const sign = { add: "+", replace: "=", test: "?" }[op];
    return `${path} ${sign} ${short(change.value)}`;
  }
  return op === "remove" ? `${path} removed` : `${path} ${op === "move" ? "moved" : "copied"} from ${change.from}`;
}

/** What Heddle itself says beside an agent's events. */
export interface Note {
  /** What it is. */
  readonly kind: "repair" | "warning";
  /** The name of the rule that was broken, or the code of the warning. */
  readonly rule: string | undefined;
  /** AG-UI's clause, where the rule is one of it. */
  readonly clause: string | undefined;
  /** What was wrong, and what became of it. */
  readonly message: string;
  /** The type of the event at fault, or the path in it. */
  readonly about: string | undefined;
}

const CLAUSES: Readonly<Record<string, string>> = { ...RULES, ...ADVICE, ...REPAIRS };

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** What Heddle says in an event, where it is a note of its own. */
export function noteOf(event: Event): Note | undefined {
  if (event.type !== "META") return undefined;
  const { payload, metaType } = event;
  if (metaType !== NOTES.repair && metaType !== NOTES.warning) return undefined;
  const isRepair = metaType === NOTES.repair;
  const rule = textOf(isRepair ? payload["rule"] : payload["code"]);
  return {
    kind: isRepair ? "repair" : "warning",
    rule,
    clause: rule !== undefined && Object.hasOwn(CLAUSES, rule) ? CLAUSES[rule] : undefined,
    message: textOf(payload["message"]) ?? JSON.stringify(payload),
    about: textOf(isRepair ? payload["event"] : payload["path"]),
  };
}

/**
 * Events as a client of any age or dialect can read them: 1.0, before 1.0 (PROTO-VER, DESIGN 6), and the single
 * interrupt of seed 000. What is lost on the way is reported; what would change its meaning is refused with
 * `projection-refused`, never cut short.
 */
import type { Enforced } from "../enforce.ts";
import type {
  Event,
  EventType,
  Interrupt,
  MetaEvent,
  RunFinishedEvent,
  StepFinishedEvent,
  StepStartedEvent,
} from "../generated/model.ts";
import { lacks } from "./peer.ts";
import type { Feature, Peer } from "./peer.ts";
import { projectContent, projectMessages } from "./project-message.ts";
import { projectInput, refused } from "./project-run-input.ts";
import { kept, notes, without } from "./rewrite.ts";
import type { Fields, Note } from "./rewrite.ts";

/** Where in the stream the event stands. */
export interface ProjectOptions {
  /** Whether a run is open: META becomes CUSTOM there, and is left out elsewhere. Default false. */
  readonly runOpen?: boolean;
}

/** An event for a peer; `value` is undefined where the peer gets nothing in its place. */
export function projectEvent(event: Event, peer: Peer, options: ProjectOptions = {}): Enforced<Fields | undefined> {
  const { warnings, note } = notes("lossy-projection");
  return { value: project(event, peer, options, note), warnings };
}

/** Events that a peer has to know something for. */
const NEEDS: Readonly<Partial<Record<EventType, Feature>>> = {
  ACTIVITY_SNAPSHOT: "activities",
  ACTIVITY_DELTA: "activities",
  REASONING_ENCRYPTED_VALUE: "reasoning",
  REASONING_MESSAGE_CHUNK: "reasoning",
  SUBAGENT_STARTED: "subagents",
  SUBAGENT_FINISHED: "subagents",
  SUBAGENT_ERROR: "subagents",
};

function project(event: Event, peer: Peer, options: ProjectOptions, note: Note): Fields | undefined {
  const needed = NEEDS[event.type];
  if (needed !== undefined && lacks(peer, needed)) {
    note("/type", `Left out ${event.type}: the peer is too old for it.`);
    return undefined;
  }
  // Its steps would run into those of the same name of whom it takes to be the only agent.
  if (isStep(event) && event.subagentRunId !== undefined && lacks(peer, "subagents")) {
    note("/type", `Left out ${event.type}: the peer does not know whose step it is.`);
    return undefined;
  }
  if (event.type === "META") return peer.meta === true ? { ...event } : projectMeta(event, peer, options, note);
  const value = projectFields(event, peer, note);
  // Until empty fragments were allowed they were an error, and they say nothing.
  if (value.delta === "" && event.type !== "TOOL_CALL_ARGS" && lacks(peer, "emptyDeltas")) return undefined;
  const plain = lacks(peer, "subagents") ? without(value, "subagentRunId") : value;
  const thinking = lacks(peer, "reasoning") ? THINKING[event.type] : undefined;
  return thinking === undefined ? plain : { ...without(plain, "messageId", "role"), type: thinking };
}

const isStep = (event: Event): event is StepStartedEvent | StepFinishedEvent =>
  event.type === "STEP_STARTED" || event.type === "STEP_FINISHED";

/** Until 0.0.44 reasoning was called thinking, and its events named nothing. */
const THINKING: Readonly<Partial<Record<EventType, string>>> = {
  REASONING_START: "THINKING_START",
  REASONING_MESSAGE_START: "THINKING_TEXT_MESSAGE_START",
  REASONING_MESSAGE_CONTENT: "THINKING_TEXT_MESSAGE_CONTENT",
  REASONING_MESSAGE_END: "THINKING_TEXT_MESSAGE_END",
  REASONING_END: "THINKING_END",
};

function projectFields(event: Exclude<Event, MetaEvent>, peer: Peer, note: Note): Fields {
  switch (event.type) {
    case "RUN_STARTED": {
      const value = without(
        { ...event },
        ...(lacks(peer, "protocolVersion") ? ["protocolVersion"] : []),
        ...(lacks(peer, "parentRunId") ? ["parentRunId"] : []),
      );
      if (event.input === undefined) return value;
      return {
        ...value,
        input: projectInput(event.input, { ...peer, interrupts: "list" }, "to-client", "/input", note),
      };
    }
    case "RUN_FINISHED":
      return projectOutcome(event, peer, note);
    case "MESSAGES_SNAPSHOT":
      return { ...event, messages: projectMessages(event.messages, peer, "to-client", "/messages", note) };
    case "TOOL_CALL_RESULT":
      return { ...event, content: projectContent(event.content, "tool", peer, "to-client", "/content", note) };
    default:
      return { ...event };
  }
}

function projectMeta(
  event: MetaEvent,
  peer: Peer,
  { runOpen = false }: ProjectOptions,
  note: Note,
): Fields | undefined {
  if (!runOpen || lacks(peer, "protocolVersion")) {
    note("", `Left out the annotation ${event.metaType}: the peer did not ask for META.`);
    return undefined;
  }
  const { metaType, payload, ...rest } = event;
  return { ...rest, type: "CUSTOM", name: `heddle.meta.${metaType}`, value: payload };
}

function projectOutcome(event: RunFinishedEvent, peer: Peer, note: Note): Fields {
  const { outcome, ...rest } = event;
  const single = peer.interrupts === "single";
  switch (outcome?.type) {
    case "cancelled": {
      if (!single && !lacks(peer, "cancelledOutcome")) return { ...event };
      // What these peers show as a stop. They have no outcome for it, and success would be a lie.
      const { threadId: _threadId, runId: _runId, result: _result, ...common } = rest;
      return { ...common, type: "RUN_ERROR", message: "The run was stopped.", code: "abort" };
    }
    case "success":
      if (single) return { ...rest, outcome: "success" };
      return lacks(peer, "pendingToolCallIds") ? { ...rest, outcome: { type: "success" } } : { ...event };
    case "interrupt":
      if (single) return { ...rest, outcome: "interrupt", interrupt: singleInterrupt(outcome.interrupts, note) };
      if (lacks(peer, "outcomes")) throw refused("The peer would read a question as success.", "/outcome");
      if (!lacks(peer, "subagents")) return { ...event };
      return {
        ...rest,
        outcome: { ...outcome, interrupts: outcome.interrupts.map((asked) => without({ ...asked }, "subagentRunId")) },
      };
    default:
      return { ...event };
  }
}

/** Seed 000's form. A payload that came in by it goes out by it; otherwise it is made of what there is. */
function singleInterrupt(interrupts: readonly Interrupt[], note: Note): Fields {
  const [interrupt, ...others] = interrupts;
  if (interrupt === undefined || others.length > 0) {
    throw refused(`The peer takes one interrupt; the run asks ${interrupts.length}.`, "/outcome/interrupts");
  }
  const { id, message, reason, responseSchema } = interrupt;
  const payload = kept({ ...interrupt }, "payload");
  if (payload !== undefined) return { id, payload };
  const lost = ["expiresAt", "toolCallId", "subagentRunId", "metadata"].filter((name) => name in interrupt);
  if (lost.length > 0) note("/outcome/interrupts/0", `The single interrupt form has no place for ${lost.join(", ")}.`);
  return { id, payload: { prompt: message ?? reason, reason, ...(responseSchema ? { responseSchema } : {}) } };
}

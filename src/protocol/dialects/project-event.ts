/**
 * Events as a client of any age or dialect can read them: 1.0, before 1.0 (PROTO-VER, DESIGN 6), and the single
 * interrupt of seed 000. What is lost on the way is reported; what would change its meaning is refused with
 * `projection-refused`, never cut short.
 */
import type { Enforced } from "../enforce.ts";
import type { Event, Interrupt, RunFinishedEvent } from "../generated/model.ts";
import { isOlder } from "./peer.ts";
import type { Peer } from "./peer.ts";
import { flatten, projectMessages } from "./project-message.ts";
import { projectRunInput, refused } from "./project-run-input.ts";
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
  if (event.type === "META" && peer.meta !== true) return { value: projectMeta(event, peer, options, note), warnings };
  const old = isOlder(peer, "1.0");
  let value: Fields | undefined = { ...event };
  if (event.type === "RUN_FINISHED" && (old || peer.interrupts === "single")) value = projectOutcome(event, peer, note);
  if (!old) return { value, warnings };
  if (event.type === "TOOL_CALL_RESULT") value = { ...value, content: flatten(event.content, "/content", note) };
  if (event.type === "MESSAGES_SNAPSHOT") {
    value = { ...value, messages: projectMessages(event.messages, peer, "/messages", note) };
  }
  if (event.type === "RUN_STARTED") {
    value = without(value, "protocolVersion", ...(isOlder(peer, "0.0.40") ? ["parentRunId"] : []));
    if (event.input !== undefined) {
      const input = projectRunInput(event.input, { ...peer, interrupts: "list" });
      for (const warning of input.warnings) note(`/input${warning.path}`, warning.message);
      value = { ...value, input: input.value };
    }
  }
  if (isOlder(peer, "0.0.58")) value = withoutSubagents(value, note);
  if (isOlder(peer, "0.0.46")) value = value && toThinking(value, note);
  return { value, warnings };
}

function projectMeta(
  event: Event & { type: "META" },
  peer: Peer,
  { runOpen = false }: ProjectOptions,
  note: Note,
): Fields | undefined {
  if (!runOpen || isOlder(peer, "1.0")) {
    note("", `Left out the annotation ${event.metaType}: the peer did not ask for META.`);
    return undefined;
  }
  const { metaType, payload, ...rest } = event;
  return { ...rest, type: "CUSTOM", name: `heddle.meta.${metaType}`, value: payload };
}

function projectOutcome(event: RunFinishedEvent, peer: Peer, note: Note): Fields {
  const { outcome, ...rest } = event;
  switch (outcome?.type) {
    case undefined:
      return event.outcome === undefined ? { ...event } : rest;
    case "cancelled": {
      // What these peers show as a stop. They have no outcome for it, and success would be a lie.
      const { threadId: _threadId, runId: _runId, result: _result, ...common } = rest;
      return { ...common, type: "RUN_ERROR", message: "The run was stopped.", code: "abort" };
    }
    case "success":
      return { ...rest, outcome: peer.interrupts === "single" ? "success" : { type: "success" } };
    case "interrupt": {
      if (peer.interrupts !== "single") return { ...event };
      const [interrupt, ...others] = outcome.interrupts;
      if (interrupt === undefined || others.length > 0) {
        throw refused(
          `The peer takes one interrupt; the run asks ${outcome.interrupts.length}.`,
          "/outcome/interrupts",
        );
      }
      return { ...rest, outcome: "interrupt", interrupt: singleInterrupt(interrupt, note) };
    }
  }
}

/** Seed 000's form. A payload that came in by it goes out by it; otherwise it is made of what there is. */
function singleInterrupt(interrupt: Interrupt, note: Note): Fields {
  const { id, message, reason, responseSchema } = interrupt;
  const payload = kept({ ...interrupt }, "payload");
  if (payload !== undefined) return { id, payload };
  const lost = ["expiresAt", "toolCallId", "subagentRunId", "metadata"].filter((name) => name in interrupt);
  if (lost.length > 0) note("/outcome/interrupts/0", `The single interrupt form has no place for ${lost.join(", ")}.`);
  return { id, payload: { prompt: message ?? reason, reason, ...(responseSchema ? { responseSchema } : {}) } };
}

function withoutSubagents(value: Fields, note: Note): Fields | undefined {
  if (String(value.type).startsWith("SUBAGENT_")) {
    note("/type", `Left out ${String(value.type)}: the peer is older than 0.0.58.`);
    return undefined;
  }
  const { outcome } = value;
  const interrupts = (outcome as { interrupts?: readonly Interrupt[] } | undefined)?.interrupts;
  const plain = without(value, "subagentRunId");
  if (interrupts === undefined) return plain;
  return {
    ...plain,
    outcome: { type: "interrupt", interrupts: interrupts.map((each) => without({ ...each }, "subagentRunId")) },
  };
}

/** Until 0.0.45 reasoning was called thinking, and its events named nothing. */
function toThinking(value: Fields, note: Note): Fields | undefined {
  const type = THINKING[String(value.type)];
  if (type !== undefined) return { ...without(value, "messageId", "role"), type };
  if (value.type !== "REASONING_ENCRYPTED_VALUE" && value.type !== "REASONING_MESSAGE_CHUNK") return value;
  note("/type", `Left out ${String(value.type)}: the peer is older than 0.0.46.`);
  return undefined;
}

const THINKING: Readonly<Record<string, string>> = {
  REASONING_START: "THINKING_START",
  REASONING_MESSAGE_START: "THINKING_TEXT_MESSAGE_START",
  REASONING_MESSAGE_CONTENT: "THINKING_TEXT_MESSAGE_CONTENT",
  REASONING_MESSAGE_END: "THINKING_TEXT_MESSAGE_END",
  REASONING_END: "THINKING_END",
};

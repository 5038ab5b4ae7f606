/**
 * Events in older and seed forms, turned into those of 1.0: string outcomes with a sibling `interrupt`, `THINKING_*`,
 * `role: "assistant"` on reasoning, `encryptedContent`, ISO timestamps, `result` for `content`, snake_case, listed nulls,
 * and old messages inside.
 *
 * Runs before enforcement (R-PROC-13) and translates named forms only; any other malformed value stays for enforcement
 * to refuse (R-VER-05). What has no place in 1.0 is kept under our own metadata key. Exact events pass untouched.
 */
import type { Warning } from "../enforce.ts";
import { isExactEvent } from "../enforce.ts";
import { normaliseContent, normaliseMessage } from "./normalise-message.ts";
import { normaliseInput } from "./normalise-run-input.ts";
import { camelCaseKnown, dropNulls, keep, notes, rewrite, rewriteList, without } from "./rewrite.ts";
import type { Fields, Note } from "./rewrite.ts";
import { isObject, unionShape } from "../shape.ts";

/** What one event became: nearly always one event, and what was changed in it. */
export interface Normalised {
  /** The events in its place, in order, not judged yet. */
  readonly values: readonly unknown[];
  /** What was changed; empty for events of 1.0. */
  readonly warnings: readonly Warning[];
}

/** What has to be remembered between the events of one stream, since old forms name less than 1.0 asks for. */
export interface NormaliseMemory {
  /** Makes an id for what the old form leaves unnamed. */
  readonly newId: () => string;
  /** Which old forms are translated. */
  readonly forms: "all" | "retired";
  /** The run that is open, for a closing event that does not name it. */
  run?: { readonly threadId: unknown; readonly runId: unknown } | undefined;
  /** Id given to the open `THINKING_*` span. */
  spanId?: string | undefined;
  /** Id given to the open `THINKING_*` message. */
  messageId?: string | undefined;
  /** Encrypted values that wait for the message they belong to, by the span they came with. */
  readonly encrypted: Map<unknown, string>;
}

/** How a stream is normalised. */
export interface NormaliseOptions {
  /** Makes an id for what an old form leaves unnamed. Default: random. */
  readonly newId?: () => string;
  /** `retired` translates only what AG-UI itself has retired; `all`, the default, also the forms of drafts and seeds. */
  readonly forms?: "all" | "retired";
}

/** A fresh memory: one for each stream. */
export function createNormaliseMemory({ newId = randomId, forms = "all" }: NormaliseOptions = {}): NormaliseMemory {
  return { newId, forms, encrypted: new Map() };
}

function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Turns an event of any age into the form of 1.0, and reports what it changed. Give all events of a stream the same
 * memory. Enforcement comes after it.
 */
export function normaliseEvent(event: unknown, memory: NormaliseMemory = createNormaliseMemory()): Normalised {
  const { warnings, note } = notes("retired-form");
  if (!isObject(event)) return { values: [event], warnings };
  const value = isExactEvent(event) ? event : normaliseFields(event, memory, note);
  return { values: remember(value, memory, note), warnings };
}

function normaliseFields(event: Fields, memory: NormaliseMemory, note: Note): Fields {
  let changed = ofType(THINKING, event)?.(event, memory, note) ?? event;
  const { forms } = memory;
  const fields = typeof changed.type === "string" ? unionShape("Event").members.get(changed.type)?.fields : undefined;
  if (forms === "all") changed = camelCaseKnown(changed, (name) => fields?.has(name) === true, "", note);
  changed = dropNulls(changed, ofType(NULLS, changed) ?? NULLABLE, "", note);
  if (forms === "retired") return ofType(RETIRED, changed)?.(changed, memory, note) ?? changed;
  changed = rewrite(changed, "timestamp", (time) => {
    const ms = typeof time === "string" ? Date.parse(time) : NaN;
    if (Number.isNaN(ms)) return time;
    note("/timestamp", "timestamp is milliseconds since the epoch.");
    return ms;
  });
  return ofType(FORMS, changed)?.(changed, memory, note) ?? changed;
}

/** What a table has for the type of an event, which a stranger wrote: it may be `constructor`, or no text at all. */
const ofType = <T>(table: Readonly<Record<string, T>>, { type }: Fields): T | undefined =>
  typeof type === "string" && Object.hasOwn(table, type) ? table[type] : undefined;

type Form = (event: Fields, memory: NormaliseMemory, note: Note) => Fields;

const NULLABLE = ["rawEvent", "subagentRunId"];

/** Fields in which older producers wrote null for absent: a closed list (rules, section 5). */
const NULLS: Readonly<Record<string, readonly string[]>> = {
  RUN_STARTED: [...NULLABLE, "parentRunId", "input"],
  RUN_FINISHED: [...NULLABLE, "outcome", "result", "interrupt"],
  RUN_ERROR: [...NULLABLE, "usage"],
  SUBAGENT_FINISHED: ["rawEvent", "result"],
  TOOL_CALL_START: [...NULLABLE, "parentMessageId"],
  TOOL_CALL_CHUNK: [...NULLABLE, "parentMessageId"],
  TOOL_CALL_RESULT: [...NULLABLE, "role"],
};

/** Forms that an event of 1.0 had before. */
const FORMS: Readonly<Record<string, Form>> = {
  RUN_STARTED: (event, _, note) =>
    "input" in event
      ? rewrite(event, "input", (input) => {
          const { threadId, runId } = event;
          // Seed 002 writes the echo without the ids that stand beside it.
          const whole = isObject(input) && !("threadId" in input) ? { threadId, runId, ...input } : input;
          return normaliseInput(whole, "/input", note);
        })
      : event,
  RUN_FINISHED: (event, memory, note) => normaliseOutcome(nameRun(event, memory, note), note),
  REASONING_MESSAGE_START: (event, _, note) => {
    if (event.role !== "assistant") return event;
    note("/role", 'The role of a reasoning message is "reasoning".');
    return { ...event, role: "reasoning" };
  },
  TOOL_CALL_RESULT: (event, _, note) => {
    let changed = event;
    if (!("content" in event) && "result" in event) {
      note("/result", "result is called content.");
      const { result } = event;
      changed = { ...without(event, "result"), content: typeof result === "string" ? result : JSON.stringify(result) };
    }
    if (!("messageId" in event) && typeof event.toolCallId === "string") {
      note("/messageId", "A result without messageId gets one that is made from its toolCallId.");
      changed = { ...changed, messageId: `result-${event.toolCallId}` };
    }
    return rewrite(changed, "content", (content) => normaliseContent(content, "/content", note));
  },
  MESSAGES_SNAPSHOT: (event, _, note) =>
    rewrite(event, "messages", (messages) =>
      rewriteList(messages, (message, index) => normaliseMessage(message, `/messages/${index}`, note)),
    ),
};

/** What AG-UI itself has retired inside events that it still knows: old parts and nulls in messages and usage. */
const RETIRED: Readonly<Record<string, Form>> = {
  RUN_STARTED: (event, memory, note) => FORMS.RUN_STARTED?.(event, memory, note) ?? event,
  MESSAGES_SNAPSHOT: (event, memory, note) => FORMS.MESSAGES_SNAPSHOT?.(event, memory, note) ?? event,
  RUN_FINISHED: (event, _, note) => normaliseNulls(event, note),
};

/** Events that 1.0 does not know any more, and what they are called now. They name nothing, so ids are made. */
const THINKING: Readonly<Record<string, Form>> = {
  THINKING_START: (event, memory, note) => {
    const changed = renamed(without(event, "title"), "REASONING_START", (memory.spanId = memory.newId()), note);
    return "title" in event ? keep(changed, { title: event.title }) : changed;
  },
  THINKING_TEXT_MESSAGE_START: (event, memory, note) => ({
    ...renamed(event, "REASONING_MESSAGE_START", (memory.messageId = memory.newId()), note),
    role: "reasoning",
  }),
  THINKING_TEXT_MESSAGE_CONTENT: (event, memory, note) =>
    renamed(event, "REASONING_MESSAGE_CONTENT", (memory.messageId ??= memory.newId()), note),
  THINKING_TEXT_MESSAGE_END: (event, memory, note) => {
    const id = memory.messageId ?? memory.newId();
    memory.messageId = undefined;
    return renamed(event, "REASONING_MESSAGE_END", id, note);
  },
  THINKING_END: (event, memory, note) => {
    const id = memory.spanId ?? memory.newId();
    memory.spanId = undefined;
    return renamed(event, "REASONING_END", id, note);
  },
};

function renamed(event: Fields, type: string, messageId: string, note: Note): Fields {
  note("/type", `${String(event.type)} is called ${type}; its id ${messageId} is made here.`);
  return { messageId, ...event, type };
}

/** Seed 002 closes runs without naming the thread. */
function nameRun(event: Fields, { run }: NormaliseMemory, note: Note): Fields {
  if (run === undefined || ("threadId" in event && "runId" in event)) return event;
  note("/threadId", "A run's last event names thread and run, as its first does.");
  return { ...run, ...event };
}

/**
 * String outcomes, and an interrupt beside the outcome. A question at the top level makes the outcome an interrupt
 * whatever else is said: read as success, it would be lost.
 */
function normaliseOutcome(event: Fields, note: Note): Fields {
  let changed = normaliseNulls(event, note);
  const { outcome } = changed;
  const beside = "interrupt" in event ? event.interrupt : event.interrupts;
  if (beside !== undefined) {
    changed = without(changed, "interrupt", "interrupts");
    note("interrupt" in event ? "/interrupt" : "/interrupts", "Interrupts belong into the outcome.");
    if (isObject(outcome) && outcome.type === "interrupt") return keep(changed, { interrupt: beside });
  }
  if (beside !== undefined || outcome === "interrupt") {
    const asked = beside === undefined ? [{}] : Array.isArray(beside) ? beside : [beside];
    const interrupts = asked.map((interrupt: unknown, index) =>
      normaliseInterrupt(
        interrupt,
        `${typeof event.runId === "string" ? event.runId : "run"}-interrupt-${index + 1}`,
        note,
      ),
    );
    return { ...changed, outcome: { type: "interrupt", interrupts } };
  }
  if (outcome === "success" || outcome === "cancelled") {
    note("/outcome", "An outcome is an object.");
    return { ...changed, outcome: { type: outcome } };
  }
  return changed;
}

/** Nulls for absent in what RUN_FINISHED carries. */
function normaliseNulls(event: Fields, note: Note): Fields {
  const changed = rewrite(event, "outcome", (outcome) =>
    isObject(outcome) ? dropNulls(outcome, ["pendingToolCallIds"], "/outcome", note) : outcome,
  );
  return rewrite(changed, "usage", (usage) =>
    rewriteList(usage, (entry, index) =>
      isObject(entry) ? dropNulls(entry, USAGE_NULLS, `/usage/${index}`, note) : entry,
    ),
  );
}

const USAGE_NULLS = ["provider", "reasoningTokens", "cachedInputTokens", "cacheWriteInputTokens"];

/** Seed 000's `{ id, payload }`: what is asked is in the payload, which is kept as it is beside its reading. */
function normaliseInterrupt(interrupt: unknown, fallbackId: string, note: Note): unknown {
  if (!isObject(interrupt)) return interrupt;
  const id = interrupt.id ?? fallbackId;
  if (interrupt.id === undefined) note("/outcome/interrupts", `An interrupt without an id is called ${fallbackId}.`);
  const { payload } = interrupt;
  const whole = { reason: "confirmation", ...readPayload(payload, id), ...without(interrupt, "payload"), id };
  return "payload" in interrupt ? keep(whole, { payload }) : whole;
}

function readPayload(payload: unknown, id: unknown): Fields {
  if (!isObject(payload)) return {};
  const { functionName, prompt } = payload;
  if (typeof functionName === "string")
    return { reason: "tool_call", toolCallId: id, message: `Call ${functionName}?` };
  return typeof prompt === "string" ? { reason: "input_required", message: prompt } : {};
}

/** Keeps what later events need, and puts an encrypted value behind the message that it waits for. */
function remember(event: Fields, memory: NormaliseMemory, note: Note): readonly Fields[] {
  const { encrypted } = memory;
  switch (event.type) {
    case "RUN_STARTED":
      memory.run = { threadId: event.threadId, runId: event.runId };
      return [event];
    case "REASONING_START":
      if (typeof event.encryptedContent !== "string" || memory.forms === "retired") return [event];
      note("/encryptedContent", "encryptedContent of a span is the encrypted value of its message.");
      encrypted.set(event.messageId, event.encryptedContent);
      return [without(event, "encryptedContent")];
    case "REASONING_MESSAGE_START": {
      const spanId = encrypted.has(event.messageId) ? event.messageId : encrypted.keys().next().value;
      const value = encrypted.get(spanId);
      encrypted.delete(spanId);
      return value === undefined ? [event] : [event, encryptedValueFor(event, value)];
    }
    case "REASONING_END": {
      const value = encrypted.get(event.messageId);
      if (value === undefined) return [event];
      encrypted.delete(event.messageId);
      // A span without a message: the value needs an empty one to live on.
      const common = without(event, "type", "timestamp", "rawEvent", "metadata");
      return [
        { ...common, type: "REASONING_MESSAGE_START", role: "reasoning" },
        { ...common, type: "REASONING_MESSAGE_END" },
        encryptedValueFor(event, value),
        event,
      ];
    }
    default:
      return [event];
  }
}

function encryptedValueFor({ messageId, subagentRunId }: Fields, encryptedValue: string): Fields {
  const owner = subagentRunId === undefined ? {} : { subagentRunId };
  return { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: messageId, encryptedValue, ...owner };
}

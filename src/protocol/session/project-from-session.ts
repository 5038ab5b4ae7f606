/**
 * The session dialect's events as AG-UI's, one step at a time: what puts an old server behind the gateway.
 *
 * | session dialect | AG-UI |
 * | --- | --- |
 * | the first event of a run | RUN_STARTED before it |
 * | `text-chunk`, `text-message-complete` | TEXT_MESSAGE_START where it is not open, CONTENT; END |
 * | `thought-chunk`, `thought-complete` | REASONING_START and MESSAGE_START, MESSAGE_CONTENT; MESSAGE_END and END |
 * | `tool-call-chunk`, `tool-call-complete` | TOOL_CALL_START; ARGS and END once the call is whole |
 * | `tool-result-chunk`, `tool-result-complete` | TOOL_CALL_RESULT, a failure in `metadata.heddle.error`; nothing |
 * | `status-update` of a step or subagent | STEP_STARTED, FINISHED; SUBAGENT_STARTED, FINISHED, ERROR |
 * | `progress-update` | ACTIVITY_SNAPSHOT with content, ACTIVITY_DELTA with a patch |
 * | `metadata-update` | `usage` of the terminal event; CUSTOM for `custom` |
 * | `agent-response-complete` | RUN_FINISHED |
 * | `agent-error`, `session-error` that is fatal, or comes before the run began | RUN_ERROR |
 * | `session-error` that is not fatal, inside a run | CUSTOM `heddle.session-error` |
 * | `session-started` | nothing |
 * | `session-ended` before the run has ended, the end of the connection | RUN_ERROR `agent-stream-cut` |
 * | whatever else AG-UI has no place for | CUSTOM `heddle.` and the type, with the data as value |
 *
 * Whatever the order of valid events, the result is a valid stream: what is open is closed before the terminal event,
 * after which nothing comes. One projection is for one run, since the dialect does not say whose run an event is of.
 * An error that is not fatal, before the run began, is the only way in which a server can refuse a request, so it ends
 * the run; inside a run it is a remark.
 */
import type { Event, RunFinishedOutcome, TokenUsage } from "../generated/model.ts";
import { parseEvent } from "../enforce.ts";
import { METADATA_KEY } from "../metadata-key.ts";
import { PROTOCOL_VERSION } from "../version.ts";
import { HeddleError } from "../errors.ts";
import { MessageIds } from "./message-ids.ts";
import { metadataToUsage } from "./metadata-to-usage.ts";
import type { AgentErrorInfo, AgentResponseCompleteData, SessionEvent, SessionEventOf } from "./model.ts";
import { SessionCalls } from "./session-calls.ts";
import { inLane } from "./session-event-draft.ts";
import { SessionMessages } from "./session-messages.ts";
import type { Place } from "./session-messages.ts";
import { SessionStatus } from "./session-status.ts";

/** How a projection from the session dialect is set up. */
export interface FromSessionOptions {
  /** The thread of the run. */
  readonly threadId: string;
  /** The run. */
  readonly runId: string;
  /** Makes an id for a message that has none, or shares it with another. */
  readonly newId: () => string;
  /** Ids of messages before the run, which none of it may have. Default: none. */
  readonly takenIds?: Iterable<string>;
}

/** A projection of one run. */
export interface FromSession {
  /** The AG-UI events that one session event gives; to be called with every event of the run, in order. */
  step(event: SessionEvent): readonly Event[];
  /** The connection has ended: what that gives, nothing where the run has ended already. */
  end(): readonly Event[];
  /** Whether the run has ended. */
  readonly isOver: boolean;
}

/** Names the CUSTOM event for what AG-UI has no place for. */
export const sessionCustomName = (type: SessionEvent["type"]): string => `heddle.${type}`;

/** Starts a projection of one run. */
export function projectFromSession(options: FromSessionOptions): FromSession {
  const run = new Run(options);
  return {
    step: (event) => run.step(event),
    end: () => run.end(),
    get isOver() {
      return run.isOver;
    },
  };
}

class Run {
  readonly #frame: { readonly threadId: string; readonly runId: string };
  readonly #ids: MessageIds;
  readonly #messages: SessionMessages;
  readonly #calls = new SessionCalls();
  readonly #status = new SessionStatus();
  readonly #usage: TokenUsage[] = [];
  /** Whose each activity is. */
  readonly #activities = new Map<string, string | undefined>();
  /** Whether the server has said anything of the run. */
  #isHeard = false;
  #isStarted = false;
  isOver = false;

  constructor({ threadId, runId, newId, takenIds }: FromSessionOptions) {
    this.#frame = { threadId, runId };
    this.#ids = new MessageIds(newId, takenIds);
    this.#messages = new SessionMessages(this.#ids);
  }

  step(event: SessionEvent): readonly Event[] {
    if (this.isOver) return [];
    const events = this.#project(event);
    this.#isHeard ||= !event.type.startsWith("session-");
    return this.#framed(events, Date.parse(event.timestamp));
  }

  end(): readonly Event[] {
    if (this.isOver) return [];
    return this.#framed(this.#fail(CUT));
  }

  /** Starts the run with its first event. Stamps what came of one event with the time of that. */
  #framed(events: readonly Event[], timestamp = Number.NaN): readonly Event[] {
    const begins = !this.#isStarted && events.length > 0;
    this.#isStarted ||= begins;
    const started: Event = { type: "RUN_STARTED", ...this.#frame, protocolVersion: PROTOCOL_VERSION };
    const all = begins ? [started, ...events] : events;
    return Number.isSafeInteger(timestamp) ? all.map((event) => ({ ...event, timestamp })) : all;
  }

  #project(event: SessionEvent): readonly Event[] {
    switch (event.type) {
      case "text-chunk":
      case "text-message-complete":
      case "thought-chunk":
      case "thought-complete":
        return this.#words(event);
      case "tool-call-chunk":
        return this.#call(event);
      case "tool-call-complete":
        return this.#calls.complete(event.data.toolCallIds, event.data.subagentRunId);
      case "tool-result-chunk":
        return this.#result(event);
      case "status-update":
        return [this.#status.update(event.data) ?? custom(event)];
      case "progress-update":
        return [this.#activity(event) ?? custom(event)];
      case "metadata-update":
        return this.#metadata(event);
      case "agent-response-complete":
        return this.#finish(event.data);
      case "agent-error":
        return this.#fail(event.data.error);
      case "session-error": {
        const { error } = event.data;
        return error.isFatal || !this.#isHeard ? this.#fail(error) : [custom(event)];
      }
      case "session-ended":
        return this.#fail(event.data.error ?? CUT);
      case "session-started":
      case "tool-result-complete":
        return [];
    }
  }

  #words(
    event: SessionEventOf<"text-chunk" | "text-message-complete" | "thought-chunk" | "thought-complete">,
  ): readonly Event[] {
    const place = placeOf(event);
    switch (event.type) {
      case "text-message-complete":
        return this.#messages.complete(event.data.role, place);
      case "thought-complete":
        return this.#messages.complete("reasoning", place);
      default: {
        const isText = event.type === "text-chunk";
        const speaker = isText ? event.data.role : "reasoning";
        const said = isText ? event.data.text : event.data.thought;
        return [
          ...this.#messages.turnTo(isText ? "text" : "thought", place.lane),
          ...this.#messages.say(speaker, place, said),
          ...(event.data.isComplete ? this.#messages.complete(speaker, place) : []),
        ];
      }
    }
  }

  #call(event: SessionEventOf<"tool-call-chunk">): readonly Event[] {
    const { data } = event;
    const { messageId, lane } = placeOf(event);
    const turned = this.#messages.turnTo("tool", lane);
    if (this.#calls.has(data.toolCallId)) return [...turned, ...this.#calls.chunk(data)];
    const parentId = messageId === undefined ? undefined : this.#ids.of("assistant", messageId);
    // Without a message the call makes one, which takes the call's id where it can.
    if (parentId === undefined) this.#ids.reserve(data.toolCallId);
    // A call belongs to whom its message belongs to.
    const owner = parentId === undefined ? undefined : this.#messages.ownerOf(parentId);
    return [...turned, ...this.#calls.chunk(data, parentId, owner ?? { lane })];
  }

  #result(event: SessionEventOf<"tool-result-chunk">): readonly Event[] {
    const { toolCallId, result, parts, isError, error } = event.data;
    const { messageId: name, lane } = placeOf(event);
    const messageId = name === undefined ? this.#ids.mint() : this.#ids.of(`tool ${toolCallId}`, name);
    const failure = isError ? { metadata: { [METADATA_KEY]: { error: error ?? true } } } : {};
    const content = parts ?? result;
    return [
      ...this.#messages.turnTo("tool", lane),
      ...this.#calls.complete([toolCallId], lane),
      { type: "TOOL_CALL_RESULT", messageId, toolCallId, content, role: "tool", ...failure, ...inLane(lane) },
    ];
  }

  /** Undefined where it shows nothing, or its patch is none. */
  #activity(event: SessionEventOf<"progress-update">): Event | undefined {
    const { activityType, content, patch, replace } = event.data;
    const { messageId: name, lane } = placeOf(event);
    const messageId = name === undefined ? this.#ids.mint() : this.#ids.of("activity", name);
    const common = { messageId, activityType };
    if (content !== undefined) {
      if (replace !== false || !this.#activities.has(messageId)) this.#activities.set(messageId, lane);
      const how = replace === undefined ? {} : { replace };
      return { type: "ACTIVITY_SNAPSHOT", ...common, content, ...how, ...inLane(lane) };
    }
    if (patch === undefined) return undefined;
    return readable({ type: "ACTIVITY_DELTA", ...common, patch, ...inLane(this.#activities.get(messageId)) });
  }

  #metadata(event: SessionEventOf<"metadata-update">): readonly Event[] {
    const { usage, custom: own, provider, model } = event.data;
    if (usage !== undefined) this.#usage.push(metadataToUsage(usage, event.data));
    if (own !== undefined) return [{ type: "CUSTOM", name: own.name, value: own.value }];
    return usage === undefined && (provider ?? model) !== undefined ? [custom(event)] : [];
  }

  #finish({ outcome, result, interrupts = [], pendingToolCallIds }: AgentResponseCompleteData): readonly Event[] {
    if (outcome === "interrupt" && interrupts.length === 0) return this.#fail(NOTHING_ASKED);
    const byId = new Map(interrupts.map((interrupt) => [interrupt.id, interrupt]));
    const pending = pendingToolCallIds === undefined ? {} : { pendingToolCallIds };
    const outcomes: Readonly<Record<typeof outcome, RunFinishedOutcome>> = {
      success: { type: "success", ...pending },
      interrupt: { type: "interrupt", interrupts: [...byId.values()] },
      cancelled: { type: "cancelled" },
    };
    const returned = result === undefined ? {} : { result };
    const end = { ...this.#frame, ...returned, outcome: outcomes[outcome], ...this.#spent() };
    return [...this.#closeAll(), { type: "RUN_FINISHED", ...end }];
  }

  #fail({ code, message, details }: AgentErrorInfo): readonly Event[] {
    const more = details === undefined ? {} : { metadata: details };
    return [...this.#closeAll({ code, message }), { type: "RUN_ERROR", code, message, ...more, ...this.#spent() }];
  }

  #closeAll(error?: Pick<AgentErrorInfo, "code" | "message">): readonly Event[] {
    this.isOver = true;
    return [...this.#messages.closeAll(), ...this.#calls.closeAll(), ...this.#status.closeAll(error)];
  }

  #spent(): { readonly usage?: readonly TokenUsage[] } {
    return this.#usage.length === 0 ? {} : { usage: this.#usage };
  }
}

const CUT: AgentErrorInfo = {
  code: "agent-stream-cut" satisfies HeddleError["code"],
  message: "The session ended before the agent's response was complete.",
};

const NOTHING_ASKED: AgentErrorInfo = {
  code: "agent-response-invalid" satisfies HeddleError["code"],
  message: "The agent stopped to ask, and did not say what.",
};

/** A name that is empty is none. */
function placeOf({
  messageId,
  data,
}: {
  readonly messageId?: string;
  readonly data: { readonly subagentRunId?: string };
}): Place {
  return { messageId: messageId === "" ? undefined : messageId, lane: data.subagentRunId };
}

function custom({ type, data }: SessionEvent): Event {
  return { type: "CUSTOM", name: sessionCustomName(type), value: data };
}

/** The event, where AG-UI knows all of it. */
function readable(value: object): Event | undefined {
  try {
    const { value: event, warnings } = parseEvent(value);
    return warnings.length === 0 ? event : undefined;
  } catch (error) {
    if (error instanceof HeddleError && error.code === "event-invalid") return undefined;
    throw error;
  }
}

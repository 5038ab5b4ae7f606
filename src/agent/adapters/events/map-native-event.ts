/**
 * The 1:1 part of the mapping: what every native event but the start and the end of runs becomes.
 *
 * The factories refuse a value that AG-UI does not allow (`event-invalid`), so what comes out is always well-formed.
 */
import {
  METADATA_KEY,
  activityDelta,
  activitySnapshot,
  custom,
  messagesSnapshot,
  stateDelta,
  stateSnapshot,
  stepFinished,
  stepStarted,
  textMessageContent,
  textMessageEnd,
  textMessageStart,
  toolCallArgs,
  toolCallEnd,
  toolCallResult,
  toolCallStart,
} from "../../../protocol/index.ts";
import type { Event, ToolCallResultEvent } from "../../../protocol/index.ts";
import type { NativeEvent, NativeToolCallResult } from "./native-event.ts";
import { fromNativeMessages } from "./native-message.ts";

/** A native event that is about no run. */
export type NativeContent = Exclude<NativeEvent, { readonly type: `run_${string}` }>;

/** Where a native event stands. */
export interface Place {
  /** The subagent that it belongs to; undefined for the run itself. */
  readonly lane: string | undefined;
  /** What the names of custom events begin with. */
  readonly prefix: string;
  /** Names messages without an id, by their position. */
  readonly mintMessageId: (index: number) => string;
}

/** The AG-UI event for one native event. Throws `event-invalid` where a value is not one that AG-UI allows. */
export function mapNativeEvent(event: NativeContent, { lane, prefix, mintMessageId }: Place): Event {
  const time = event.timestamp === undefined ? {} : { timestamp: event.timestamp };
  const common = lane === undefined ? time : { ...time, subagentRunId: lane };
  switch (event.type) {
    case "message_start":
      return textMessageStart({ messageId: event.messageId, role: event.role ?? "assistant", ...common });
    case "message_delta":
      return textMessageContent({ messageId: event.messageId, delta: event.delta, ...common });
    case "message_end":
      return textMessageEnd({ messageId: event.messageId, ...common });
    case "tool_call_start": {
      const { toolCallId, toolCallName, parentMessageId } = event;
      const parent = parentMessageId === undefined ? {} : { parentMessageId };
      return toolCallStart({ toolCallId, toolCallName, ...parent, ...common });
    }
    case "tool_call_args":
      return toolCallArgs({ toolCallId: event.toolCallId, delta: event.delta, ...common });
    case "tool_call_end":
      return toolCallEnd({ toolCallId: event.toolCallId, ...common });
    case "tool_call_result":
      return toolCallResult({ ...resultOf(event), ...common });
    case "step_start":
    case "parallel_start":
      return stepStarted({ stepName: event.stepName, ...common });
    case "step_end":
    case "parallel_end":
      return stepFinished({ stepName: event.stepName, ...common });
    case "step_skipped":
      return stepFinished({ stepName: event.stepName, metadata: { [METADATA_KEY]: { skipped: true } }, ...common });
    case "state_snapshot":
      return stateSnapshot({ snapshot: event.state, ...common });
    case "state_delta":
      return stateDelta({ delta: event.patch, ...common });
    case "messages_snapshot":
      return messagesSnapshot({ messages: fromNativeMessages(event.messages, mintMessageId), ...time });
    case "activity_snapshot": {
      const { activityId, activityType, content } = event;
      return activitySnapshot({ messageId: activityId, activityType, content, ...common });
    }
    case "activity_delta": {
      const { activityId, activityType, patch } = event;
      return activityDelta({ messageId: activityId, activityType, patch, ...common });
    }
    case "route_selected": {
      const { type, stepName, routeName } = event;
      return custom({ name: `${prefix}${type}`, value: { stepName, routeName }, ...common });
    }
    case "loop_iteration": {
      const { type, stepName, iteration } = event;
      return custom({ name: `${prefix}${type}`, value: { stepName, iteration }, ...common });
    }
  }
}

/** AG-UI's result has no field for a failure: it stands in the metadata, where the session dialect looks for it. */
function resultOf(event: NativeToolCallResult): Omit<ToolCallResultEvent, "type"> {
  const { toolCallId, result, messageId = `result-${toolCallId}`, error } = event;
  const failure = error === undefined || error === false ? {} : { metadata: { [METADATA_KEY]: { error } } };
  return { messageId, toolCallId, content: result, role: "tool", ...failure };
}

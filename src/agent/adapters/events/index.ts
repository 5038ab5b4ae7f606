/**
 * `heddle/adapters/events`: a source of events that has a start and an end of its own, as exactly one AG-UI run; runs
 * inside it become subagents. Every line here is public.
 */
export { createMapper } from "./mapper.ts";
export type { Mapper, MapperOptions, MapperReport } from "./mapper.ts";
export { EVENT_MAPPING } from "./native-event.ts";
export type {
  NativeActivityDelta,
  NativeActivitySnapshot,
  NativeContext,
  NativeEvent,
  NativeEventType,
  NativeLoopIteration,
  NativeMessageDelta,
  NativeMessageEnd,
  NativeMessageStart,
  NativeMessagesSnapshot,
  NativeRouteSelected,
  NativeRunEnd,
  NativeRunError,
  NativeRunStart,
  NativeStateDelta,
  NativeStateSnapshot,
  NativeStep,
  NativeToolCallArgs,
  NativeToolCallEnd,
  NativeToolCallResult,
  NativeToolCallStart,
  RunEnding,
} from "./native-event.ts";
export { fromNativeMessages, toNativeMessages } from "./native-message.ts";
export type { NativeMessage, NativeRole, NativeToolCall, NativeToolResult } from "./native-message.ts";

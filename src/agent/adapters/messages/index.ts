/**
 * `heddle/adapters/messages`: agents that answer with a stream of messages, composable steps around them, and their
 * messages as AG-UI events. Every line here is public.
 */
export { createConversion, toAgUiEvents } from "./convert.ts";
export type { Conversion, ConversionOptions } from "./convert.ts";
export { fromAgUiMessages } from "./from-ag-ui-messages.ts";
export { functionCalls } from "./function-calls.ts";
export type { FunctionCallsOptions, FunctionContext, FunctionTool } from "./function-calls.ts";
export { JSON_FRAGMENT_KINDS, JsonFragmentParser } from "./json-fragment-parser.ts";
export type { JsonFragment, JsonFragmentKind } from "./json-fragment-parser.ts";
export { jsonFragments } from "./json-fragments.ts";
export { printing } from "./printing.ts";
export type { TextSink } from "./printing.ts";
export { runStreamingAgent } from "./run-streaming-agent.ts";
export type { RunStreamingOptions } from "./run-streaming-agent.ts";
export type {
  CompositeMessage,
  FunctionCall,
  FunctionCallResult,
  FunctionCallUpdate,
  ImageMessage,
  MessageOrigin,
  ReasoningMessage,
  ReasoningUpdateMessage,
  StreamMessage,
  TextMessage,
  TextUpdateMessage,
  ToolsCallAggregateMessage,
  ToolsCallMessage,
  ToolsCallResultMessage,
  ToolsCallUpdateMessage,
  Usage,
  UsageMessage,
} from "./stream-message.ts";
export { withMiddleware } from "./streaming-agent.ts";
export type { AgentCall, GenerateOptions, Middleware, StreamingAgent } from "./streaming-agent.ts";
export { toAgUiEventStream } from "./to-ag-ui-event-stream.ts";
export type { EventStreamOptions } from "./to-ag-ui-event-stream.ts";
export { toAgUiMetadata, toAgUiToolCall } from "./to-ag-ui.ts";
export { joinedUpdates } from "./update-joiner.ts";

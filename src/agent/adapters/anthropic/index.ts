/**
 * `heddle/adapters/anthropic`: Anthropic's Messages.
 * Streams to events, threads to request bodies, and both together as a model.
 */
export { anthropicModel } from "./anthropic-model.ts";
export type { CreatesStreams } from "../provider/ask-client.ts";
export type { AnthropicClient, AnthropicModelOptions } from "./anthropic-model.ts";
export { fromAnthropic } from "./read-anthropic.ts";
export type { AnthropicStreamOptions } from "./read-anthropic.ts";
export { toAnthropic } from "./to-anthropic.ts";
export type {
  AnthropicBlock,
  AnthropicBody,
  AnthropicMessage,
  AnthropicOwnBlock,
  AnthropicRequestInput,
  AnthropicRequestOptions,
  AnthropicResult,
  AnthropicTool,
} from "./to-anthropic.ts";
export type { AnthropicDocumentSource, AnthropicImageSource, AnthropicPart } from "./anthropic-parts.ts";
export { PROVIDER_TOOL_ACTIVITY, STOP_EVENT } from "../provider/answer-writer.ts";

/**
 * `heddle/adapters/openai`: OpenAI, and every server that speaks like it.
 * Streams to events, threads to request bodies, both together as a model, and a ready agent.
 */
export { openAiAgent } from "./openai-agent.ts";
export type { OpenAiAgentOptions } from "./openai-agent.ts";
export { openAiModel } from "./openai-model.ts";
export type { OpenAiClient, OpenAiModelOptions } from "./openai-model.ts";
export { fromOpenAiChat } from "./read-chat.ts";
export type { CreatesStreams } from "../provider/ask-client.ts";
export type { OpenAiStreamOptions } from "./read-chat.ts";
export { fromOpenAiResponses } from "./read-responses.ts";
export { toOpenAiChat } from "./to-chat.ts";
export type {
  OpenAiChatBody,
  OpenAiChatCall,
  OpenAiChatMessage,
  OpenAiChatOptions,
  OpenAiChatTool,
  OpenAiRequestInput,
  OpenAiRequestOptions,
} from "./to-chat.ts";
export type { OpenAiChatPart } from "./chat-parts.ts";
export { toOpenAiResponses } from "./to-responses.ts";
export type { OpenAiOwnItem, OpenAiResponseItem, OpenAiResponseTool, OpenAiResponsesBody } from "./to-responses.ts";
export type { OpenAiResponsePart } from "./response-parts.ts";
export { MEDIA_ACTIVITY, PROVIDER_TOOL_ACTIVITY, STOP_EVENT } from "../provider/answer-writer.ts";

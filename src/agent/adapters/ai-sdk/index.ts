/**
 * `heddle/adapters/ai-sdk`: streams and agents of the Vercel AI SDK (`ai`, version 7) as events and agents of ours.
 * The package is loaded only when an agent runs. Every line here is public.
 */
export { aiSdkAgent } from "./ai-sdk-agent.ts";
export type { AiSdkAgentLike, AiSdkAgentOptions, AiSdkRequest, StreamTextSettings } from "./ai-sdk-agent.ts";
export { fromAiSdk } from "./from-ai-sdk.ts";
export type { AiSdkSource, FromAiSdkOptions } from "./from-ai-sdk.ts";
export { toModelMessages } from "./to-model-messages.ts";
export type { ToModelMessagesOptions } from "./to-model-messages.ts";

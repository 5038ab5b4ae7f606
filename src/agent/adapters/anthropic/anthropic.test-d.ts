/** What the types of the `@anthropic-ai/sdk` package say, held against ours. */
import type Anthropic from "@anthropic-ai/sdk";
import type {
  ContentBlock,
  MessageCreateParamsStreaming,
  MessageParam,
  RawContentBlockDelta,
  RawMessageStreamEvent,
  StopReason,
} from "@anthropic-ai/sdk/resources/messages";
import { expectTypeOf } from "vitest";
import type { AnthropicBody, AnthropicClient, AnthropicOwnBlock } from "./index.ts";
import { BLOCK_DELTAS, CONTENT_BLOCKS, STOP_REASONS } from "./read-anthropic.ts";

expectTypeOf<Exclude<ContentBlock["type"], keyof typeof CONTENT_BLOCKS>>().toBeNever();
expectTypeOf<Exclude<RawContentBlockDelta["type"], keyof typeof BLOCK_DELTAS>>().toBeNever();
expectTypeOf<Exclude<StopReason, keyof typeof STOP_REASONS>>().toBeNever();
// The reader's switch knows these six, and `ping` and `error` beside them.
expectTypeOf<RawMessageStreamEvent["type"]>().toEqualTypeOf<
  | "message_start"
  | "message_delta"
  | "message_stop"
  | "content_block_start"
  | "content_block_delta"
  | "content_block_stop"
>();

type TheirBlock = Exclude<MessageParam["content"], string>[number];
expectTypeOf<AnthropicOwnBlock>().toExtend<TheirBlock>();
expectTypeOf<Omit<AnthropicBody, "messages">>().toExtend<Omit<MessageCreateParamsStreaming, "messages">>();

// The real client is a client.
expectTypeOf<Anthropic>().toExtend<AnthropicClient>();

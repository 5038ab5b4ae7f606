/** What the types of the `openai` package say, held against ours: nothing is missing, and our bodies are theirs. */
import type OpenAI from "openai";
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type {
  ResponseCreateParamsStreaming,
  ResponseOutputItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { expectTypeOf } from "vitest";
import { fromOpenAiChat } from "./index.ts";
import type { OpenAiChatBody, OpenAiClient, OpenAiOwnItem, OpenAiResponsesBody } from "./index.ts";
import { DELTA_FIELDS, FINISH_REASONS } from "./read-chat.ts";
import { RESPONSE_EVENTS } from "./read-responses.ts";
import { RESPONSE_ITEMS } from "./response-items.ts";

type Choice = ChatCompletionChunk["choices"][number];

// Every kind that the package knows is in a table of ours.
expectTypeOf<Exclude<ResponseStreamEvent["type"], keyof typeof RESPONSE_EVENTS>>().toBeNever();
expectTypeOf<Exclude<ResponseOutputItem["type"], keyof typeof RESPONSE_ITEMS>>().toBeNever();
expectTypeOf<Exclude<Choice["finish_reason"], keyof typeof FINISH_REASONS | null>>().toBeNever();
expectTypeOf<Exclude<keyof Choice["delta"], keyof typeof DELTA_FIELDS>>().toBeNever();

// And the other way round, no kind of ours is made up.
expectTypeOf<Exclude<keyof typeof RESPONSE_EVENTS, ResponseStreamEvent["type"]>>().toBeNever();
expectTypeOf<Exclude<keyof typeof RESPONSE_ITEMS, ResponseOutputItem["type"]>>().toBeNever();

// A body of ours is one of theirs; items that OpenAI issued itself are opaque to us.
expectTypeOf<OpenAiChatBody>().toExtend<ChatCompletionCreateParamsStreaming>();
expectTypeOf<Omit<OpenAiResponsesBody, "input">>().toExtend<Omit<ResponseCreateParamsStreaming, "input">>();
expectTypeOf<OpenAiOwnItem>().toExtend<Exclude<ResponseCreateParamsStreaming["input"], string | undefined>[number]>();

// The package's streams are read as they are.
declare const chat: Awaited<ReturnType<OpenAI["chat"]["completions"]["create"]>> & AsyncIterable<ChatCompletionChunk>;
expectTypeOf(fromOpenAiChat).toBeCallableWith(chat);

// The real client is a client.
expectTypeOf<OpenAI>().toExtend<OpenAiClient>();

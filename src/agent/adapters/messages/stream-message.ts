/**
 * What an agent library of seed 003 streams: whole messages, and updates that bring a message piece by piece.
 *
 * Plain objects, told apart by `type`. Messages with one `generationId` come from one answer of the model: its text,
 * reasoning and tool calls belong together. An update says the next piece; whatever is not an update of the same
 * message ends it.
 */
import type { ContentPart, PartSource, TextMessageRole } from "../../../protocol/index.ts";
import type { JsonFragment } from "./json-fragment-parser.ts";

/** Where a message comes from. */
export interface MessageOrigin {
  /** The answer of the model that it is part of. */
  readonly generationId?: string;
  /** Name of the agent that made it. */
  readonly fromAgent?: string;
}

/** A whole text. */
export interface TextMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "text";
  /** The text. */
  readonly text: string;
  /** Who speaks. Default `assistant`. */
  readonly role?: TextMessageRole;
}

/** The next piece of a text. */
export interface TextUpdateMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "text-update";
  /** The piece. */
  readonly text: string;
  /** Who speaks. Default `assistant`. */
  readonly role?: TextMessageRole;
}

/** A whole thought. */
export interface ReasoningMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "reasoning";
  /** The thought; an opaque value where it is encrypted. */
  readonly reasoning: string;
  /** Whether people may read it. Default `plain`. */
  readonly visibility?: "plain" | "summary" | "encrypted";
}

/** The next piece of a thought that people may read. */
export interface ReasoningUpdateMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "reasoning-update";
  /** The piece. */
  readonly reasoning: string;
}

/** A call of a function. */
export interface FunctionCall {
  /** Id of the call. */
  readonly callId: string;
  /** Name of the function. */
  readonly functionName: string;
  /** Argument text, JSON by intent. */
  readonly functionArgs: string;
  /** Position among the calls of its message. */
  readonly index?: number;
}

/** The next piece of a call. The first has the id and the name; later ones may have the index only, or nothing. */
export interface FunctionCallUpdate {
  /** Id of the call. */
  readonly callId?: string;
  /** Name of the function. */
  readonly functionName?: string;
  /** The next piece of the argument text. */
  readonly functionArgs?: string;
  /** Position among the calls of its message. */
  readonly index?: number;
  /** What the piece means as JSON; added by `jsonFragments`. */
  readonly jsonFragments?: readonly JsonFragment[];
}

/** What a call returned. */
export interface FunctionCallResult {
  /** The call that it answers. */
  readonly callId: string;
  /** What came back: text, or parts in order. */
  readonly result: string | readonly ContentPart[];
  /** Whether the call failed. */
  readonly isError?: boolean;
  /** Name of the function. */
  readonly functionName?: string;
  /** Position among the results of its message. */
  readonly index?: number;
}

/** Calls that the model asks for. */
export interface ToolsCallMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "tools-call";
  /** The calls, in order. */
  readonly toolCalls: readonly FunctionCall[];
}

/** The next pieces of calls. */
export interface ToolsCallUpdateMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "tools-call-update";
  /** The pieces, in order. */
  readonly toolCallUpdates: readonly FunctionCallUpdate[];
}

/** What calls returned. */
export interface ToolsCallResultMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "tools-call-result";
  /** The results, in order. */
  readonly toolCallResults: readonly FunctionCallResult[];
}

/** Calls together with what they returned. */
export interface ToolsCallAggregateMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "tools-call-aggregate";
  /** The calls. */
  readonly toolsCall: ToolsCallMessage;
  /** What they returned. */
  readonly toolsCallResult: ToolsCallResultMessage;
}

/** Tokens that one answer of a model took. */
export interface Usage {
  /** All prompt tokens, cached ones included. */
  readonly promptTokens?: number;
  /** All generated tokens, reasoning included. */
  readonly completionTokens?: number;
  /** Prompt and completion. */
  readonly totalTokens?: number;
  /** Part of the completion. */
  readonly reasoningTokens?: number;
  /** Part of the prompt, read from a cache. */
  readonly cachedPromptTokens?: number;
}

/** Token counts. */
export interface UsageMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "usage";
  /** The counts. */
  readonly usage: Usage;
  /** The model's provider. */
  readonly provider?: string;
  /** The model. */
  readonly model?: string;
}

/** An image. */
export interface ImageMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "image";
  /** Where the bytes are. */
  readonly source: PartSource;
  /** What it shows, in words. */
  readonly alt?: string;
  /** Whose it is. Default `assistant`. */
  readonly role?: TextMessageRole;
}

/** Several messages as one. Those that name no origin have the group's. */
export interface CompositeMessage extends MessageOrigin {
  /** Which message this is. */
  readonly type: "composite";
  /** The messages, in order. */
  readonly messages: readonly StreamMessage[];
}

/** Every message. */
export type StreamMessage =
  | TextMessage
  | TextUpdateMessage
  | ReasoningMessage
  | ReasoningUpdateMessage
  | ToolsCallMessage
  | ToolsCallUpdateMessage
  | ToolsCallResultMessage
  | ToolsCallAggregateMessage
  | UsageMessage
  | ImageMessage
  | CompositeMessage;

/** The origin of a message, without what it does not say. */
export function originOf({ generationId, fromAgent }: MessageOrigin): MessageOrigin {
  return {
    ...(generationId === undefined ? {} : { generationId }),
    ...(fromAgent === undefined ? {} : { fromAgent }),
  };
}

/** What a message contains, at every depth, each with the origin that it has or inherits; the message itself if it is one. */
export function flatten(message: StreamMessage): readonly Exclude<StreamMessage, CompositeMessage>[] {
  if (message.type !== "composite") return [message];
  const inherited = originOf(message);
  return message.messages.flatMap((each) => flatten({ ...inherited, ...each }));
}

/**
 * An agent that answers a conversation with a stream of messages, and the steps that can be put around it.
 *
 * A middleware is a function: it is given the call and the agent beneath it, and answers in its place.
 */
import type { Tool } from "../../../protocol/index.ts";
import type { StreamMessage } from "./stream-message.ts";

/** What an answer should be like. */
export interface GenerateOptions {
  /** Functions that the model may call. */
  readonly tools?: readonly Tool[];
  /** Settings for the model, such as `modelId`, `temperature` and `maxTokens`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Aborts when the answer is no longer wanted. */
  readonly signal?: AbortSignal;
}

/** Anything that answers a list of messages with a stream of messages. */
export interface StreamingAgent {
  /** Answers a conversation, oldest message first. */
  generateReplyStreaming(messages: readonly StreamMessage[], options?: GenerateOptions): AsyncIterable<StreamMessage>;
}

/** One call of an agent. */
export interface AgentCall {
  /** The conversation, oldest message first. */
  readonly messages: readonly StreamMessage[];
  /** What the answer should be like. */
  readonly options: GenerateOptions;
}

/** A step around an agent: answers a call, with the agent's help or without. */
export type Middleware = (call: AgentCall, agent: StreamingAgent) => AsyncIterable<StreamMessage>;

/** An agent with steps around it. Messages pass them in the order in which they are given. */
export function withMiddleware(agent: StreamingAgent, ...middlewares: readonly Middleware[]): StreamingAgent {
  return middlewares.reduce<StreamingAgent>(
    (inner, middleware) => ({
      generateReplyStreaming: (messages, options = {}) => middleware({ messages, options }, inner),
    }),
    agent,
  );
}

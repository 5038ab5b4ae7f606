/**
 * Tool calls of a conversation with how they stand. What was called and what came of it say the messages; when, the
 * events. A call that came with posted history has no events, and so no times.
 */
import type { ContentPart, Message, ToolCall } from "../protocol/index.ts";
import { failureIn } from "./branch-moments.ts";
import type { Moments } from "./branch-moments.ts";

/** How a tool call stands. */
export interface ToolCallState {
  /** Id of the call. */
  readonly id: string;
  /** The tool. */
  readonly name: string;
  /** The arguments, as the model wrote them. */
  readonly arguments: string;
  /** `failed` also where its run failed or was stopped before there was a result. */
  readonly status: "pending" | "completed" | "failed";
  /** When it began. */
  readonly startedAtMs: number | undefined;
  /** When its result came, or its run ended without one. */
  readonly endedAtMs: number | undefined;
  /** What it returned. */
  readonly result: string | readonly ContentPart[] | undefined;
  /** Why it failed. */
  readonly error: string | undefined;
}

/** The calls of messages, in their order. */
export function toolCallStates(messages: readonly Message[], { calls }: Moments): readonly ToolCallState[] {
  const results = new Map(messages.flatMap((each) => (each.role === "tool" ? [[each.toolCallId, each]] : [])));
  const made = messages.flatMap((message): readonly ToolCall[] =>
    message.role === "assistant" ? (message.toolCalls ?? []) : [],
  );
  return made.map(({ id, function: { name, arguments: args } }) => {
    const { startedAtMs, endedAtMs, error: lost } = calls.get(id) ?? {};
    const result = results.get(id);
    const error = result === undefined ? lost : (result.error ?? failureIn(result.metadata));
    const status = error !== undefined ? "failed" : result === undefined ? "pending" : "completed";
    return { id, name, arguments: args, status, startedAtMs, endedAtMs, result: result?.content, error };
  });
}

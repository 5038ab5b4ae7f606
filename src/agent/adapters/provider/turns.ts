/**
 * A conversation as providers read it: instructions, what the user said, and answers with the results of their calls.
 *
 * Every provider wants a call's result directly behind the call, exactly one for each; threads do not promise that.
 * So a result is looked up wherever it stands, a call that nobody answered gets a result that says so, and a result
 * without a call is left out. Activities are for people and never reach a model.
 */
import type {
  AssistantMessage,
  ContentPart,
  Context,
  Message,
  ReasoningMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "../../../protocol/index.ts";
import type { OnWarning } from "./warnings.ts";

/** One call, and what came of it. */
export interface CallTurn {
  /** Which part of an answer this is. */
  readonly kind: "call";
  /** The call. */
  readonly call: ToolCall;
  /** Its result: text, or parts. */
  readonly result: string | readonly ContentPart[];
  /** Whether the result is a failure. */
  readonly failed: boolean;
}

/** One part of an answer, in order. */
export type AnswerPart =
  | CallTurn
  | { readonly kind: "reasoning"; readonly message: ReasoningMessage }
  | { readonly kind: "text"; readonly message: AssistantMessage; readonly text: string };

/** One turn of a conversation. */
export type Turn =
  | { readonly kind: "instruction"; readonly role: "system" | "developer"; readonly text: string }
  | { readonly kind: "user"; readonly message: UserMessage }
  | { readonly kind: "answer"; readonly parts: readonly AnswerPart[] };

/** What a model is told about a call that nobody answered. */
export const UNANSWERED = "This call has no result: it was not carried out, or was given up.";

/** What a model is asked when the thread holds nothing to answer. */
export const CONTINUE = "Continue.";

/** What comes before the conversation. */
export interface TurnOptions {
  /** Instructions of the agent. */
  readonly instructions?: string;
  /** What the client said about its surroundings. */
  readonly context?: readonly Context[];
}

/** The turns of a conversation, instructions and context first. */
export function toTurns(messages: readonly Message[], options: TurnOptions, warn: OnWarning): readonly Turn[] {
  const results = collectResults(messages);
  const turns: Turn[] = [];
  const leading = [options.instructions ?? "", describeContext(options.context ?? [])];
  for (const text of leading) if (text !== "") turns.push({ kind: "instruction", role: "system", text });

  let parts: AnswerPart[] | undefined;
  let calls = new Set<string>();
  messages.forEach((message, position) => {
    switch (message.role) {
      case "activity":
        return;
      case "tool":
        if (!results.take(message)) warn(`The result ${message.id} was left out: no call before it waits for it.`);
        // The next thing the model said answers this result.
        else if (calls.has(message.toolCallId)) parts = undefined;
        return;
      case "user":
      case "system":
      case "developer":
        parts = undefined;
        turns.push(
          message.role === "user"
            ? { kind: "user", message }
            : { kind: "instruction", role: message.role, text: message.content },
        );
        return;
      case "reasoning":
      case "assistant":
    }
    if (parts === undefined) {
      parts = [];
      calls = new Set();
      turns.push({ kind: "answer", parts });
    }
    if (message.role === "reasoning") {
      parts.push({ kind: "reasoning", message });
      return;
    }
    const { content = "", toolCalls = [] } = message;
    if (content !== "") parts.push({ kind: "text", message, text: content });
    for (const call of toolCalls) {
      calls.add(call.id);
      parts.push({ kind: "call", call, ...resultOf(results.find(call.id, position)) });
    }
  });
  return turns.filter((turn) => turn.kind !== "answer" || turn.parts.length > 0);
}

function describeContext(context: readonly Context[]): string {
  if (context.length === 0) return "";
  return ["What the application says about its surroundings:"]
    .concat(context.map(({ description, value }) => `- ${description}: ${value}`))
    .join("\n");
}

interface Results {
  /** The first result behind a call that no other call has taken. */
  find(callId: string, position: number): ToolMessage | undefined;
  /** Whether a call has taken this result. */
  take(message: ToolMessage): boolean;
}

function collectResults(messages: readonly Message[]): Results {
  const waiting = new Map<string, { readonly message: ToolMessage; readonly position: number }[]>();
  messages.forEach((message, position) => {
    if (message.role !== "tool") return;
    const list = waiting.get(message.toolCallId) ?? [];
    list.push({ message, position });
    waiting.set(message.toolCallId, list);
  });
  const taken = new Set<ToolMessage>();
  return {
    find(callId, position) {
      const found = waiting.get(callId)?.find((each) => each.position > position && !taken.has(each.message));
      if (found !== undefined) taken.add(found.message);
      return found?.message;
    },
    take: (message) => taken.has(message),
  };
}

function resultOf(message: ToolMessage | undefined): { result: CallTurn["result"]; failed: boolean } {
  if (message === undefined) return { result: UNANSWERED, failed: true };
  const { content, error } = message;
  if (error === undefined || error === "") return { result: content, failed: error !== undefined };
  if (typeof content !== "string")
    return { result: [...content, { type: "text", text: `Error: ${error}` }], failed: true };
  const result = content === "" ? error : content.includes(error) ? content : `${content}\n\nError: ${error}`;
  return { result, failed: true };
}

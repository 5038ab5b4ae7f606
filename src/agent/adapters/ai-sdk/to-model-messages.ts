/**
 * A conversation of AG-UI as the AI SDK's model messages.
 *
 * Providers want every result directly behind the message that made the call, and reasoning back as it was issued. So
 * reasoning, text and calls that follow each other become one assistant message, its results one tool message behind it,
 * wherever they stood. A call that nobody answered is answered as failed, or the SDK would refuse the whole
 * conversation; one that somebody has just been asked about gets the question and the answer instead.
 */
import type { AssistantModelMessage, ModelMessage, ToolCallPart, ToolModelMessage } from "ai";
import { METADATA_KEY } from "../../../protocol/index.ts";
import type {
  AssistantMessage,
  Context,
  Message,
  ReasoningMessage,
  ResumeEntry,
  ToolCall,
  ToolMessage,
} from "../../../protocol/index.ts";
import { isAnswerRecord } from "../../answer-record.ts";
import { isRecord } from "../provider/fields.ts";
import { unseal } from "../provider/opaque.ts";
import type { Carrier } from "../provider/opaque.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { ISSUER } from "./issuer.ts";
import { toolOutput, userContent } from "./to-model-content.ts";
import { verdictOf } from "./verdict.ts";

type AssistantPart = Exclude<AssistantModelMessage["content"], string>[number];
type ToolPart = ToolModelMessage["content"][number];
type ProviderOptions = NonNullable<AssistantModelMessage["providerOptions"]>;

/** Options of `toModelMessages`. */
export interface ToModelMessagesOptions {
  /** Answers to approvals, as the run input brings them. */
  readonly resume?: readonly ResumeEntry[];
  /** What the application says about its surroundings; put before the conversation. */
  readonly context?: readonly Context[];
  /** In which role system and developer messages and the context are given. Default `system`. */
  readonly systemAs?: "system" | "user";
  /** Told what could not be said to the model. */
  readonly onWarning?: OnWarning;
}

const ignore = (): void => {};

/** Messages for `streamText`, `generateText` and agents. System messages are among them where the conversation has any. */
export function toModelMessages(
  messages: readonly Message[],
  { resume = [], context = [], systemAs = "system", onWarning = ignore }: ToModelMessagesOptions = {},
): ModelMessage[] {
  const results = new Map<string, ToolMessage>();
  for (const message of messages) if (message.role === "tool") results.set(message.toolCallId, message);
  const answers = new Map(resume.map((entry) => [entry.interruptId, entry]));
  const turns = new Turns(results, answers, onWarning);
  if (context.length > 0) turns.add({ role: systemAs, content: contextText(context) });
  for (const message of messages) {
    switch (message.role) {
      case "reasoning":
        turns.think(message);
        break;
      case "assistant":
        turns.say(message);
        break;
      case "tool":
      case "activity":
        break;
      case "user":
        turns.add({ role: "user", content: userContent(message.content, onWarning) });
        break;
      case "system":
      case "developer":
        if (!isAnswerRecord(message)) turns.add({ role: systemAs, content: message.content });
        break;
    }
  }
  return turns.end();
}

const contextText = (context: readonly Context[]): string =>
  context.map(({ description, value }) => `${description}: ${value}`).join("\n");

/** Gathers what an assistant said until somebody else speaks, or its calls have to be answered. */
class Turns {
  readonly #out: ModelMessage[] = [];
  readonly #results: Map<string, ToolMessage>;
  readonly #answers: Map<string, ResumeEntry>;
  readonly #warn: OnWarning;
  #parts: AssistantPart[] = [];
  #answered: ToolPart[] = [];

  constructor(results: Map<string, ToolMessage>, answers: Map<string, ResumeEntry>, warn: OnWarning) {
    this.#results = results;
    this.#answers = answers;
    this.#warn = warn;
  }

  think(message: ReasoningMessage): void {
    this.#next();
    this.#parts.push({ type: "reasoning", text: message.content, ...optionsOf(message) });
  }

  say(message: AssistantMessage): void {
    const { content = "", toolCalls = [] } = message;
    const options = optionsOf(message);
    this.#next();
    if (content !== "" || options.providerOptions !== undefined) {
      this.#parts.push({ type: "text", text: content, ...options });
    }
    for (const call of toolCalls) this.#call(call);
  }

  add(message: ModelMessage): void {
    this.#flush();
    this.#out.push(message);
  }

  end(): ModelMessage[] {
    this.#flush();
    for (const { toolCallId } of this.#results.values()) {
      this.#warn(`Dropped a tool result: no message holds the call ${toolCallId}.`);
    }
    for (const id of this.#answers.keys()) this.#warn(`Dropped an answer: no call waits for ${id}.`);
    return this.#out;
  }

  /** Whatever an assistant says after its calls belongs behind their results. */
  #next(): void {
    if (this.#answered.length > 0) this.#flush();
  }

  #call(call: ToolCall): void {
    const { id: toolCallId } = call;
    const toolName = call.function.name;
    const sealed = unseal(ISSUER, call) ?? {};
    const providerExecuted = sealed["providerExecuted"] === true;
    const part: ToolCallPart = {
      type: "tool-call",
      toolCallId,
      toolName,
      input: inputOf(call.function.arguments),
      ...(providerExecuted && { providerExecuted }),
      ...optionsOf(call),
    };
    this.#parts.push(part);
    const result = this.#results.get(toolCallId);
    this.#results.delete(toolCallId);
    if (result !== undefined) {
      const output = toolOutput(result, failureOf(result), this.#warn);
      const answered = { type: "tool-result", toolCallId, toolName, output } as const;
      if (providerExecuted) this.#parts.push(answered);
      else this.#answered.push(answered);
    } else this.#unanswered(toolCallId, toolName, sealed, providerExecuted);
  }

  #unanswered(toolCallId: string, toolName: string, sealed: Record<string, unknown>, providerExecuted: boolean): void {
    const answer = this.#answers.get(toolCallId);
    this.#answers.delete(toolCallId);
    if (answer === undefined) {
      if (providerExecuted) return;
      const value = "The run ended before this call was answered.";
      this.#answered.push({ type: "tool-result", toolCallId, toolName, output: { type: "error-text", value } });
      return;
    }
    const { approvalId = toolCallId, signature } = isRecord(sealed["approval"]) ? sealed["approval"] : {};
    const known = { approvalId: String(approvalId) };
    const signed = typeof signature === "string" ? { signature } : {};
    this.#parts.push({ type: "tool-approval-request", toolCallId, ...known, ...signed });
    const flag = providerExecuted ? { providerExecuted } : {};
    this.#answered.push({ type: "tool-approval-response", ...known, ...verdictOf(answer), ...flag });
  }

  #flush(): void {
    if (this.#parts.length > 0) this.#out.push({ role: "assistant", content: this.#parts });
    if (this.#answered.length > 0) this.#out.push({ role: "tool", content: this.#answered });
    this.#parts = [];
    this.#answered = [];
  }
}

/** Arguments as the model gave them. What is no JSON never reached a tool, and no provider would take it back. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** The provider's metadata that this adapter sealed; another issuer's is not ours to hand on. */
function optionsOf(carrier: Carrier): { providerOptions?: ProviderOptions } {
  const metadata = unseal(ISSUER, carrier)?.["providerMetadata"];
  return isProviderOptions(metadata) ? { providerOptions: metadata } : {};
}

const isProviderOptions = (value: unknown): value is ProviderOptions =>
  isRecord(value) && Object.values(value).every(isRecord);

function failureOf({ error, metadata }: ToolMessage): string | undefined {
  const own: unknown = metadata?.[METADATA_KEY];
  const kept = isRecord(own) ? own["error"] : undefined;
  return error ?? (typeof kept === "string" ? kept : undefined);
}

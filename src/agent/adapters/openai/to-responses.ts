/**
 * A thread as the request body of Responses.
 *
 * Nothing is stored at OpenAI: the thread is ours, and reasoning comes along encrypted. A reasoning item goes back only
 * in front of what it led to, since OpenAI refuses one that nothing follows; other providers' reasoning stays here.
 */
import { callArgumentText } from "../provider/call-arguments.ts";
import { unseal } from "../provider/opaque.ts";
import type { Block } from "../provider/opaque.ts";
import { CONTINUE, toTurns } from "../provider/turns.ts";
import type { AnswerPart, CallTurn } from "../provider/turns.ts";
import { warnOnce } from "../provider/warnings.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { WireIds, WireNames, uniqueTools } from "../provider/wire-names.ts";
import { ITEM_OUTPUTS, RESPONSE_ITEMS } from "./response-items.ts";
import { toResponseParts } from "./response-parts.ts";
import type { OpenAiResponsePart } from "./response-parts.ts";
import { isCustomCall, withExtras } from "./to-chat.ts";
import type { OpenAiRequestInput, OpenAiRequestOptions } from "./to-chat.ts";

/** An item that is made here. */
export type OpenAiOwnItem =
  | { role: "system" | "developer"; content: string }
  | { role: "user"; content: string | OpenAiResponsePart[] }
  | { role: "assistant"; content: string; phase?: "commentary" | "final_answer" }
  | { type: "function_call"; call_id: string; name: string; arguments: string }
  | { type: "function_call_output"; call_id: string; output: string | OpenAiResponsePart[] }
  | { type: "custom_tool_call"; call_id: string; name: string; input: string }
  | { type: "custom_tool_call_output"; call_id: string; output: string | OpenAiResponsePart[] };

/** One item of the input. `Block` stands for items that OpenAI issued and gets back as they were. */
export type OpenAiResponseItem = OpenAiOwnItem | Block;

/** A tool that the model may call. */
export interface OpenAiResponseTool {
  /** Always a function. */
  type: "function";
  /** Its name. */
  name: string;
  /** What it does. */
  description: string;
  /** JSON Schema of its arguments. */
  parameters: Record<string, unknown> | null;
  /** Not strict: schemas of AG-UI tools are any JSON Schema, strict ones a part of it. */
  strict: false;
}

/** The body of a request. */
export interface OpenAiResponsesBody {
  /** The model. */
  model: string;
  /** Always streamed. */
  stream: true;
  /** Nothing is kept at OpenAI. */
  store: boolean;
  /** Asks for reasoning that can go back, where the model reasons. */
  include: "reasoning.encrypted_content"[];
  /** The conversation. */
  input: OpenAiResponseItem[];
  /** The tools; absent where there are none. */
  tools?: OpenAiResponseTool[];
}

/** Models that do not reason refuse to be asked for it. Whoever names another one sets `body.include`. */
const WITHOUT_REASONING = /^(?:ft:)?(?:gpt-[34]|chatgpt-|gpt-5[.\d]*-chat)/;

const CALL_ID = /^.{1,64}$/s;

/** The body of a Responses request for a thread. */
export function toOpenAiResponses(input: OpenAiRequestInput, options: OpenAiRequestOptions): OpenAiResponsesBody {
  const { provider = "openai", model, instructions = "", body = {} } = options;
  const { messages, tools = [], context = [] } = input;
  const warn = warnOnce(options.onWarning);
  const shared = { provider, names: new WireNames(tools), ids: new WireIds(CALL_ID), warn };
  const items = toTurns(messages, { instructions, context }, warn).flatMap((turn): OpenAiResponseItem[] => {
    switch (turn.kind) {
      case "instruction":
        return [{ role: turn.role, content: turn.text }];
      case "user": {
        const { content, id } = turn.message;
        if (typeof content === "string") return [{ role: "user", content }];
        const parts = toResponseParts(content, provider, warn);
        if (parts.length === 0) warn(`The message ${id} was left out: nothing of it can be sent.`);
        return parts.length === 0 ? [] : [{ role: "user", content: parts }];
      }
      case "answer":
        return toItems(turn.parts, shared);
    }
  });
  if (items.every((item) => "role" in item && (item.role === "system" || item.role === "developer"))) {
    items.push({ role: "user", content: CONTINUE });
  }
  const functions = uniqueTools(tools).map(({ name, description, parameters }): OpenAiResponseTool => ({
    type: "function",
    name: shared.names.toWire(name),
    description,
    parameters: typeof parameters === "object" && parameters !== null ? { ...parameters } : EMPTY_SCHEMA,
    strict: false,
  }));
  const include: OpenAiResponsesBody["include"] = WITHOUT_REASONING.test(model) ? [] : ["reasoning.encrypted_content"];
  return withExtras({ model, stream: true, store: false, include, input: items }, functions, body);
}

const EMPTY_SCHEMA = { type: "object", properties: {} };

interface AnswerContext {
  readonly provider: string;
  readonly names: WireNames;
  readonly ids: WireIds;
  readonly warn: OnWarning;
}

/** The items of an answer in their order, and the results of its calls behind them. */
function toItems(parts: readonly AnswerPart[], context: AnswerContext): OpenAiResponseItem[] {
  const { provider, names, ids, warn } = context;
  const said: OpenAiResponseItem[] = [];
  const results: OpenAiResponseItem[] = [];
  for (const part of parts) {
    switch (part.kind) {
      case "reasoning": {
        const block = unseal(provider, part.message);
        // What Chat Completions sealed is none of these.
        if (block !== undefined && Object.hasOwn(RESPONSE_ITEMS, String(block["type"]))) said.push(block);
        else if (part.message.encryptedValue !== undefined)
          warn("Sealed reasoning of another provider or API was left out.");
        break;
      }
      case "text":
        said.push({ role: "assistant", content: part.text, ...phaseOf(part.message.metadata?.[provider]) });
        break;
      case "call": {
        const [call, result] = toCall(part, ids.next(part.call.id), names, context);
        said.push(call);
        results.push(result);
      }
    }
  }
  return [...withFollowers(wholePairs(said, warn), warn), ...results];
}

function phaseOf(words: unknown): { phase?: "commentary" | "final_answer" } {
  const phase: unknown = typeof words === "object" && words !== null ? Reflect.get(words, "phase") : undefined;
  return phase === "commentary" || phase === "final_answer" ? { phase } : {};
}

function toCall(
  { call, result: content }: CallTurn,
  call_id: string,
  names: WireNames,
  { provider, warn }: AnswerContext,
): readonly [OpenAiResponseItem, OpenAiResponseItem] {
  const name = names.toWire(call.function.name);
  const parts = typeof content === "string" ? content : toResponseParts(content, provider, warn);
  const output = parts.length === 0 ? "" : parts;
  const words: unknown = call.metadata?.[provider];
  const { type: _type, ...extras }: Block = typeof words === "object" && words !== null ? { ...words } : {};
  const { arguments: text } = call.function;
  return isCustomCall(call.metadata, provider)
    ? [
        { type: "custom_tool_call", call_id, name, input: text, ...extras },
        { type: "custom_tool_call_output", call_id, output },
      ]
    : [
        { type: "function_call", call_id, name, arguments: callArgumentText(text), ...extras },
        { type: "function_call_output", call_id, output },
      ];
}

/** Items that only count together are both there, or neither is. */
function wholePairs(items: readonly OpenAiResponseItem[], warn: OnWarning): OpenAiResponseItem[] {
  const has = (type: string, callId: unknown): boolean =>
    items.some((item) => "type" in item && item.type === type && "call_id" in item && item["call_id"] === callId);
  const partners = new Map(
    Object.entries(ITEM_OUTPUTS).flatMap(([call, output]) => [
      [call, output],
      [output, call],
    ]),
  );
  return items.filter((item) => {
    const partner = "type" in item && typeof item.type === "string" ? partners.get(item.type) : undefined;
    const whole = partner === undefined || has(partner, "call_id" in item ? item["call_id"] : undefined);
    if (!whole) warn("A call of a tool that OpenAI runs was left out: its other half is missing.");
    return whole;
  });
}

/** Reasoning that nothing follows was cut; OpenAI refuses it. */
function withFollowers(items: readonly OpenAiResponseItem[], warn: OnWarning): OpenAiResponseItem[] {
  const isReasoning = (item: OpenAiResponseItem): boolean => "type" in item && item.type === "reasoning";
  const end = items.findLastIndex((item) => !isReasoning(item)) + 1;
  if (end < items.length) warn("Reasoning at the end of an answer was left out: nothing follows it.");
  return items.slice(0, end);
}

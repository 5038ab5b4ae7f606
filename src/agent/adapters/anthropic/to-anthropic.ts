/**
 * A thread as the request body of Anthropic's Messages.
 *
 * Users and the assistant take turns; the results of an answer's calls open the user's next turn; thinking goes back
 * in its place with its signature, and never last. Instructions stand outside of the conversation. A thread that ends
 * with an answer gets a short question, since newer models refuse to go on from their own words.
 */
import type { ReasoningMessage, Tool } from "../../../protocol/index.ts";
import type { ModelRequest } from "../../index.ts";
import { callArguments } from "../provider/call-arguments.ts";
import { lookUp } from "../provider/fields.ts";
import { unseal } from "../provider/opaque.ts";
import type { Block } from "../provider/opaque.ts";
import { CONTINUE, toTurns } from "../provider/turns.ts";
import type { AnswerPart, CallTurn, Turn } from "../provider/turns.ts";
import { warnOnce } from "../provider/warnings.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { WireIds, WireNames, uniqueTools } from "../provider/wire-names.ts";
import { toAnthropicParts } from "./anthropic-parts.ts";
import type { AnthropicPart } from "./anthropic-parts.ts";
import { PREFIX, PrefixHash } from "./prefix.ts";
import { CONTENT_BLOCKS } from "./read-anthropic.ts";
import type { BlockKind } from "./read-anthropic.ts";
import { toTextBlocks } from "./text-blocks.ts";

/** What is asked: the conversation, the tools and the surroundings. */
export type AnthropicRequestInput = Pick<ModelRequest, "messages"> & Partial<Pick<ModelRequest, "tools" | "context">>;

/** How a request is built. */
export interface AnthropicRequestOptions {
  /** The model. */
  readonly model: string;
  /** Most tokens of the answer, thinking included. Default 16,000. */
  readonly maxTokens?: number;
  /** Instructions of the agent, before everything else. */
  readonly instructions?: string;
  /** Label of the provider; only what it issued goes back to it. Default `anthropic`. */
  readonly provider?: string;
  /** Further members of the body, `thinking` say; they win over ours, and `tools` are added to ours. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Told, in a sentence, of each thing that was left out. */
  readonly onWarning?: OnWarning;
}

/** The result of a call. */
export interface AnthropicResult {
  /** Which kind of block this is. */
  type: "tool_result";
  /** The call. */
  tool_use_id: string;
  /** What came of it; absent for an empty result. */
  content?: AnthropicPart[];
  /** Whether it failed. */
  is_error?: true;
}

/** A block that is made here. */
export type AnthropicOwnBlock =
  | AnthropicPart
  | AnthropicResult
  | { type: "tool_use"; id: string; name: string; input: Block };

/** A block of the conversation. `Block` stands for blocks that Anthropic issued and gets back as they were. */
export type AnthropicBlock = AnthropicOwnBlock | Block;

/** One turn of the conversation. */
export interface AnthropicMessage {
  /** Whose turn. */
  role: "user" | "assistant";
  /** What is said. */
  content: AnthropicBlock[];
}

/** A tool that the model may call. */
export interface AnthropicTool {
  /** Its name. */
  name: string;
  /** What it does. */
  description: string;
  /** JSON Schema of its arguments. */
  input_schema: { type: "object"; [member: string]: unknown };
}

/** The body of a request. */
export interface AnthropicBody {
  /** The model. */
  model: string;
  /** Most tokens of the answer. */
  max_tokens: number;
  /** Always streamed. */
  stream: true;
  /** Instructions; absent where there are none. */
  system?: { type: "text"; text: string }[];
  /** The conversation. */
  messages: AnthropicMessage[];
  /** The tools; absent where there are none. */
  tools?: AnthropicTool[];
}

const CALL_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** The body of a Messages request for a thread. */
export function toAnthropic(input: AnthropicRequestInput, options: AnthropicRequestOptions): AnthropicBody {
  const { provider = "anthropic", model, maxTokens = 16_000, instructions = "", body = {} } = options;
  const { messages: thread, tools = [], context = [] } = input;
  const warn = warnOnce(options.onWarning);
  const names = new WireNames(tools);
  const turns = toTurns(thread, { instructions, context }, warn);
  const system = turns.flatMap((turn) =>
    turn.kind === "instruction" && turn.text.trim() !== "" ? [{ type: "text" as const, text: turn.text }] : [],
  );
  const added: readonly AnthropicTool[] = Array.isArray(body["tools"]) ? body["tools"] : [];
  const all = [...toTools(tools, names), ...added];
  const frame: AnthropicBody = {
    model,
    max_tokens: maxTokens,
    stream: true,
    ...(system.length === 0 ? {} : { system }),
    ...body,
    ...(all.length === 0 ? {} : { tools: all }),
    messages: [],
  };
  const talk = new Talk(frame, provider, warn);
  const ids = new WireIds(CALL_ID);
  const whole = wholeUses(turns, provider);
  for (const turn of turns) {
    if (turn.kind === "user") {
      const parts = toAnthropicParts(turn.message.content, provider, warn);
      if (parts.length === 0) warn(`The message ${turn.message.id} was left out: nothing of it can be sent.`);
      talk.say("user", parts);
    }
    if (turn.kind === "answer") {
      const { said, results } = toBlocks(turn.parts, {
        names,
        ids,
        provider,
        warn,
        talk,
        counts: (block) => whole(block, turn),
      });
      talk.say("assistant", said);
      talk.say("user", results);
    }
  }
  return withoutImpossibleThinking({ ...frame, messages: talk.end() }, warn);
}

/** The conversation as it is put together, turn by turn. */
class Talk {
  readonly #messages: AnthropicMessage[] = [];
  readonly #prefix: PrefixHash;
  readonly #provider: string;
  readonly #warn: OnWarning;
  #bound = true;

  constructor(body: AnthropicBody, provider: string, warn: OnWarning) {
    this.#prefix = new PrefixHash(body);
    this.#provider = provider;
    this.#warn = warn;
  }

  /** Adds to the turn of whoever speaks, or begins it. The first turn is the user's. */
  say(role: AnthropicMessage["role"], content: readonly AnthropicBlock[]): void {
    if (content.length === 0) return;
    if (role === "assistant" && this.#messages.length === 0) this.say("user", [{ type: "text", text: CONTINUE }]);
    this.#prefix.add(role, content);
    const last = this.#messages.at(-1);
    if (last?.role === role) last.content.push(...content);
    else this.#messages.push({ role, content: [...content] });
  }

  /** The block that a reasoning message carries, where Anthropic still takes it. */
  unseal(message: ReasoningMessage, prefix: string): Block | undefined {
    const sealed = unseal(this.#provider, message);
    if (sealed === undefined || !Object.hasOwn(CONTENT_BLOCKS, String(sealed["type"]))) {
      if (message.encryptedValue !== undefined) this.#warn("Sealed reasoning of another provider was left out.");
      return undefined;
    }
    const { [PREFIX]: bound, ...block } = sealed;
    if (bound !== undefined && bound !== prefix) this.#bound = false;
    if (!this.#bound && isThinking(block)) {
      this.#warn("Thinking was left out: what stood before it has changed since, and Anthropic takes it for forged.");
      return undefined;
    }
    return block["type"] === "thinking" ? { ...block, thinking: message.content } : block;
  }

  /** What stands before the next turn, in short. */
  get prefix(): string {
    return this.#prefix.digest();
  }

  /** The conversation, ending with the user. */
  end(): AnthropicMessage[] {
    if (this.#messages.at(-1)?.role !== "user") this.say("user", [{ type: "text", text: CONTINUE }]);
    return this.#messages;
  }
}

function toTools(tools: readonly Tool[], names: WireNames): readonly AnthropicTool[] {
  return uniqueTools(tools).map(({ name, description, parameters }) => {
    const schema = typeof parameters === "object" && parameters !== null ? parameters : { properties: {} };
    return { name: names.toWire(name), description, input_schema: { ...schema, type: "object" } };
  });
}

interface AnswerContext {
  readonly provider: string;
  readonly names: WireNames;
  readonly ids: WireIds;
  readonly warn: OnWarning;
  readonly talk: Talk;
  readonly counts: (block: AnthropicBlock) => boolean;
}

function toBlocks(
  parts: readonly AnswerPart[],
  { provider, names, ids, warn, talk, counts }: AnswerContext,
): { readonly said: readonly AnthropicBlock[]; readonly results: readonly AnthropicResult[] } {
  const said: AnthropicBlock[] = [];
  const results: AnthropicResult[] = [];
  const { prefix } = talk;
  for (const part of parts) {
    switch (part.kind) {
      case "reasoning": {
        const block = talk.unseal(part.message, prefix);
        if (block === undefined) break;
        if (counts(block)) said.push(block);
        else warn("A call of a tool that Anthropic runs was left out: its other half is missing.");
        break;
      }
      case "text":
        said.push(...toTextBlocks(part.text, part.message.metadata?.[provider]));
        break;
      case "call": {
        const { name, arguments: text } = part.call.function;
        const words: unknown = part.call.metadata?.[provider];
        const extras = typeof words === "object" && words !== null ? words : {};
        const id = ids.next(part.call.id);
        said.push({ type: "tool_use", id, name: names.toWire(name), input: callArguments(text), ...extras });
        results.push(toResult(part, id, provider, warn));
      }
    }
  }
  return { said: withoutLastThinking(said, warn), results };
}

function toResult(
  { result, failed }: CallTurn,
  tool_use_id: string,
  provider: string,
  warn: OnWarning,
): AnthropicResult {
  const content = toAnthropicParts(result, provider, warn);
  return {
    type: "tool_result",
    tool_use_id,
    ...(content.length === 0 ? {} : { content }),
    ...(failed ? { is_error: true } : {}),
  };
}

const kindOf = (block: AnthropicBlock): BlockKind | undefined => lookUp(CONTENT_BLOCKS, String(block.type));

/**
 * Tells which blocks of tools that Anthropic runs count: a use with its result, and a result with its use. The result may
 * come in a later answer, since Anthropic's tools wait while the caller's run: a use in the answer that is gone on from
 * needs none yet.
 */
function wholeUses(turns: readonly Turn[], provider: string): (block: AnthropicBlock, turn: Turn) => boolean {
  const uses = new Set<unknown>();
  const results = new Set<unknown>();
  const parts = turns.flatMap((turn) => (turn.kind === "answer" ? turn.parts : []));
  for (const part of parts) {
    const block = part.kind === "reasoning" ? unseal(provider, part.message) : undefined;
    if (block !== undefined && kindOf(block) === "use") uses.add(block["id"]);
    if (block !== undefined && kindOf(block) === "result") results.add(block["tool_use_id"]);
  }
  return (block, turn) => {
    const kind = kindOf(block);
    if (kind === "result") return uses.has(Reflect.get(block, "tool_use_id"));
    if (kind !== "use") return true;
    const waits = turn === turns.at(-1) && turn.kind === "answer" && turn.parts.some((part) => part.kind === "call");
    return waits || results.has(Reflect.get(block, "id"));
  };
}

const isThinking = (block: AnthropicBlock | undefined): boolean =>
  block?.type === "thinking" || block?.type === "redacted_thinking";

/** Thinking that nothing follows was cut; Anthropic refuses it. */
function withoutLastThinking(blocks: readonly AnthropicBlock[], warn: OnWarning): readonly AnthropicBlock[] {
  const end = blocks.findLastIndex((block) => !isThinking(block)) + 1;
  if (end < blocks.length) warn("Thinking at the end of an answer was left out: nothing follows it.");
  return blocks.slice(0, end);
}

/**
 * With thinking switched on by a budget, an answer whose calls have just been answered has to begin with thinking. One
 * of another provider, or of a time without thinking, does not: the request is then made without.
 */
function withoutImpossibleThinking(body: AnthropicBody & { thinking?: unknown }, warn: OnWarning): AnthropicBody {
  const { thinking, ...rest } = body;
  if (typeof thinking !== "object" || thinking === null || Reflect.get(thinking, "type") !== "enabled") return body;
  const last = body.messages.findLast(({ role }) => role === "assistant");
  const answersCalls = body.messages.at(-1)?.content[0]?.type === "tool_result";
  if (!answersCalls || isThinking(last?.content[0])) return body;
  warn("Thinking was switched off for one request: the answer that it goes on from has none.");
  return rest;
}

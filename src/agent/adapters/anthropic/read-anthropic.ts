/**
 * The stream of Anthropic's Messages as the events of one answer.
 *
 * Blocks come one after another. Thinking is a reasoning message that carries its signature; redacted thinking, and
 * the blocks of tools that Anthropic runs, are carried sealed in their places, since the next request has to repeat
 * them. Citations are the text's metadata (`metadata.anthropic.citations`), with the range of text that they support;
 * `cuts` beside them says where each block of text ended.
 */
import type { Event, TokenUsage } from "../../../protocol/index.ts";
import { mintId } from "../../mint-id.ts";
import { AnswerWriter, PROVIDER_TOOL_ACTIVITY } from "../provider/answer-writer.ts";
import { callArguments } from "../provider/call-arguments.ts";
import type { Stop, StopKind } from "../provider/end-answer.ts";
import { lookUp } from "../provider/fields.ts";
import type { Fields } from "../provider/fields.ts";
import { failureOf, modelError } from "../provider/model-error.ts";
import type { Block } from "../provider/opaque.ts";
import { PREFIX } from "./prefix.ts";
import { tokenUsage } from "../provider/token-usage.ts";
import type { TokenCounts } from "../provider/token-usage.ts";
import { warnOnce } from "../provider/warnings.ts";
import type { OnWarning } from "../provider/warnings.ts";
import type { WireNames } from "../provider/wire-names.ts";
import { writeAnswer } from "../provider/write-answer.ts";
import type { AnswerReader } from "../provider/write-answer.ts";

/** How a stream of Anthropic's is read. */
export interface AnthropicStreamOptions {
  /** Label of the provider, in usage and metadata, and issuer of sealed blocks. Default `anthropic`. */
  readonly provider?: string;
  /** Told, in a sentence, of each kind of thing that was left out. */
  readonly onWarning?: OnWarning;
  /** Ids of calls that the conversation holds already; a call that repeats one gets another. */
  readonly takenCallIds?: ReadonlySet<string>;
  /** The tools' names as the request had them; without it names are taken as they come. */
  readonly toolNames?: Pick<WireNames, "fromWire">;
  /** Values that must not appear in an error's message. */
  readonly secrets?: readonly string[];
}

/** How a reader is told that a paused turn goes on. */
export interface AnthropicReaderOptions extends AnthropicStreamOptions {
  /** Whether a paused turn is no end: another request goes on from it. */
  readonly continuesPaused?: boolean;
  /** What the request held, in short: thinking counts only behind the same. */
  readonly prefix?: string;
}

/** The events of one streamed message. Throws an error with a `model-*` code where it is no whole answer. */
export function fromAnthropic(
  stream: AsyncIterable<unknown>,
  options: AnthropicStreamOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const { provider = "anthropic", secrets = [] } = options;
  return writeAnswer(stream, new AnthropicReader(options), { provider, secrets });
}

/** What a stop reason means. One that is not listed is treated as cut: text is kept, nothing is acted on. */
export const STOP_REASONS = {
  end_turn: "whole",
  stop_sequence: "whole",
  tool_use: "whole",
  max_tokens: "cut",
  model_context_window_exceeded: "cut",
  refusal: "refused",
  pause_turn: "paused",
} as const satisfies Readonly<Record<string, StopKind>>;

/** What becomes of a block: `use` and `result` are of tools that Anthropic runs. */
export type BlockKind = "text" | "thinking" | "redacted" | "call" | "use" | "result" | "carried";

/** Every kind of block. */
export const CONTENT_BLOCKS = {
  text: "text",
  thinking: "thinking",
  redacted_thinking: "redacted",
  tool_use: "call",
  server_tool_use: "use",
  web_search_tool_result: "result",
  web_fetch_tool_result: "result",
  code_execution_tool_result: "result",
  bash_code_execution_tool_result: "result",
  text_editor_code_execution_tool_result: "result",
  tool_search_tool_result: "result",
  container_upload: "carried",
  mcp_tool_use: "use",
  mcp_tool_result: "result",
} as const satisfies Readonly<Record<string, BlockKind>>;

/** Every kind of delta, and the member of its block that it adds to. */
export const BLOCK_DELTAS = {
  text_delta: "text",
  input_json_delta: "partial_json",
  citations_delta: "citations",
  thinking_delta: "thinking",
  signature_delta: "signature",
} as const satisfies Readonly<Record<string, string>>;

interface OpenBlock {
  readonly kind: BlockKind;
  /** The block as it opened. */
  readonly start: Block;
  readonly citations: unknown[];
  text: string;
  json: string;
  signature: string;
  /** Where its text begins in the message. */
  readonly from: number;
}

/** Reads one streamed message, and keeps its blocks for a request that goes on from it. */
export class AnthropicReader implements AnswerReader {
  /** Where the answer is written to. */
  readonly writer: AnswerWriter;
  /** Whether nothing follows any more. */
  over = false;
  /** Why the answer stopped. */
  stop: Stop | undefined;
  /** The blocks that are whole, as the next request has to repeat them. */
  readonly blocks: Block[] = [];
  /** Whether the turn was paused, to be continued. */
  paused = false;
  readonly #options: AnthropicReaderOptions;
  readonly #provider: string;
  readonly #warn: OnWarning;
  readonly #open = new Map<number, OpenBlock>();
  /** What is shown for each tool that Anthropic runs, by the id of its use. */
  readonly #shown = new Map<string, { readonly id: string; readonly content: Record<string, unknown> }>();
  #counts: Record<string, number> = {};
  #model: string | undefined;
  /** Counts once the message has stopped. */
  #reason: Stop | undefined;

  constructor(options: AnthropicReaderOptions) {
    this.#options = options;
    this.#provider = options.provider ?? "anthropic";
    this.#warn = warnOnce(options.onWarning);
    const { takenCallIds = new Set() } = options;
    this.writer = new AnswerWriter({ provider: this.#provider, takenCallIds });
  }

  /** Takes one event of the stream. */
  read(event: Fields): void {
    const type = event.text("type") ?? "";
    switch (type) {
      case "ping":
        return;
      case "message_start": {
        const message = event.mustObject("message");
        this.#model = message.text("model");
        return this.#count(message.object("usage"));
      }
      case "content_block_start":
        return this.#startBlock(event.number("index") ?? 0, event.mustObject("content_block"));
      case "content_block_delta":
        return this.#addToBlock(event.number("index") ?? 0, event.mustObject("delta"));
      case "content_block_stop":
        return this.#stopBlock(event.number("index") ?? 0);
      case "message_delta":
        this.#count(event.object("usage"));
        return this.#readStop(event.mustObject("delta"));
      case "message_stop":
        this.over = true;
        this.stop = this.#reason;
        return;
      case "error": {
        const context = { provider: this.#provider, secrets: this.#options.secrets ?? [] };
        throw modelError(context, failureOf(event.value));
      }
      default:
        this.#warn(`The event ${type || "without a type"} was left out.`);
    }
  }

  /** The provider counts cached tokens beside the others; AG-UI counts them among them. Later counts replace earlier. */
  get usage(): TokenUsage {
    const { input_tokens: fresh, output_tokens: output, thinking_tokens: reasoning } = this.#counts;
    const { cache_read_input_tokens: cached, cache_creation_input_tokens: cacheWrite } = this.#counts;
    const input = fresh === undefined ? undefined : fresh + (cached ?? 0) + (cacheWrite ?? 0);
    const counts: TokenCounts = { input, output, reasoning, cached, cacheWrite };
    return tokenUsage({ provider: this.#provider, model: this.#model }, counts);
  }

  #count(usage: Fields | undefined): void {
    const details = usage?.object("output_tokens_details");
    for (const name of ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]) {
      const count = usage?.count(name);
      if (count !== undefined) this.#counts[name] = count;
    }
    const thinking = details?.count("thinking_tokens");
    if (thinking !== undefined) this.#counts["thinking_tokens"] = thinking;
  }

  #readStop(delta: Fields): void {
    const reason = delta.text("stop_reason");
    if (reason === undefined) return;
    this.paused = reason === "pause_turn" && this.#options.continuesPaused === true;
    const kind = this.paused ? "whole" : lookUp<StopKind>(STOP_REASONS, reason);
    if (kind === undefined) this.#warn(`The stop reason ${reason} is unknown.`);
    const details = delta.object("stop_details");
    const explanation = [details?.text("category"), details?.text("explanation")].filter((word) => word !== undefined);
    this.#reason = { kind: kind ?? "cut", reason, explanation: explanation.join(", ") };
  }

  #startBlock(index: number, block: Fields): void {
    const type = block.mustText("type");
    const kind = lookUp<BlockKind>(CONTENT_BLOCKS, type);
    if (kind === undefined) return this.#warn(`The block ${type} was left out.`);
    const text = block.text(kind === "thinking" ? "thinking" : "text") ?? "";
    const signature = block.text("signature") ?? "";
    const citations = block.objects("citations").map(({ value }) => value);
    if (kind === "thinking") {
      this.writer.startThought();
      this.writer.think(text);
    }
    const from = this.writer.textLength;
    this.#open.set(index, { kind, start: block.value, citations, text, json: "", signature, from });
    if (kind === "text") this.writer.text(text);
    if (kind === "call") {
      const wire = block.mustText("name");
      const extras = extrasOf(block);
      const name = this.#options.toolNames?.fromWire(wire) ?? wire;
      this.writer.startCall(String(index), { id: block.mustText("id"), name, ...extras });
    }
    if (kind === "use") this.#showUse(block.value, "in_progress");
  }

  #addToBlock(index: number, delta: Fields): void {
    const block = this.#open.get(index);
    const type = delta.mustText("type");
    const member = lookUp<string>(BLOCK_DELTAS, type);
    if (block === undefined || member === undefined) return this.#warn(`The delta ${type} was left out.`);
    switch (member) {
      case "text":
        block.text += delta.mustText("text");
        return this.writer.text(delta.mustText("text"));
      case "thinking":
        block.text += delta.mustText("thinking");
        return this.writer.think(delta.mustText("thinking"));
      case "signature":
        block.signature += delta.mustText("signature");
        return;
      case "partial_json":
        block.json += delta.mustText("partial_json");
        return this.writer.addArguments(String(index), delta.mustText("partial_json"));
      case "citations":
        block.citations.push(delta.mustObject("citation").value);
    }
  }

  #stopBlock(index: number): void {
    const block = this.#open.get(index);
    if (block === undefined) return;
    this.#open.delete(index);
    const { kind, start, text, json, citations, signature, from } = block;
    switch (kind) {
      case "text":
        if (text === "") return;
        this.writer.annotateList("cuts", [this.writer.textLength]);
        if (citations.length > 0) {
          const to = this.writer.textLength;
          this.writer.annotateList(
            "citations",
            citations.map((citation) => ({ from, to, citation })),
          );
        }
        this.blocks.push({ type: "text", text, ...(citations.length > 0 ? { citations } : {}) });
        return;
      case "thinking":
        this.blocks.push({ type: "thinking", thinking: text, signature });
        // The text is the message's own; the signature is what has to go along.
        return this.writer.endThought(signature === "" ? undefined : this.#bound({ type: "thinking", signature }));
      case "redacted":
        this.blocks.push(start);
        return this.writer.carry(this.#bound(start));
      case "call":
        this.blocks.push(withInput(start, json));
        if (json === "") this.writer.addArguments(String(index), JSON.stringify(withInput(start, json)["input"]));
        return this.writer.endCall(String(index));
      case "use": {
        const use = withInput(start, json);
        this.blocks.push(use);
        this.#showUse(use, "in_progress");
        return this.writer.carry(use);
      }
      case "result":
      case "carried":
        this.blocks.push(start);
        if (kind === "result") this.#showResult(start);
        return this.writer.carry(start);
    }
  }

  /** What comes back in another order is no longer what the thinking came from. */
  #bound(block: Block): Block {
    const prefix = this.writer.reordered ? "reordered" : this.#options.prefix;
    return prefix === undefined ? block : { ...block, [PREFIX]: prefix };
  }

  #showUse(use: Block, status: string): void {
    const key = String(use["id"]);
    const shown = this.#shown.get(key) ?? { id: mintId("act"), content: {} };
    this.#shown.set(key, shown);
    Object.assign(shown.content, { provider: this.#provider, tool: use["name"], status, input: use["input"] ?? {} });
    this.writer.show(shown.id, PROVIDER_TOOL_ACTIVITY, { ...shown.content });
  }

  #showResult(result: Block): void {
    const shown = this.#shown.get(String(result["tool_use_id"])) ?? { id: mintId("act"), content: {} };
    const content = withoutSecrets(result["content"] ?? null);
    Object.assign(shown.content, { provider: this.#provider, status: "completed", output: content });
    this.writer.show(shown.id, PROVIDER_TOOL_ACTIVITY, { ...shown.content });
  }
}

/** The block with the input that was streamed for it. */
function withInput(start: Block, json: string): Block {
  return json === "" ? { ...start, input: start["input"] ?? {} } : { ...start, input: callArguments(json) };
}

/** What Anthropic wants back with a call: who called it, where that was not the model itself. */
function extrasOf(block: Fields): { extras?: Block } {
  const caller = block.object("caller");
  const toolset = block.text("toolset_name");
  const direct = caller === undefined || caller.text("type") === "direct";
  if (direct && toolset === undefined) return {};
  return {
    extras: {
      ...(direct ? {} : { caller: caller.value }),
      ...(toolset === undefined ? {} : { toolset_name: toolset }),
    },
  };
}

/** What a person is shown of a result: not the provider's encrypted copies of it. */
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([name]) => !name.startsWith("encrypted_"));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutSecrets(member)]));
}

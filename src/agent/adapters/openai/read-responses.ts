/**
 * The stream of OpenAI's Responses as the events of one answer.
 *
 * Items come one after another; most have deltas of their own and are told again, whole, when they are done. Reasoning
 * is a reasoning message whose item, encrypted, goes back with the next request; tools that OpenAI runs are
 * activities; citations are the text's metadata (`metadata.openai.annotations`).
 */
import type { Event, TokenUsage } from "../../../protocol/index.ts";
import { AnswerWriter, MEDIA_ACTIVITY, PROVIDER_TOOL_ACTIVITY } from "../provider/answer-writer.ts";
import type { Stop, StopKind } from "../provider/end-answer.ts";
import { lookUp } from "../provider/fields.ts";
import type { Fields } from "../provider/fields.ts";
import { failureOf, modelError } from "../provider/model-error.ts";
import { mintId } from "../../mint-id.ts";
import { tokenUsage } from "../provider/token-usage.ts";
import { warnOnce } from "../provider/warnings.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { writeAnswer } from "../provider/write-answer.ts";
import type { AnswerReader } from "../provider/write-answer.ts";
import { joinBase64 } from "./join-base64.ts";
import type { OpenAiStreamOptions } from "./read-chat.ts";
import { RESPONSE_ITEMS, shownItem } from "./response-items.ts";
import type { ItemKind } from "./response-items.ts";

/** The events of one streamed response. Throws an error with a `model-*` code where it is no whole answer. */
export function fromOpenAiResponses(
  stream: AsyncIterable<unknown>,
  options: OpenAiStreamOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const { provider = "openai", secrets = [] } = options;
  return writeAnswer(stream, new ResponseReader(options), { provider, secrets });
}

/** What an event is to us: who reads it, or that an item says it again when it is done. */
type Reading = "life" | "item" | "text" | "thought" | "arguments" | "tool" | "media" | "said-again";

/** Every kind of event. */
export const RESPONSE_EVENTS = {
  "response.created": "life",
  "response.queued": "life",
  "response.in_progress": "life",
  "response.completed": "life",
  "response.incomplete": "life",
  "response.failed": "life",
  error: "life",
  "response.output_item.added": "item",
  "response.output_item.done": "item",
  "response.content_part.added": "said-again",
  "response.content_part.done": "said-again",
  "response.output_text.delta": "text",
  "response.output_text.done": "text",
  "response.output_text.annotation.added": "text",
  "response.refusal.delta": "text",
  "response.refusal.done": "text",
  "response.reasoning_summary_part.added": "said-again",
  "response.reasoning_summary_part.done": "said-again",
  "response.reasoning_summary_text.delta": "thought",
  "response.reasoning_summary_text.done": "thought",
  "response.reasoning_text.delta": "thought",
  "response.reasoning_text.done": "thought",
  "response.function_call_arguments.delta": "arguments",
  "response.function_call_arguments.done": "arguments",
  "response.custom_tool_call_input.delta": "arguments",
  "response.custom_tool_call_input.done": "arguments",
  "response.file_search_call.in_progress": "tool",
  "response.file_search_call.searching": "tool",
  "response.file_search_call.completed": "tool",
  "response.web_search_call.in_progress": "tool",
  "response.web_search_call.searching": "tool",
  "response.web_search_call.completed": "tool",
  "response.code_interpreter_call.in_progress": "tool",
  "response.code_interpreter_call.interpreting": "tool",
  "response.code_interpreter_call.completed": "tool",
  "response.code_interpreter_call_code.delta": "said-again",
  "response.code_interpreter_call_code.done": "tool",
  "response.mcp_call.in_progress": "tool",
  "response.mcp_call.completed": "tool",
  "response.mcp_call.failed": "tool",
  "response.mcp_call_arguments.delta": "said-again",
  "response.mcp_call_arguments.done": "tool",
  "response.mcp_list_tools.in_progress": "tool",
  "response.mcp_list_tools.completed": "tool",
  "response.mcp_list_tools.failed": "tool",
  "response.compaction.compacting": "tool",
  "response.shell_call_command.added": "said-again",
  "response.shell_call_command.delta": "said-again",
  "response.shell_call_command.done": "tool",
  "response.shell_call_output_content.delta": "said-again",
  "response.shell_call_output_content.done": "tool",
  "response.image_generation_call.in_progress": "tool",
  "response.image_generation_call.generating": "tool",
  "response.image_generation_call.completed": "tool",
  "response.image_generation_call.partial_image": "media",
  "response.audio.delta": "media",
  "response.audio.done": "media",
  "response.audio.transcript.delta": "text",
  "response.audio.transcript.done": "said-again",
} as const satisfies Readonly<Record<string, Reading>>;

const INCOMPLETE: Readonly<Record<string, StopKind>> = { content_filter: "refused" };

interface ToolItem {
  readonly id: string;
  readonly content: Record<string, unknown>;
}

class ResponseReader implements AnswerReader {
  readonly writer: AnswerWriter;
  over = false;
  stop: Stop | undefined;
  readonly #options: OpenAiStreamOptions;
  readonly #provider: string;
  readonly #warn: OnWarning;
  /** Parts of which something was streamed; their `done` says nothing new. */
  readonly #streamed = new Set<string>();
  readonly #tools = new Map<number, ToolItem>();
  readonly #audio: string[] = [];
  #paragraph = "";
  #usage: Fields | undefined;
  #model: string | undefined;

  constructor(options: OpenAiStreamOptions) {
    this.#options = options;
    this.#provider = options.provider ?? "openai";
    this.#warn = warnOnce(options.onWarning);
    const { takenCallIds = new Set() } = options;
    this.writer = new AnswerWriter({ provider: this.#provider, takenCallIds });
  }

  read(event: Fields): void {
    const type = event.text("type") ?? "";
    const reading = lookUp<Reading>(RESPONSE_EVENTS, type);
    switch (reading) {
      case "life":
        return this.#readLife(type, event);
      case "item":
        return this.#readItem(type, event);
      case "text":
        return this.#readText(type, event);
      case "thought":
        return this.#readThought(type, event);
      case "arguments":
        return this.#readArguments(event);
      case "tool":
        return this.#readTool(type, event);
      case "media":
        return this.#readMedia(type, event);
      case "said-again":
        return;
      case undefined:
        // An error that has no type is a server's way of speaking Chat Completions here.
        if (type === "" && event.value["error"] !== undefined) return this.#readLife("error", event);
        this.#warn(`The event ${type || "without a type"} was left out.`);
    }
  }

  get usage(): TokenUsage {
    return tokenUsage(
      { provider: this.#provider, model: this.#model },
      {
        input: this.#usage?.count("input_tokens"),
        output: this.#usage?.count("output_tokens"),
        reasoning: this.#usage?.object("output_tokens_details")?.count("reasoning_tokens"),
        cached: this.#usage?.object("input_tokens_details")?.count("cached_tokens"),
        cacheWrite: this.#usage?.object("input_tokens_details")?.count("cache_write_tokens"),
      },
    );
  }

  #readLife(type: string, event: Fields): void {
    const context = { provider: this.#provider, secrets: this.#options.secrets ?? [] };
    if (type === "error") throw modelError(context, failureOf(event.value));
    const response = event.mustObject("response");
    this.#model = response.text("model") ?? this.#model;
    this.#usage = response.object("usage") ?? this.#usage;
    if (response.object("moderation") !== undefined) this.#warn("Moderation results were left out.");
    if (type === "response.failed") throw modelError(context, failureOf(response.value));
    if (type === "response.completed") this.#end({ kind: "whole", reason: "completed" });
    if (type === "response.incomplete") {
      const reason = response.object("incomplete_details")?.text("reason") ?? "incomplete";
      this.#end({ kind: INCOMPLETE[reason] ?? "cut", reason });
    }
  }

  #end(stop: Stop): void {
    this.stop = stop;
    this.over = true;
  }

  #readItem(event: string, fields: Fields): void {
    const item = fields.mustObject("item");
    const type = item.mustText("type");
    const index = fields.number("output_index") ?? 0;
    const done = event.endsWith(".done");
    switch (lookUp<ItemKind>(RESPONSE_ITEMS, type)) {
      case "message":
        return this.#readMessage(item, index, done);
      case "reasoning":
        return done ? this.#endReasoning(item, index) : this.writer.startThought();
      case "call":
      case "free-call":
        return this.#readCall(item, index, done);
      case "carried":
        this.#showTool(type, index, item, done);
        if (done) this.writer.carry(item.value);
        return;
      case "image":
        return done ? this.#endImage(item, index) : this.#showTool(type, index, item, done);
      case "unanswerable":
        this.#warn(`An item ${type} asks the caller to act, which cannot be answered here.`);
        return this.#showTool(type, index, item, done);
      case "input":
        return;
      case undefined:
        this.#warn(`The item ${type} was left out.`);
    }
  }

  #readMessage(item: Fields, index: number, done: boolean): void {
    if (!done) {
      this.writer.nextMessage();
      const phase = item.text("phase");
      if (phase !== undefined) this.writer.annotate({ phase });
      return;
    }
    // A server that does not stream parts says them here.
    item.objects("content").forEach((part, position) => {
      if (this.#streamed.has(`text/${index}/${position}`)) return;
      if (part.text("type") === "refusal") this.writer.annotate({ refusal: true });
      this.writer.text(part.text("text") ?? part.text("refusal") ?? "");
    });
    this.writer.endText();
  }

  #readText(type: string, event: Fields): void {
    if (type === "response.output_text.annotation.added") {
      const annotation = event.object("annotation");
      if (annotation === undefined) return;
      const position = { content_index: event.number("content_index") ?? 0 };
      return this.writer.annotateList("annotations", [{ ...annotation.value, ...position }]);
    }
    const part = `text/${event.number("output_index") ?? 0}/${event.number("content_index") ?? 0}`;
    const refusal = type.startsWith("response.refusal.");
    if (refusal) this.writer.annotate({ refusal: true });
    const whole = event.text("text") ?? event.text("refusal") ?? "";
    this.writer.text(this.#newText(part, type, event, whole));
  }

  #readThought(type: string, event: Fields): void {
    const position = event.number("summary_index") ?? event.number("content_index") ?? 0;
    const kind = type.startsWith("response.reasoning_summary") ? "summary" : "text";
    const part = `${kind}/${event.number("output_index") ?? 0}/${position}`;
    const text = this.#newText(part, type, event, event.text("text") ?? "");
    if (text === "") return;
    this.writer.think(text, this.#paragraph !== part);
    this.#paragraph = part;
  }

  /** The text that an event adds: its delta, or the whole of a part of which nothing came before. */
  #newText(part: string, type: string, event: Fields, whole: string): string {
    const told = this.#streamed.has(part);
    this.#streamed.add(part);
    return type.endsWith(".delta") ? event.mustText("delta") : told ? "" : whole;
  }

  #endReasoning(item: Fields, index: number): void {
    item.objects("summary").forEach((part, position) => {
      if (!this.#streamed.has(`summary/${index}/${position}`)) this.writer.think(part.text("text") ?? "", true);
    });
    const sealed = item.text("encrypted_content") !== undefined || item.objects("content").length > 0;
    this.writer.endThought(sealed ? item.value : undefined);
  }

  #readCall(item: Fields, index: number, done: boolean): void {
    const key = String(index);
    const freeform = item.text("type") === "custom_tool_call";
    if (!this.writer.hasCall(key)) {
      const wire = item.mustText("name");
      const name = this.#options.toolNames?.fromWire(wire) ?? wire;
      const { namespace } = item.value;
      const caller = item.object("caller")?.text("type") === "program" ? item.value["caller"] : undefined;
      const extras = { ...(freeform ? { type: "custom" } : {}), ...present({ namespace, caller }) };
      const wanted = Object.keys(extras).length === 0 ? {} : { extras };
      this.writer.startCall(key, { id: item.text("call_id"), name, freeform, ...wanted });
    }
    if (!done) return;
    const text = item.text("arguments") ?? item.text("input") ?? "";
    if (this.writer.callText(key) === "") this.writer.addArguments(key, text);
    this.writer.endCall(key, item.text("status") !== "incomplete");
  }

  #readArguments(event: Fields): void {
    const key = String(event.number("output_index") ?? 0);
    const whole = event.text("arguments") ?? event.text("input") ?? "";
    this.writer.addArguments(key, event.text("delta") ?? (this.writer.callText(key) === "" ? whole : ""));
  }

  #toolAt(index: number, type: string): ToolItem {
    const known = this.#tools.get(index);
    if (known !== undefined) return known;
    const tool = { id: mintId("act"), content: { provider: this.#provider, tool: type.replace(/_call$/, "") } };
    this.#tools.set(index, tool);
    return tool;
  }

  #showTool(type: string, index: number, item: Fields, done: boolean): void {
    const { id, content } = this.#toolAt(index, type);
    Object.assign(content, shownItem(item.value), {
      status: item.text("status") ?? (done ? "completed" : "in_progress"),
    });
    this.writer.show(id, PROVIDER_TOOL_ACTIVITY, { ...content });
  }

  /** `response.web_search_call.searching` and its like: the last word is the status, unless the event holds a whole. */
  #readTool(type: string, event: Fields): void {
    const [, kind = "", word = ""] = type.split(".");
    const tool = kind.replace(/_(?:code|arguments|command|output_content)$/, "");
    const { id, content } = this.#toolAt(event.number("output_index") ?? 0, tool);
    const { code, arguments: given, command, output } = event.value;
    Object.assign(content, word === "done" ? present({ code, arguments: given, command, output }) : { status: word });
    this.writer.show(id, PROVIDER_TOOL_ACTIVITY, { ...content });
  }

  #readMedia(type: string, event: Fields): void {
    if (type === "response.audio.delta") this.#audio.push(event.mustText("delta"));
    else if (type === "response.audio.done") {
      const mimeType = this.#options.audioMimeType ?? "audio/pcm";
      this.#showMedia(mintId("act"), "audio", joinBase64(this.#audio.splice(0)), mimeType);
    } else {
      const { id } = this.#toolAt(event.number("output_index") ?? 0, "image_generation_call");
      this.#showMedia(`${id}_image`, "image", event.mustText("partial_image_b64"), imageType(event), { partial: true });
    }
  }

  #endImage(item: Fields, index: number): void {
    this.#showTool("image_generation_call", index, item, true);
    const bytes = item.text("result");
    const { id } = this.#toolAt(index, "image_generation_call");
    if (bytes !== undefined) this.#showMedia(`${id}_image`, "image", bytes, imageType(item));
  }

  #showMedia(id: string, kind: "image" | "audio", value: string, mimeType: string, words: object = {}): void {
    const source = { type: "data", value, mimeType };
    this.writer.show(id, MEDIA_ACTIVITY, { provider: this.#provider, kind, source, ...words });
  }
}

function imageType(event: Fields): string {
  const format = event.text("output_format") ?? "png";
  return `image/${format === "svg" ? "svg+xml" : format}`;
}

/** The members that hold something. */
function present(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}

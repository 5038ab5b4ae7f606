/**
 * The stream of OpenAI's Chat Completions, and of the many servers that speak like it, as the events of one answer.
 *
 * Beyond what OpenAI documents it knows what compatible servers add: reasoning as `reasoning_content`, `reasoning` or a
 * part, with `reasoning_details` that go back; calls without ids or indexes, and their `extra_content`, which goes back.
 */
import type { Event, TokenUsage } from "../../../protocol/index.ts";
import { AnswerWriter, MEDIA_ACTIVITY } from "../provider/answer-writer.ts";
import type { Stop, StopKind } from "../provider/end-answer.ts";
import { lookUp } from "../provider/fields.ts";
import type { Fields } from "../provider/fields.ts";
import { failureOf, modelError } from "../provider/model-error.ts";
import { mintId } from "../../mint-id.ts";
import { tokenUsage } from "../provider/token-usage.ts";
import type { WireNames } from "../provider/wire-names.ts";
import { warnOnce } from "../provider/warnings.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { writeAnswer } from "../provider/write-answer.ts";
import type { AnswerReader } from "../provider/write-answer.ts";
import { joinBase64 } from "./join-base64.ts";

/** How a stream of OpenAI's is read. */
export interface OpenAiStreamOptions {
  /** Label of the provider, in usage and metadata, and issuer of sealed reasoning. Default `openai`. */
  readonly provider?: string;
  /** Told, in a sentence, of each kind of thing that was left out. */
  readonly onWarning?: OnWarning;
  /** Ids of calls that the conversation holds already; a call that repeats one gets another. */
  readonly takenCallIds?: ReadonlySet<string>;
  /** The tools' names as the request had them; without it names are taken as they come. */
  readonly toolNames?: Pick<WireNames, "fromWire">;
  /** Values that must not appear in an error's message. */
  readonly secrets?: readonly string[];
  /** Media type of sounds that the model makes, as the request asked for it. Default `audio/pcm`. */
  readonly audioMimeType?: string;
}

/** The events of one streamed chat completion. Throws an error with a `model-*` code where it is no whole answer. */
export function fromOpenAiChat(
  stream: AsyncIterable<unknown>,
  options: OpenAiStreamOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const { provider = "openai", secrets = [] } = options;
  return writeAnswer(stream, new ChatReader(options), { provider, secrets });
}

/** What a finish reason means. One that is not listed is treated as cut: text is kept, nothing is acted on. */
export const FINISH_REASONS = {
  stop: "whole",
  tool_calls: "whole",
  function_call: "whole",
  length: "cut",
  content_filter: "refused",
  error: "failed",
} as const satisfies Readonly<Record<string, StopKind>>;

/** Every field of a choice's delta, and whether it reaches the events. */
export const DELTA_FIELDS = {
  role: false,
  content: true,
  refusal: true,
  tool_calls: true,
  function_call: true,
  audio: true,
  reasoning_content: true,
  reasoning: true,
  reasoning_details: true,
  annotations: true,
} as const satisfies Readonly<Record<string, boolean>>;

const LEGACY_CALL = "function_call";

class ChatReader implements AnswerReader {
  readonly writer: AnswerWriter;
  readonly over = false;
  stop: Stop | undefined;
  readonly #options: OpenAiStreamOptions;
  readonly #provider: string;
  readonly #warn: OnWarning;
  readonly #keys = new Map<number, { readonly key: string; readonly id: string }>();
  readonly #details: unknown[] = [];
  #audio: { readonly id: string; chunks: string[]; words: Record<string, unknown> } | undefined;
  #usage: Fields | undefined;
  #model: string | undefined;

  constructor(options: OpenAiStreamOptions) {
    this.#options = options;
    this.#provider = options.provider ?? "openai";
    this.#warn = warnOnce(options.onWarning);
    const { takenCallIds = new Set() } = options;
    this.writer = new AnswerWriter({ provider: this.#provider, takenCallIds });
  }

  read(chunk: Fields): void {
    if (chunk.value["error"] !== undefined && chunk.value["error"] !== null) {
      const context = { provider: this.#provider, secrets: this.#options.secrets ?? [] };
      throw modelError(context, failureOf(chunk.value));
    }
    this.#model = chunk.text("model") ?? this.#model;
    this.#usage = chunk.object("usage") ?? this.#usage;
    if (chunk.object("moderation") !== undefined) this.#warn("Moderation results were left out.");
    for (const choice of chunk.objects("choices")) {
      if ((choice.number("index") ?? 0) !== 0) this.#warn("Choices beyond the first were left out; ask for n = 1.");
      else this.#readChoice(choice);
    }
  }

  get usage(): TokenUsage {
    const read = this.#usage?.object("prompt_tokens_details");
    const written = this.#usage?.object("completion_tokens_details");
    return tokenUsage(
      { provider: this.#provider, model: this.#model },
      {
        input: this.#usage?.count("prompt_tokens"),
        output: this.#usage?.count("completion_tokens"),
        reasoning: written?.count("reasoning_tokens"),
        cached: read?.count("cached_tokens"),
        cacheWrite: read?.count("cache_write_tokens"),
      },
    );
  }

  #readChoice(choice: Fields): void {
    const delta = choice.object("delta");
    if (delta !== undefined) this.#readDelta(delta);
    const reason = choice.text("finish_reason") ?? "";
    if (choice.object("logprobs") !== undefined) this.#warn("Log probabilities were left out.");
    if (reason === "") return;
    const kind = lookUp<StopKind>(FINISH_REASONS, reason);
    if (kind === undefined) this.#warn(`The finish reason ${reason} is unknown.`);
    this.#endThought();
    this.#showAudio();
    this.stop = { kind: kind ?? "cut", reason };
  }

  #readDelta(delta: Fields): void {
    for (const [name, value] of Object.entries(delta.value)) {
      if (!Object.hasOwn(DELTA_FIELDS, name) && value !== null && value !== undefined)
        this.#warn(`${name} was left out.`);
    }
    this.writer.think(delta.text("reasoning_content") ?? delta.text("reasoning") ?? "");
    this.#details.push(...delta.objects("reasoning_details").map(({ value }) => value));
    this.#readContent(delta);
    const refusal = delta.text("refusal") ?? "";
    if (refusal !== "") {
      this.#endThought();
      this.writer.annotate({ refusal: true });
      this.writer.text(refusal);
    }
    const annotations = delta.objects("annotations").map(({ value }) => value);
    if (annotations.length > 0) this.writer.annotateList("annotations", annotations);
    const audio = delta.object("audio");
    if (audio !== undefined) this.#readAudio(audio);
    delta.objects("tool_calls").forEach((call, position) => this.#readCall(call, position));
    const legacy = delta.object("function_call");
    if (legacy !== undefined) this.#addToCall(LEGACY_CALL, undefined, legacy, false);
  }

  /** Text; some servers send parts instead, and their reasoning among them. */
  #readContent(delta: Fields): void {
    const parts = Array.isArray(delta.value["content"]) ? delta.objects("content") : undefined;
    const text = parts === undefined ? (delta.text("content") ?? "") : textOf(parts);
    for (const part of parts ?? []) this.writer.think(textOf(part.objects("thinking")));
    if (text === "") return;
    this.#endThought();
    this.writer.text(text);
  }

  /** Reasoning goes back, sealed, to a server that gives details of it. */
  #endThought(): void {
    const reasoning_details = this.#details.splice(0);
    if (reasoning_details.length > 0) this.writer.endThought({ type: "reasoning_details", reasoning_details });
  }

  /** A call is told by its index; a server that sends the same index for every call still gives each an id. */
  #readCall(entry: Fields, position: number): void {
    const index = entry.number("index") ?? position;
    const id = entry.text("id") ?? "";
    const known = this.#keys.get(index);
    const isNew = known === undefined || (id !== "" && known.id !== "" && id !== known.id);
    const key = isNew ? `${index}/${id}` : known.key;
    if (isNew) this.#keys.set(index, { key, id });
    const freeform = entry.text("type") === "custom";
    const body = entry.object("custom") ?? entry.object("function");
    this.#addToCall(key, id, body ?? (isNew ? entry.mustObject("function") : undefined), freeform);
    const extra = entry.object("extra_content");
    if (extra !== undefined) this.writer.sealCall(key, { type: "extra_content", extra_content: extra.value });
  }

  #addToCall(key: string, id: string | undefined, body: Fields | undefined, freeform: boolean): void {
    if (!this.writer.hasCall(key)) {
      this.#endThought();
      const wire = body?.mustText("name") ?? "";
      const name = this.#options.toolNames?.fromWire(wire) ?? wire;
      this.writer.startCall(key, { id, name, freeform, ...(freeform ? { extras: { type: "custom" } } : {}) });
    }
    this.writer.addArguments(key, body?.text("arguments") ?? body?.text("input") ?? "");
  }

  #readAudio(audio: Fields): void {
    this.#audio ??= { id: mintId("act"), chunks: [], words: {} };
    const data = audio.text("data");
    if (data !== undefined) this.#audio.chunks.push(data);
    const id = audio.text("id");
    if (id !== undefined) this.#audio.words["audioId"] = id;
    const expiresAt = audio.number("expires_at");
    if (expiresAt !== undefined) this.#audio.words["expiresAt"] = expiresAt;
    this.writer.text(audio.text("transcript") ?? "");
    // The last update comes after the finish reason.
    if (this.stop !== undefined) this.#showAudio();
  }

  #showAudio(): void {
    if (this.#audio === undefined) return;
    const { id, chunks, words } = this.#audio;
    const mimeType = this.#options.audioMimeType ?? "audio/pcm";
    const source = { type: "data", value: joinBase64(chunks), mimeType };
    this.writer.show(id, MEDIA_ACTIVITY, { provider: this.#provider, kind: "audio", source, ...words });
  }
}

const textOf = (parts: readonly Fields[]): string => parts.map((part) => part.text("text") ?? "").join("");

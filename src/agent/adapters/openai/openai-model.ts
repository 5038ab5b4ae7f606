/**
 * A model at OpenAI, or at a server that speaks like it: a key and a base URL, or a client of the `openai` package.
 *
 * Without a client it speaks HTTP itself, so nothing has to be installed. OpenAI itself is asked by Responses, where
 * reasoning can be seen and goes back; other servers by Chat Completions, which all of them know.
 */
import type { Model, ModelRequest } from "../../index.ts";
import { askClient } from "../provider/ask-client.ts";
import type { CreatesStreams } from "../provider/ask-client.ts";
import { checkBaseUrl } from "../provider/base-url.ts";
import { callIdsOf } from "../provider/call-ids.ts";
import { follow } from "../provider/follow.ts";
import { postStream } from "../provider/post-stream.ts";
import { WireNames } from "../provider/wire-names.ts";
import { fromOpenAiChat } from "./read-chat.ts";
import type { OpenAiStreamOptions } from "./read-chat.ts";
import { fromOpenAiResponses } from "./read-responses.ts";
import { toOpenAiChat } from "./to-chat.ts";
import type { OpenAiChatOptions } from "./to-chat.ts";
import { toOpenAiResponses } from "./to-responses.ts";

/** Where OpenAI is. */
export const OPENAI_BASE_URL = "https://api.openai.com/v1";

/** What is used of a client of the `openai` package. */
export interface OpenAiClient {
  /** Where it sends its requests. */
  readonly baseURL?: string;
  /** Its key; only ever used to keep it out of messages. */
  readonly apiKey?: unknown;
  /** Chat Completions. */
  readonly chat: { readonly completions: CreatesStreams };
  /** Responses. */
  readonly responses: CreatesStreams;
}

/** Which model, where, and how it is asked. */
export interface OpenAiModelOptions extends OpenAiChatOptions {
  /** A client of the `openai` package. Default none: plain `fetch`. */
  readonly client?: OpenAiClient;
  /** Where the API is, up to its version. Default OpenAI's. */
  readonly baseUrl?: string;
  /** The key; local servers need none. */
  readonly apiKey?: string;
  /** Which API. Default `responses` at OpenAI, `chat` elsewhere. */
  readonly api?: "chat" | "responses";
  /** Headers beside the credentials. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Media type of sounds that the model makes. Default `audio/pcm`. */
  readonly audioMimeType?: string;
  /** The `fetch` to use. Default the platform's. */
  readonly fetch?: typeof fetch;
}

/** A model of OpenAI's, or of a compatible server. */
export function openAiModel(options: OpenAiModelOptions): Model {
  const { client, provider = "openai", apiKey = "" } = options;
  const { baseUrl, api } = openAiTarget(options);
  const secrets = [apiKey, typeof client?.apiKey === "string" ? client.apiKey : ""];
  const context = { provider, secrets };

  const post = (path: string, body: unknown, signal: AbortSignal): AsyncIterable<unknown> =>
    postStream({
      ...context,
      url: `${baseUrl}/${path}`,
      headers: { ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }), ...options.headers },
      body,
      signal,
      ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
    });

  const start = async (request: ModelRequest) => {
    const { messages, tools, signal } = request;
    const reading: OpenAiStreamOptions = {
      provider,
      secrets,
      takenCallIds: callIdsOf(messages),
      toolNames: new WireNames(tools),
      ...(options.onWarning === undefined ? {} : { onWarning: options.onWarning }),
      ...(options.audioMimeType === undefined ? {} : { audioMimeType: options.audioMimeType }),
    };
    if (api === "chat") {
      const body = toOpenAiChat(request, options);
      if (client === undefined) return fromOpenAiChat(post("chat/completions", body, signal), reading);
      return fromOpenAiChat(await askClient(client.chat.completions, body, signal, context), reading);
    }
    const body = toOpenAiResponses(request, options);
    if (client === undefined) return fromOpenAiResponses(post("responses", body, signal), reading);
    return fromOpenAiResponses(await askClient(client.responses, body, signal, context), reading);
  };

  return (request) => follow(() => start(request), context, request.signal);
}

/** Where a model is, and by which API it is asked. Throws `config-invalid` where the base URL is none. */
export function openAiTarget({ client, ...options }: OpenAiModelOptions): {
  baseUrl: string;
  api: "chat" | "responses";
} {
  const baseUrl = checkBaseUrl(options.baseUrl ?? client?.baseURL ?? OPENAI_BASE_URL);
  return { baseUrl, api: options.api ?? (new URL(baseUrl).hostname === "api.openai.com" ? "responses" : "chat") };
}

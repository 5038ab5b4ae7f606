/**
 * A model at Anthropic: a key, or a client of the `@anthropic-ai/sdk` package.
 *
 * Without a client it speaks HTTP itself, so nothing has to be installed. A turn that Anthropic pauses, since its own
 * tools take long, is continued by sending back what it said so far, as Anthropic documents it.
 */
import type { Event } from "../../../protocol/index.ts";
import type { Model, ModelRequest } from "../../index.ts";
import { askClient } from "../provider/ask-client.ts";
import type { CreatesStreams } from "../provider/ask-client.ts";
import { checkBaseUrl } from "../provider/base-url.ts";
import { callIdsOf } from "../provider/call-ids.ts";
import { follow } from "../provider/follow.ts";
import { postStream } from "../provider/post-stream.ts";
import { WireNames } from "../provider/wire-names.ts";
import { writeAnswer } from "../provider/write-answer.ts";
import { prefixOf } from "./prefix.ts";
import { AnthropicReader } from "./read-anthropic.ts";
import { toAnthropic } from "./to-anthropic.ts";
import type { AnthropicBody, AnthropicRequestOptions } from "./to-anthropic.ts";

/** Where Anthropic is. */
export const ANTHROPIC_BASE_URL = "https://api.anthropic.com";

/** Version of the API that the adapter speaks; `headers` may ask for another. */
export const ANTHROPIC_VERSION = "2026-10-21";

/** What is used of a client of the `@anthropic-ai/sdk` package. */
export interface AnthropicClient {
  /** Its key; only ever used to keep it out of messages. */
  readonly apiKey?: unknown;
  /** Messages. */
  readonly messages: CreatesStreams;
}

/** Which model, where, and how it is asked. */
export interface AnthropicModelOptions extends AnthropicRequestOptions {
  /** A client of the `@anthropic-ai/sdk` package. Default none: plain `fetch`. */
  readonly client?: AnthropicClient;
  /** Where the API is, without its version. Default Anthropic's. */
  readonly baseUrl?: string;
  /** The key. */
  readonly apiKey?: string;
  /** Headers beside the credentials, `anthropic-beta` say. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How often a paused turn is continued. Default 10. */
  readonly maxContinuations?: number;
  /** The `fetch` to use. Default the platform's. */
  readonly fetch?: typeof fetch;
}

/** A model of Anthropic's. */
export function anthropicModel(options: AnthropicModelOptions): Model {
  const { client, provider = "anthropic", apiKey = "", maxContinuations = 10 } = options;
  const baseUrl = checkBaseUrl(options.baseUrl ?? ANTHROPIC_BASE_URL);
  const secrets = [apiKey, typeof client?.apiKey === "string" ? client.apiKey : ""];
  const context = { provider, secrets };

  const post = (body: AnthropicBody, signal: AbortSignal): AsyncIterable<unknown> =>
    postStream({
      ...context,
      url: `${baseUrl}/v1/messages`,
      headers: {
        ...(apiKey === "" ? {} : { "x-api-key": apiKey }),
        "anthropic-version": ANTHROPIC_VERSION,
        ...options.headers,
      },
      body,
      signal,
      ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
    });

  async function* answer(request: ModelRequest): AsyncGenerator<Event, void, undefined> {
    const { messages, tools, signal } = request;
    const reading = {
      provider,
      secrets,
      takenCallIds: callIdsOf(messages),
      toolNames: new WireNames(tools),
      ...(options.onWarning === undefined ? {} : { onWarning: options.onWarning }),
    };
    let body = toAnthropic(request, options);
    // Also of what follows a pause: a thread tells both as one answer.
    const prefix = prefixOf(body);
    for (let continued = 0; ; continued++) {
      const reader = new AnthropicReader({ ...reading, prefix, continuesPaused: continued < maxContinuations });
      const asked = client === undefined ? post(body, signal) : askClient(client.messages, body, signal, context);
      yield* writeAnswer(await asked, reader, context);
      if (!reader.paused || continued >= maxContinuations) return;
      body = { ...body, messages: continuedBy(body.messages, reader.blocks) };
    }
  }

  return (request) => follow(() => answer(request), context, request.signal);
}

/** The conversation with what a paused turn said so far as its last turn. */
function continuedBy(
  messages: AnthropicBody["messages"],
  blocks: AnthropicBody["messages"][number]["content"],
): AnthropicBody["messages"] {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return [...messages, { role: "assistant", content: [...blocks] }];
  return [...messages.slice(0, -1), { role: "assistant", content: [...last.content, ...blocks] }];
}

/**
 * An agent of the AI SDK, or a call of `streamText`, as an agent of ours.
 *
 * The conversation goes in as model messages, with answers to approvals where the run resumes; the frontend's tools are
 * declared without `execute`, so that the SDK stops at their calls. Context is put before the conversation. Stopping the
 * run aborts the SDK's signal.
 */
import type { ModelMessage, TextStreamPart, ToolSet, streamText } from "ai";
import type { AgentCapabilities, Event, RunAgentInput } from "../../../protocol/index.ts";
import { defineAgent } from "../../index.ts";
import type { Agent } from "../../index.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { fromAiSdk } from "./from-ai-sdk.ts";
import { frontendTools } from "./frontend-tools.ts";
import { loadAi } from "./load-ai.ts";
import { toModelMessages } from "./to-model-messages.ts";

/** One run, in the SDK's terms. */
export interface AiSdkRequest {
  /** The run input. */
  readonly input: RunAgentInput;
  /** Its conversation. */
  readonly messages: ModelMessage[];
  /** The frontend's tools, without `execute`. */
  readonly tools: ToolSet;
  /** Aborts when the run is to stop. */
  readonly signal: AbortSignal;
}

/** What an agent of the SDK is asked for: `ToolLoopAgent` and everything like it has it. */
export interface AiSdkAgentLike {
  /** Streams an answer. */
  stream(options: {
    messages: ModelMessage[];
    abortSignal?: AbortSignal;
  }): PromiseLike<{ readonly stream: AsyncIterable<TextStreamPart<ToolSet>> }>;
}

/** Options of `streamText`, without what the run itself brings. */
export type StreamTextSettings = Omit<Parameters<typeof streamText>[0], "messages" | "prompt" | "abortSignal">;

/** What `aiSdkAgent` is given. */
export type AiSdkAgentOptions = AiSdkAgentCommon &
  (
    | {
        /** The SDK's agent, or a function that makes one for a run, for instance with the frontend's tools. */
        readonly agent: AiSdkAgentLike | ((request: AiSdkRequest) => AiSdkAgentLike | Promise<AiSdkAgentLike>);
      }
    | {
        /** Options of `streamText`, or a function that makes them. The frontend's tools are added to its own. */
        readonly streamText:
          | StreamTextSettings
          | ((request: AiSdkRequest) => StreamTextSettings | Promise<StreamTextSettings>);
      }
  );

interface AiSdkAgentCommon {
  /** Name of the agent. */
  readonly name: string;
  /** What it is for. */
  readonly description?: string;
  /** What it says that it can do. */
  readonly capabilities?: AgentCapabilities;
  /** Told what has no place in AG-UI or in the SDK. Default: the run's log. */
  readonly onWarning?: OnWarning;
}

const ignore = (): void => {};

/** An agent of ours that the AI SDK answers for. */
export function aiSdkAgent(options: AiSdkAgentOptions): Agent {
  const { name, description, capabilities, onWarning } = options;
  return defineAgent({
    name,
    ...(description === undefined ? {} : { description }),
    ...(capabilities === undefined ? {} : { capabilities }),
    run: ({ input, signal, log }) => runAiSdk(options, input, signal, onWarning ?? ((message) => log.warn(message))),
  });
}

/** One run of the SDK. Throws a `HeddleError` with a `model-*` code, or the signal's reason. */
async function* runAiSdk(
  options: AiSdkAgentOptions,
  input: RunAgentInput,
  signal: AbortSignal,
  onWarning: OnWarning,
): AsyncGenerator<Event, void, undefined> {
  try {
    const result = await start(options, input, signal, onWarning);
    for await (const event of fromAiSdk(result, { input, onWarning })) {
      signal.throwIfAborted();
      yield event;
    }
    signal.throwIfAborted();
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

async function start(
  options: AiSdkAgentOptions,
  input: RunAgentInput,
  signal: AbortSignal,
  onWarning: OnWarning,
): Promise<{ readonly stream: AsyncIterable<TextStreamPart<ToolSet>> }> {
  const { resume = [], context = [] } = input;
  // Agents of the SDK take no system messages; what a client calls one is no more to be trusted than its other words.
  const systemAs = "agent" in options ? "user" : "system";
  const messages = toModelMessages(input.messages, { resume, context, systemAs, onWarning });
  const tools = await frontendTools(input.tools ?? []);
  const request: AiSdkRequest = { input, messages, tools, signal };
  if ("agent" in options) {
    const isFixed = typeof options.agent !== "function";
    if (isFixed && Object.keys(tools).length > 0) {
      onWarning("The frontend's tools are not offered: give `agent` as a function that makes it with `tools`.");
    }
    const agent = typeof options.agent === "function" ? await options.agent(request) : options.agent;
    return agent.stream({ messages, abortSignal: signal });
  }
  const settings = typeof options.streamText === "function" ? await options.streamText(request) : options.streamText;
  const { streamText } = await loadAi();
  for (const name of Object.keys(tools)) {
    if (settings.tools !== undefined && name in settings.tools) {
      onWarning(`The frontend's tool ${name} is not offered: the agent has one of that name.`);
    }
  }
  return streamText({
    // The SDK writes errors to the console unless told otherwise; here they end the run.
    onError: ignore,
    allowSystemInMessages: true,
    ...settings,
    // Its own tools come first, and win: providers cache a prompt by its beginning.
    tools: { ...settings.tools, ...tools, ...settings.tools },
    messages,
    abortSignal: signal,
  });
}

/**
 * A real agent at once: a key, or the address of a local model server, and the name of a model.
 *
 * What is not given comes from the environment, under the names that OpenAI's own tools use. It calls the model, runs
 * the tools, leaves the frontend's to the frontend, and shows what the model thinks where the server tells.
 */
import { HeddleError } from "../../../protocol/index.ts";
import type { Event } from "../../../protocol/index.ts";
import { defineAgent, toolLoop } from "../../index.ts";
import type { Agent, Model, ServerTool } from "../../index.ts";
import { openAiModel, openAiTarget } from "./openai-model.ts";
import type { OpenAiModelOptions } from "./openai-model.ts";

/** What `openAiAgent` is given; everything may come from the environment. */
export interface OpenAiAgentOptions extends Partial<Omit<OpenAiModelOptions, "onWarning">> {
  /** Name of the agent in URLs. Default `openai`. */
  readonly name?: string;
  /** What it is for. */
  readonly description?: string;
  /** Tools that run here, on the server. */
  readonly tools?: readonly ServerTool[];
  /** How often the model may be called in one run. Default 8. */
  readonly maxSteps?: number;
  /** Whether to ask OpenAI for a summary of what its model thinks. Default true. */
  readonly reasoning?: boolean;
  /** Where `OPENAI_BASE_URL`, `OPENAI_API_KEY` and `OPENAI_MODEL` are looked up. Default the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Makes the agent. Throws `config-invalid` where nothing says which model, or where it is. */
export function openAiAgent(options: OpenAiAgentOptions = {}): Agent {
  const {
    name = "openai",
    description,
    tools = [],
    maxSteps,
    reasoning = true,
    env = environment(),
    ...given
  } = options;
  const baseUrl = options.baseUrl ?? setting(env, "OPENAI_BASE_URL");
  const apiKey = options.apiKey ?? setting(env, "OPENAI_API_KEY");
  const model = options.model ?? setting(env, "OPENAI_MODEL");
  if (model === undefined) throw missing("OPENAI_MODEL", "the name of a model");
  if (options.client === undefined && baseUrl === undefined && apiKey === undefined) {
    throw missing("OPENAI_API_KEY", "a key of OpenAI's, or in OPENAI_BASE_URL the address of another server");
  }
  const asked: OpenAiModelOptions = {
    ...given,
    model,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
  // Read now: a mistake in the address shows before the first run.
  const summaries = { wanted: openAiTarget(asked).api === "responses" && reasoning };

  return defineAgent({
    name,
    ...(description === undefined ? {} : { description }),
    tools,
    capabilities: { reasoning: { supported: true, streaming: true } },
    run({ log, ...context }) {
      const warned = { ...asked, onWarning: (message: string) => log.warn(message) };
      const thinking = withSummaries(warned, summaries, () => log.warn("The server gives no summaries of reasoning."));
      return toolLoop({ ...context, log, model: thinking, ...(maxSteps === undefined ? {} : { maxSteps }) });
    },
  });
}

/**
 * Asks for summaries of reasoning until they are refused: OpenAI gives them to organisations that it has verified, and
 * not for every model. The refusal comes before the answer begins, so nothing is said twice.
 */
function withSummaries(options: OpenAiModelOptions, summaries: { wanted: boolean }, onRefused: () => void): Model {
  const plain = openAiModel(options);
  const body = { ...options.body, reasoning: { summary: "auto", ...Object(options.body?.["reasoning"]) } };
  const thinking = openAiModel({ ...options, body });
  return async function* ask(request): AsyncGenerator<Event, void, undefined> {
    if (!summaries.wanted) return yield* plain(request);
    try {
      return yield* thinking(request);
    } catch (error) {
      const refused = error instanceof HeddleError && error.code === "model-request-refused";
      if (!refused || !/reasoning|summar/i.test(error.message)) throw error;
    }
    summaries.wanted = false;
    onRefused();
    yield* plain(request);
  };
}

/** A setting that says something. */
function setting(env: NonNullable<OpenAiAgentOptions["env"]>, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}

/** Browsers have no process. */
const environment = (): NonNullable<OpenAiAgentOptions["env"]> => globalThis.process?.env ?? {};

function missing(name: string, expected: string): HeddleError {
  const message = `${name} is not set: expected ${expected}. Set it in the environment, or give it to openAiAgent.`;
  return new HeddleError("config-invalid", message, { setting: name, expected, received: "nothing" });
}

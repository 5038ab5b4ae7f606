/**
 * A graph of LangGraph.js as an agent of ours.
 *
 * The thread is the graph's thread: with a checkpointer it keeps its own state, and questions survive between runs. The
 * frontend's tools, the context and the forwarded properties stand in `config.configurable.agui`, for nodes that want
 * them. Stopping the run aborts the graph's signal.
 */
import type { AgentCapabilities, Context, Event, RunAgentInput, Tool } from "../../../protocol/index.ts";
import { defineAgent } from "../../index.ts";
import type { Agent } from "../../index.ts";
import { isRecord } from "../provider/fields.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { fromLangGraph } from "./from-langgraph.ts";
import { graphInput } from "./graph-input.ts";
import type { GraphValues } from "./graph-input.ts";
import type { StreamMode } from "./read-chunk.ts";
import { listOf, readMessage } from "./read-message.ts";

/** What a graph is asked for: whatever `compile()` returns has it. */
export interface GraphLike {
  /** Streams a run. */
  stream(input: unknown, options?: Readonly<Record<string, unknown>>): Promise<AsyncIterable<unknown>>;
  /** Tells what the graph holds for a thread. */
  getState?(config: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Where the graph keeps its state; without one it begins anew in each run. */
  readonly checkpointer?: unknown;
}

/** What nodes find in `config.configurable.agui`. */
export interface AgUiConfigurable {
  /** The frontend's tools. */
  readonly tools: readonly Tool[];
  /** What the application says about its surroundings. */
  readonly context: readonly Context[];
  /** Anything else that the client sent. */
  readonly forwardedProps?: unknown;
}

/** What `langGraphAgent` is given. */
export interface LangGraphAgentOptions {
  /** Name of the agent. */
  readonly name: string;
  /** What it is for. */
  readonly description?: string;
  /** What it says that it can do. */
  readonly capabilities?: AgentCapabilities;
  /** The compiled graph. */
  readonly graph: GraphLike;
  /** More of the graph's configuration: `recursionLimit`, `context`, `configurable`, callbacks; or a function of the input. */
  readonly config?: Readonly<Record<string, unknown>> | ((input: RunAgentInput) => Readonly<Record<string, unknown>>);
  /** The key of the state that holds the messages. Default `messages`. */
  readonly messagesKey?: string;
  /** What to stream. Default: messages, updates, values, custom, tools and tasks. */
  readonly streamMode?: readonly StreamMode[];
  /** What `interrupt()` returns where a question was given up. Default `{ status: "cancelled" }`. */
  readonly cancelledAnswer?: unknown;
  /** Told what has no place in AG-UI or in the graph. Default: the run's log. */
  readonly onWarning?: OnWarning;
}

const DEFAULT_MODES: readonly StreamMode[] = ["messages", "updates", "values", "custom", "tools", "tasks"];

/** An agent of ours that a graph answers for. */
export function langGraphAgent(options: LangGraphAgentOptions): Agent {
  const { name, description, capabilities, onWarning } = options;
  return defineAgent({
    name,
    ...(description === undefined ? {} : { description }),
    ...(capabilities === undefined ? {} : { capabilities }),
    run: ({ input, signal, log }) => runGraph(options, input, signal, onWarning ?? ((message) => log.warn(message))),
  });
}

async function* runGraph(
  options: LangGraphAgentOptions,
  input: RunAgentInput,
  signal: AbortSignal,
  onWarning: OnWarning,
): AsyncGenerator<Event, void, undefined> {
  const { graph, messagesKey = "messages", streamMode = DEFAULT_MODES } = options;
  const { cancelledAnswer = { status: "cancelled" } } = options;
  const config = configFor(options, input);
  try {
    const held = await heldBy(graph, config);
    const given = await graphInput(input, held, { messagesKey, cancelledAnswer, onWarning });
    const stream = graph.stream(given, { ...config, streamMode: [...streamMode], subgraphs: true, signal });
    const heldIds = listOf(held?.[messagesKey]).flatMap((message) => readMessage(message)?.id ?? []);
    const knownMessageIds = [...input.messages.map(({ id }) => id), ...heldIds];
    const state = input.state ?? {};
    yield* fromLangGraph(stream, { input, messagesKey, knownMessageIds, state, onWarning });
    signal.throwIfAborted();
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

function configFor({ config }: LangGraphAgentOptions, input: RunAgentInput): Readonly<Record<string, unknown>> {
  const given = typeof config === "function" ? config(input) : (config ?? {});
  const { threadId, tools = [], context = [], forwardedProps } = input;
  const agui: AgUiConfigurable = { tools, context, ...(forwardedProps === undefined ? {} : { forwardedProps }) };
  const configurable = isRecord(given["configurable"]) ? given["configurable"] : {};
  return { ...given, configurable: { thread_id: threadId, agui, ...configurable } };
}

async function heldBy(graph: GraphLike, config: Readonly<Record<string, unknown>>): Promise<GraphValues | undefined> {
  if (graph.getState === undefined || !graph.checkpointer) return undefined;
  const snapshot = await graph.getState(config);
  const values = isRecord(snapshot) ? snapshot["values"] : undefined;
  return isRecord(values) ? values : undefined;
}

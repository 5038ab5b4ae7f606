/**
 * The stream of a graph as events, for an agent to yield.
 *
 * Any modes will do, alone or together, with or without subgraphs. Nothing is read ahead. Questions of the graph end the
 * stream with the interrupt outcome. The frame of the run is left to whoever runs the agent.
 */
import type { Event, RunAgentInput } from "../../../protocol/index.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { GraphMapper } from "./graph-mapper.ts";
import { langGraphError } from "./langgraph-error.ts";
import { readChunk } from "./read-chunk.ts";
import type { StreamMode } from "./read-chunk.ts";

/** Options of `fromLangGraph`. */
export interface FromLangGraphOptions {
  /** The run that the events are for: its ids stand on the terminal event, which only runs that ask have. */
  readonly input?: Pick<RunAgentInput, "threadId" | "runId">;
  /** The mode of a stream that was asked for a single one, and so does not name it. Default `updates`, as LangGraph's. */
  readonly streamMode?: StreamMode;
  /** The key of the state that holds the messages. Default `messages`. */
  readonly messagesKey?: string;
  /** Ids of messages that are not news: the conversation so far. */
  readonly knownMessageIds?: Iterable<string>;
  /** The state that viewers hold already; without it the first one is sent whole. */
  readonly state?: unknown;
  /** Told what has no place in AG-UI, by name, each thing once. */
  readonly onWarning?: OnWarning;
}

const ignore = (): void => {};

/** The events of `graph.stream(…)`. Throws what the graph throws, as an error of ours where its meaning is known. */
export async function* fromLangGraph(
  stream: AsyncIterable<unknown> | PromiseLike<AsyncIterable<unknown>>,
  options: FromLangGraphOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const { input = { threadId: "", runId: "" }, streamMode = "updates", messagesKey = "messages" } = options;
  const { knownMessageIds = [], state, onWarning = ignore } = options;
  const { threadId, runId } = input;
  const mapper = new GraphMapper({ messagesKey, knownMessageIds, state, onWarning });
  try {
    for await (const chunk of await stream) {
      for (const event of mapper.push(readChunk(chunk, streamMode))) yield event;
    }
  } catch (error) {
    throw langGraphError(error);
  }
  yield* mapper.end();
  const { interrupts } = mapper;
  if (interrupts.length > 0)
    yield { type: "RUN_FINISHED", threadId, runId, outcome: { type: "interrupt", interrupts } };
}

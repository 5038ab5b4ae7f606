/** Runs a streaming agent on AG-UI's input: the conversation in its form, and its answer as the events of one run. */
import type { Event, RunAgentInput } from "../../../protocol/index.ts";
import { fromAgUiMessages } from "./from-ag-ui-messages.ts";
import type { StreamingAgent } from "./streaming-agent.ts";
import { toAgUiEventStream } from "./to-ag-ui-event-stream.ts";
import type { EventStreamOptions } from "./to-ag-ui-event-stream.ts";

/** How a streaming agent is run. */
export interface RunStreamingOptions extends Omit<EventStreamOptions, "threadId" | "runId"> {
  /** Settings for the model, such as `modelId`, `temperature` and `maxTokens`. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** Runs a streaming agent: the events of one whole run, as it answers. */
export async function* runStreamingAgent(
  agent: StreamingAgent,
  input: RunAgentInput,
  options: RunStreamingOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const { threadId, runId, messages, tools } = input;
  const { signal, settings } = options;
  // Called only when the run has begun, so that a call that throws fails the run.
  async function* answer() {
    yield* agent.generateReplyStreaming(fromAgUiMessages(messages), {
      ...(tools === undefined ? {} : { tools }),
      ...(settings === undefined ? {} : { settings }),
      ...(signal === undefined ? {} : { signal }),
    });
  }
  yield* toAgUiEventStream(answer(), { ...options, threadId, runId });
}

/**
 * A stream of the AI SDK as events, for an agent to yield.
 *
 * `streamText` results, the results of agents and their full streams all do. Nothing is read ahead. What the SDK reports
 * as an error is thrown with a `model-*` code; approvals that wait for somebody end the stream with the interrupt
 * outcome, a stop with `cancelled`. The frame of the run is left to whoever runs the agent.
 */
import type { TextStreamPart, ToolSet } from "ai";
import type { Event, RunAgentInput, RunFinishedOutcome } from "../../../protocol/index.ts";
import { modelError } from "../provider/model-error.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { aiSdkError } from "./ai-sdk-error.ts";
import { ISSUER } from "./issuer.ts";
import { PartMapper } from "./part-mapper.ts";

/** Whatever streams the SDK's parts: a result, or its `stream` or `fullStream`. */
export type AiSdkSource<TOOLS extends ToolSet = ToolSet> =
  | AsyncIterable<TextStreamPart<TOOLS>>
  | { readonly stream: AsyncIterable<TextStreamPart<TOOLS>> }
  | { readonly fullStream: AsyncIterable<TextStreamPart<TOOLS>> };

/** Options of `fromAiSdk`. */
export interface FromAiSdkOptions {
  /** The run that the events are for: its ids stand on the terminal event, which only runs that ask or stop have. */
  readonly input?: Pick<RunAgentInput, "threadId" | "runId" | "resume">;
  /** Told what has no place in AG-UI, by name, and what the provider warns of. */
  readonly onWarning?: OnWarning;
}

const ignore = (): void => {};

/** The events of a stream of the AI SDK. Throws a `HeddleError` with a `model-*` code where the SDK fails. */
export async function* fromAiSdk<TOOLS extends ToolSet>(
  source: AiSdkSource<TOOLS>,
  { input = { threadId: "", runId: "" }, onWarning = ignore }: FromAiSdkOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const { threadId, runId, resume = [] } = input;
  const mapper = new PartMapper(resume, onWarning);
  let outcome: RunFinishedOutcome | undefined;
  try {
    for await (const part of partsOf(source)) {
      if (part.type === "error") throw aiSdkError(part.error);
      if (part.type === "finish-step") checkFinish(part, mapper, onWarning);
      if (part.type === "abort") outcome = { type: "cancelled" };
      for (const event of mapper.push(part)) yield event;
    }
  } catch (error) {
    throw aiSdkError(error);
  }
  yield* mapper.end();
  if (outcome === undefined && mapper.interrupts.length > 0) {
    outcome = { type: "interrupt", interrupts: mapper.interrupts };
  }
  if (outcome !== undefined) yield { type: "RUN_FINISHED", threadId, runId, outcome };
}

function partsOf<TOOLS extends ToolSet>(source: AiSdkSource<TOOLS>): AsyncIterable<TextStreamPart<ToolSet>> {
  if ("stream" in source) return source.stream;
  return "fullStream" in source ? source.fullStream : source;
}

/** A step that did not come to its end is no success, whatever the stream looks like. */
function checkFinish(
  part: Extract<TextStreamPart<ToolSet>, { readonly type: "finish-step" }>,
  { isOpen }: PartMapper,
  warn: OnWarning,
): void {
  const { finishReason, rawFinishReason } = part;
  const context = { provider: ISSUER };
  switch (finishReason) {
    case "stop":
    case "tool-calls":
      return;
    case "length":
      return warn("The answer stops in the middle: the model reached its token limit.");
    case "content-filter":
      throw modelError(context, { type: "refusal", reason: "its content filter stopped the answer" });
    case "error":
      throw modelError(context, { reason: `it stopped with ${rawFinishReason ?? "an error"}` });
    case "interrupted":
      throw modelError(context, { reason: "the stream ended before the answer did" }, "model-unreachable");
    case "other":
      if (!isOpen && rawFinishReason !== undefined) return;
      throw modelError(context, { reason: "the stream ended before the answer did" }, "model-unreachable");
  }
}

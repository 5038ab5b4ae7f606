/**
 * Middleware that executes the calls of functions it knows, and asks the agent again with the results, until it answers
 * without a call.
 *
 * Everything the agent says passes at once; the calls and their results follow as one aggregate. A call that fails is
 * answered with its error. Calls of functions that are not known here are left for somebody else: the answer ends.
 */
import { HeddleError } from "../../../protocol/index.ts";
import type { Tool } from "../../../protocol/index.ts";
import { flatten, originOf } from "./stream-message.ts";
import type {
  FunctionCall,
  FunctionCallResult,
  MessageOrigin,
  StreamMessage,
  ToolsCallAggregateMessage,
} from "./stream-message.ts";
import type { GenerateOptions, Middleware } from "./streaming-agent.ts";
import { UpdateJoiner, callsIn } from "./update-joiner.ts";

/** A function that a model may call. */
export interface FunctionTool extends Tool {
  /** Does the work. What it returns is the result: text as it is, anything else as JSON. */
  execute(args: unknown, context: FunctionContext): unknown;
}

/** What a function is told about its call. */
export interface FunctionContext {
  /** Id of the call. */
  readonly callId: string;
  /** Aborts when the result is no longer wanted. */
  readonly signal?: AbortSignal;
}

/** Options of `functionCalls`. */
export interface FunctionCallsOptions {
  /** The functions. */
  readonly tools: readonly FunctionTool[];
  /** How often the agent may be asked for one answer. Default 16. */
  readonly maxTurns?: number;
  /** Told what a function threw; the agent only gets the message. */
  readonly onError?: (error: unknown, call: FunctionCall) => void;
}

/** Middleware: executes calls and asks again. Throws `step-limit` where the agent never stops calling. */
export function functionCalls({ tools, maxTurns = 16, onError }: FunctionCallsOptions): Middleware {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const offered = tools.map(definitionOf);
  return async function* callFunctions(call, agent) {
    let { messages } = call;
    const options: GenerateOptions = { ...call.options, tools: [...(call.options.tools ?? []), ...offered] };
    for (let turn = 1; ; turn++) {
      const joiner = new UpdateJoiner();
      const said: StreamMessage[] = [];
      for await (const message of agent.generateReplyStreaming(messages, options)) {
        said.push(...flatten(message).flatMap((each) => joiner.push(each)));
        yield message;
      }
      said.push(...joiner.end());
      const { calls, origin } = openCalls(said);
      const known = calls.filter(({ functionName }) => byName.has(functionName));
      if (known.length === 0) return;
      if (turn === maxTurns) {
        const message = `The agent called functions in each of ${maxTurns} turns: raise maxTurns, or let it answer.`;
        throw new HeddleError("step-limit", message, { maxTurns });
      }
      const { signal } = options;
      const results = await Promise.all(
        known.map((each) => execute(byName.get(each.functionName), each, signal, onError)),
      );
      const aggregate = aggregateOf(known, results, origin);
      yield aggregate;
      if (known.length < calls.length) return;
      messages = [...messages, ...said.filter(({ type }) => type !== "tools-call" && type !== "usage"), aggregate];
    }
  };
}

const definitionOf = ({ name, description, parameters, metadata }: FunctionTool): Tool => ({
  name,
  description,
  ...(parameters === undefined ? {} : { parameters }),
  ...(metadata === undefined ? {} : { metadata }),
});

/** The calls of a turn that have no result, and where they come from. */
function openCalls(said: readonly StreamMessage[]): {
  readonly calls: readonly FunctionCall[];
  readonly origin: MessageOrigin;
} {
  const answered = new Set(said.flatMap(resultsIn).map(({ callId }) => callId));
  const calls = new Map(said.flatMap((message) => callsIn(message).map((each) => [each.callId, each] as const)));
  const last = said.findLast(({ type }) => type === "tools-call");
  return {
    calls: [...calls.values()].filter(({ callId }) => !answered.has(callId)),
    origin: last === undefined ? {} : originOf(last),
  };
}

function resultsIn(message: StreamMessage): readonly FunctionCallResult[] {
  if (message.type === "tools-call-result") return message.toolCallResults;
  return message.type === "tools-call-aggregate" ? message.toolsCallResult.toolCallResults : [];
}

async function execute(
  tool: FunctionTool | undefined,
  call: FunctionCall,
  signal: AbortSignal | undefined,
  onError: FunctionCallsOptions["onError"],
): Promise<FunctionCallResult> {
  const { callId, functionName } = call;
  try {
    const context = { callId, ...(signal === undefined ? {} : { signal }) };
    const returned = await tool?.execute(argumentsOf(call), context);
    return { callId, functionName, result: textOf(returned) };
  } catch (error) {
    // A stop is no failure of the function: it ends the answer.
    signal?.throwIfAborted();
    onError?.(error, call);
    return { callId, functionName, result: error instanceof Error ? error.message : String(error), isError: true };
  }
}

function argumentsOf({ functionName, functionArgs }: FunctionCall): unknown {
  if (functionArgs.trim() === "") return {};
  try {
    return JSON.parse(functionArgs);
  } catch (cause) {
    const message = `The arguments of ${functionName} are not JSON: send one JSON object.`;
    throw new HeddleError("tool-arguments-invalid", message, { functionName }, { cause });
  }
}

const textOf = (returned: unknown): string =>
  typeof returned === "string" ? returned : returned === undefined ? "" : JSON.stringify(returned);

function aggregateOf(
  toolCalls: readonly FunctionCall[],
  toolCallResults: readonly FunctionCallResult[],
  origin: MessageOrigin,
): ToolsCallAggregateMessage {
  return {
    type: "tools-call-aggregate",
    toolsCall: { type: "tools-call", toolCalls, ...origin },
    toolsCallResult: { type: "tools-call-result", toolCallResults, ...origin },
    ...origin,
  };
}

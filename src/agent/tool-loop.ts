/**
 * The loop that most agents are: call the model, run the tools that it asks for, go on until it asks for none.
 *
 * It also ends, as success, where the model calls tools of the frontend: whoever has them answers, and the next run
 * goes on (R-TOOL-11). Calls that an earlier run left open are settled first: that is how an approved call is
 * executed, once, with only its result as an event. Nothing is kept between runs but the messages.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Message, RunAgentInput, Tool, ToolCall } from "../protocol/index.ts";
import { Conversation } from "./conversation.ts";
import type { ServerTool } from "./define-tool.ts";
import { scopeOf } from "./emit.ts";
import type { Emit } from "./emit.ts";
import { Forwarder } from "./forwarder.ts";
import { SILENT } from "./log.ts";
import type { Log } from "./log.ts";
import type { Model } from "./model.ts";
import { OpenItems } from "./open-items.ts";
import type { Scope } from "./scope.ts";
import { failed } from "./subagent.ts";
import { runToolRound } from "./tool-round.ts";
import type { ToolRoom } from "./tool-round.ts";

/** What `toolLoop` is given: what `run` was given, and the model. */
export interface ToolLoopOptions {
  /** Answers. */
  readonly model: Model;
  /** What the client sent. */
  readonly input: RunAgentInput;
  /** How the loop speaks: the agent's emit, or a subagent's. */
  readonly emit: Emit;
  /** Server tools. Default: none. */
  readonly tools?: readonly ServerTool[];
  /** Aborts when the run is to stop. */
  readonly signal: AbortSignal;
  /** For whoever runs the agent. */
  readonly log?: Log;
  /** How often the model may be called. Default 8. */
  readonly maxSteps?: number;
  /** The conversation, where it is not the input's; instructions can be put before it here. */
  readonly messages?: readonly Message[];
}

/** What a loop came to. */
export interface ToolLoopResult {
  /** The conversation, with everything that the loop added. */
  readonly messages: readonly Message[];
  /** Calls that wait for the frontend; none where the model was done. */
  readonly pendingToolCallIds: readonly string[];
}

/** Runs the loop. Rejects with `step-limit` where the model is not done after `maxSteps` calls. */
export async function toolLoop(options: ToolLoopOptions): Promise<ToolLoopResult> {
  const { input, tools = [], signal, log = SILENT, messages = input.messages } = options;
  const scope = scopeFor(options.emit);
  const served = new Map(tools.map((tool) => [tool.name, tool]));
  const others = (input.tools ?? []).filter(({ name }) => !served.has(name));
  const frontend = new Set(others.map(({ name }) => name));
  const conversation = new Conversation(messages, scope.subagentRunId);
  const work = scope.run.interrupts.work();
  try {
    const room: ToolRoom = { scope, tools: served, frontend, work, conversation, signal, log };
    const waiting = await loop(options, room, [...tools.map(asTool), ...others]);
    return { messages: conversation.messages, pendingToolCallIds: waiting.map(({ id }) => id) };
  } finally {
    work.done();
  }
}

/** Goes on until the model is done, or the frontend has to answer; returns the calls that wait for it. */
async function loop(options: ToolLoopOptions, room: ToolRoom, offered: readonly Tool[]): Promise<readonly ToolCall[]> {
  const { maxSteps = 8 } = options;
  const { conversation, scope, log } = room;
  const left = conversation.openCalls().filter(({ id }) => !scope.run.channel.hasAnswered(id));
  const unanswered = await runToolRound(room, left, true);
  if (unanswered.length > 0) {
    log.warn("The frontend has not answered calls of an earlier run.", { toolCallIds: unanswered.map(({ id }) => id) });
    return unanswered;
  }
  for (let step = 1; step <= maxSteps; step++) {
    const calls = await callModel(options, room, offered);
    if (calls.length === 0) return [];
    const waiting = await runToolRound(room, calls, false);
    if (waiting.length > 0) return waiting;
  }
  const message = `The model was called ${maxSteps} times and still asks for tools: raise maxSteps, or ask for less.`;
  throw new HeddleError("step-limit", message, { maxSteps });
}

function scopeFor(emit: Emit): Scope {
  const scope = scopeOf(emit);
  if (scope !== undefined) return scope;
  const expected = "the emit that run was given, or a subagent's";
  const message = `toolLoop was given an emit that is not one of a run: expected ${expected}.`;
  throw new HeddleError("config-invalid", message, { setting: "emit", expected, received: "another" });
}

const asTool = ({ name, description, parameters }: ServerTool): Tool => ({ name, description, parameters });

/** One call of the model: sends what it says, and returns the calls that it made. */
async function callModel(
  options: ToolLoopOptions,
  room: ToolRoom,
  tools: readonly Tool[],
): Promise<readonly ToolCall[]> {
  const { scope, conversation, signal } = room;
  const { channel } = scope.run;
  const { context = [] } = options.input;
  const source = new Forwarder(scope);
  const open = new OpenItems();
  const made = new Set<string>();
  signal.throwIfAborted();
  for await (const event of options.model({ messages: conversation.forModel(), tools, context, signal })) {
    for (const sent of source.take(event)) {
      open.note(sent);
      conversation.take(sent);
      if (sent.type === "TOOL_CALL_START") made.add(sent.toolCallId);
    }
    if (source.end?.type === "RUN_ERROR") throw new HeddleError("model-failed", source.end.message, {});
    await channel.room();
  }
  signal.throwIfAborted();
  const cut = { message: "The model ended before its subagent did." };
  for (const end of open.closing((id) => failed(id, cut)))
    for (const sent of channel.forward(end)) conversation.take(sent);
  return conversation.openCalls().filter(({ id }) => made.has(id));
}

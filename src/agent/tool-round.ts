/**
 * One round of tool calls: everything that one answer of a model asked for, or that an earlier run left open.
 *
 * Server tools run side by side, and their results go out in the order of the calls. A call that needs approval runs
 * only with an answer; calls without one are asked about together, after all others have their results. Frontend calls
 * are never answered here (R-TOOL-10).
 */
import { METADATA_KEY } from "../protocol/index.ts";
import type { ToolCall } from "../protocol/index.ts";
import type { PreparedCall, ServerTool } from "./define-tool.ts";
import { EDITED_ARGS } from "./conversation.ts";
import type { Conversation } from "./conversation.ts";
import { createEmit } from "./emit.ts";
import { NEVER } from "./interrupts.ts";
import type { ToolWork } from "./interrupts.ts";
import type { Log } from "./log.ts";
import { failureOf, prepareTool, runTool } from "./run-tool.ts";
import type { Scope } from "./scope.ts";
import { approvalRequest, readApproval } from "./tool-approval.ts";
import { failedOutcome } from "./tool-result.ts";
import type { ToolOutcome } from "./tool-result.ts";
import { toolResultOf } from "./tool-call-writer.ts";

/** What rounds work with. */
export interface ToolRoom {
  /** Whose calls these are. */
  readonly scope: Scope;
  /** Server tools by name. */
  readonly tools: ReadonlyMap<string, ServerTool>;
  /** Names of frontend tools. */
  readonly frontend: ReadonlySet<string>;
  /** Holds the end of the run back while the loop is at work. */
  readonly work: ToolWork;
  /** Gets the results. */
  readonly conversation: Conversation;
  /** Aborts when the run is to stop. */
  readonly signal: AbortSignal;
  /** For whoever runs the agent. */
  readonly log: Log;
}

/** What became of a call: a result, or a reason why there is none in this run. */
type Settled = ToolOutcome | "frontend" | "asked" | { readonly asksFor: ServerTool };

/** Answers calls. Returns the frontend calls among them; never returns where a person has to answer first. */
export async function runToolRound(
  room: ToolRoom,
  calls: readonly ToolCall[],
  isHistory: boolean,
): Promise<readonly ToolCall[]> {
  const { interrupts, channel } = room.scope.run;
  const pending = calls.map((call) => settle(room, call, isHistory));
  for (const each of pending) each.catch(() => {});
  const frontend: ToolCall[] = [];
  const approvals: [ServerTool, ToolCall][] = [];
  let isAsked = false;
  for (const [index, call] of calls.entries()) {
    const settled = await pending[index];
    if (settled === undefined || settled === "asked") isAsked = true;
    else if (settled === "frontend") frontend.push(call);
    else if ("asksFor" in settled) approvals.push([settled.asksFor, call]);
    else {
      const result = toolResultOf(room.scope, call.id, settled.content, settled);
      for (const event of channel.forward(result)) room.conversation.take(event);
      await channel.room();
    }
  }
  if (!isAsked && approvals.length === 0) return frontend;
  for (const [tool, call] of approvals) void interrupts.ask(room.scope, approvalRequest(tool, call));
  room.work.wait();
  return NEVER;
}

async function settle(room: ToolRoom, call: ToolCall, isHistory: boolean): Promise<Settled> {
  const { tools, frontend, scope } = room;
  const { name } = call.function;
  const tool = tools.get(name);
  if (tool === undefined) {
    if (frontend.has(name)) return "frontend";
    return failedOutcome("tool-unknown", `There is no tool ${name}. Call one of those that you were given.`);
  }
  const work = scope.run.interrupts.work();
  try {
    return await Promise.race([answer(room, tool, call, isHistory, work), work.asked.then(() => "asked" as const)]);
  } catch (error) {
    return failureOf(call, error, room);
  } finally {
    work.done();
  }
}

async function answer(
  room: ToolRoom,
  tool: ServerTool,
  call: ToolCall,
  isHistory: boolean,
  work: ToolWork,
): Promise<Settled> {
  const { scope, signal, log } = room;
  const { interrupts } = scope.run;
  const context = () => {
    const emit = createEmit(scope.toolCall(call.id, work));
    return { toolCallId: call.id, emit, signal, log };
  };
  const prepared = await prepareTool(tool, call.function.arguments);
  if (!prepared.needsApproval) {
    // What an earlier run began and did not finish is not begun again, unless it waits for an answer that is here.
    if (isHistory && !interrupts.hasAnswerFor(call.id)) return unfinished(tool);
    return runTool(tool, prepared, context());
  }
  if (!interrupts.hasAnswer(call.id)) return { asksFor: tool };
  const approval = readApproval(await interrupts.ask(scope, approvalRequest(tool, call)));
  if (!approval.runs) return approval.outcome;
  if (approval.editedArgs === undefined) return runTool(tool, prepared, context());
  const edited: PreparedCall = await tool.prepare(approval.editedArgs);
  const outcome = await runTool(tool, edited, context());
  return { ...outcome, metadata: { [METADATA_KEY]: { [EDITED_ARGS]: approval.editedArgs } } };
}

const unfinished = ({ name }: ServerTool): ToolOutcome =>
  failedOutcome(
    "tool-failed",
    `The run that called ${name} ended before it returned; whether it took effect is unknown.`,
  );

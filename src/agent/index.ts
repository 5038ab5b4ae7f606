/**
 * `heddle/agent`: who speaks. Define an agent and its tools, and run it with or without a server. Every line here is
 * public.
 */
export { defineAgent, isAgent } from "./define-agent.ts";
export type { Agent, AgentDefinition, RunContext } from "./define-agent.ts";
export { defineTool } from "./define-tool.ts";
export type { PreparedCall, ServerTool, ToolContext, ToolDefinition } from "./define-tool.ts";
export { isAnswerRecord } from "./answer-record.ts";
export type { ActivityContent, ActivityOptions, ActivityWriter } from "./activity-writer.ts";
export type { Recipe } from "./document-change.ts";
export type { Emit, StepWriter } from "./emit.ts";
export type { InterruptAnswer, InterruptRequest } from "./interrupts.ts";
export type { Log, LogFields } from "./log.ts";
export { modelUsage } from "./model.ts";
export type { Model, ModelRequest } from "./model.ts";
export type { ReasoningOptions, ReasoningWriter } from "./reasoning-writer.ts";
export { runAgent } from "./run-agent.ts";
export type { RunOptions } from "./run-agent.ts";
export { checkSchema } from "./schema.ts";
export type { JsonSchema, Schema, StandardIssue, StandardResult, StandardSchema } from "./schema.ts";
export type { StateWriter } from "./state-writer.ts";
export type { Subagent, SubagentOptions } from "./subagent.ts";
export type { TextOptions, TextWriter } from "./text-writer.ts";
export type { ToolCallOptions, ToolCallWriter, ToolResultOptions } from "./tool-call-writer.ts";
export type { TraceHeaders } from "./trace-headers.ts";
export { toolLoop } from "./tool-loop.ts";
export type { ToolLoopOptions, ToolLoopResult } from "./tool-loop.ts";
export type { Approval } from "./tool-approval.ts";

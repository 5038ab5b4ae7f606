/**
 * `heddle/agent`: who speaks. Define an agent, and run it with or without a server.
 * So far an agent writes text; tools, state, reasoning and nested runs follow.
 */
export { defineAgent, isAgent } from "./define-agent.ts";
export type { Agent, AgentDefinition, RunContext } from "./define-agent.ts";
export type { Emit, TextWriter } from "./emit.ts";
export { runAgent } from "./run-agent.ts";
export type { RunOptions } from "./run-agent.ts";

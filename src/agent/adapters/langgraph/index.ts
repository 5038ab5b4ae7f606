/**
 * `heddle/adapters/langgraph`: streams and graphs of LangGraph.js (version 1) as events and agents of ours.
 * The packages are loaded only when an agent runs. Every line here is public.
 */
export { fromLangGraph } from "./from-langgraph.ts";
export type { FromLangGraphOptions } from "./from-langgraph.ts";
export { langGraphAgent } from "./langgraph-agent.ts";
export type { AgUiConfigurable, GraphLike, LangGraphAgentOptions } from "./langgraph-agent.ts";
export type { StreamMode } from "./read-chunk.ts";
export { toLangChainMessages } from "./to-langchain-messages.ts";
export type { ToLangChainMessagesOptions } from "./to-langchain-messages.ts";

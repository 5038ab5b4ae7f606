/**
 * `heddle/adapters/ag-ui`: any agent that answers AG-UI over HTTP, in whatever language, as an agent of ours.
 * Every line here is public.
 */
export type { AgentElsewhereOptions } from "./agent-elsewhere.ts";
export { remoteAgent } from "./remote-agent.ts";
export type { RemoteAgentOptions } from "./remote-agent.ts";
export type { RequestHeaders } from "./request-settings.ts";

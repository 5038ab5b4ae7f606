/**
 * `heddle/adapters/session`: a server that speaks the session dialect over a WebSocket, as an agent of ours.
 * Every line here is public.
 */
export { sessionAgent } from "./session-agent.ts";
export type { SessionAgentOptions } from "./session-agent.ts";

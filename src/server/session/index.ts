/**
 * `heddle/server/session`: conversations in the session dialect, without a transport. `heddle/server/fastify` puts them on
 * WebSockets. Every line here is public.
 */
export { createSessions } from "./create-sessions.ts";
export type { SessionHost, SessionVisitor, Sessions } from "./create-sessions.ts";
export type { SessionEntrance } from "./acting-sessions.ts";
export type { CreateSessionOptions, Session, SessionActs, SessionEntry } from "./session-acts.ts";
export type { SessionDesk } from "./session-desk.ts";
export {
  AGENT_ERROR_POLICIES,
  CONCURRENCY,
  SESSION_DEFAULTS,
  SESSION_PATH,
  assertSessionOptions,
} from "./session-options.ts";
export type { SessionEndpoint, SessionOptions, SessionRules, SessionSettings } from "./session-options.ts";
export type { SessionLogger } from "./session-registry.ts";

/**
 * `heddle/server/fetch`: Heddle as a function from Request to Response, for Hono, Next.js, Bun, Deno and whatever else
 * speaks so. Every line here is public.
 */
export { heddleHandler } from "./heddle-handler.ts";
export type { HeddleHandler, HeddleHandlerOptions } from "./heddle-handler.ts";
export { forwardedHeaders } from "../http/index.ts";
export type { DoorRules, ForwardedHeaders, Mounts, OriginRules } from "../http/index.ts";
export type {
  AuthFunction,
  AuthOptions,
  AuthRequest,
  JwtOptions,
  KeyOptions,
  Rate,
  RateLimitOptions,
} from "../auth/index.ts";

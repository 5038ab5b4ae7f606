/**
 * `heddle/server/fastify`: Heddle on HTTP. `serve` for a server of its own, `heddlePlugin` for an application that
 * has a Fastify already.
 */
export { heddlePlugin } from "./heddle-plugin.ts";
export type { HeddlePluginOptions } from "./heddle-plugin.ts";
export type { Pages } from "./add-pages.ts";
export { readPageFiles } from "./page-files.ts";
export type { PageFiles } from "./page-files.ts";
export { DEFAULT_HOST, DEFAULT_PORT, LOG_LEVELS, isLoopback, serve } from "./serve.ts";
export type { LogLevel, ServeOptions, Served } from "./serve.ts";
export { RATE_ALGORITHMS, assertAuthOptions, kindOf, readRate } from "../auth/index.ts";
export type {
  AuthFunction,
  AuthOptions,
  AuthRequest,
  ClaimNames,
  JwtOptions,
  KeyOptions,
  PlaceOf,
  Rate,
  RateAlgorithm,
  RateLimitOptions,
  TokenOptions,
} from "../auth/index.ts";
export { assertSessionOptions } from "../session/index.ts";
export type { SessionEndpoint, SessionOptions, SessionRules } from "../session/index.ts";
export { forwardedHeaders } from "../http/index.ts";
export type { ForwardedHeaders, Mounts, OriginRules } from "../http/index.ts";

/**
 * `heddle/server/fastify`: Heddle on HTTP. `serve` for a server of its own, `heddlePlugin` for an application that
 * has a Fastify already.
 */
export { heddlePlugin } from "./heddle-plugin.ts";
export type { HeddlePluginOptions } from "./heddle-plugin.ts";
export { DEFAULT_HOST, DEFAULT_PORT, LOG_LEVELS, isLoopback, serve } from "./serve.ts";
export type { LogLevel, ServeOptions, Served } from "./serve.ts";
export { forwardedHeaders } from "../http/index.ts";
export type { ForwardedHeaders, Mounts, OriginRules } from "../http/index.ts";

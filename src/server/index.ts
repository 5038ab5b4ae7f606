/**
 * `heddle/server`: who listens, without any transport. Starts runs and lets viewers attach to them.
 * `heddle/server/fastify` puts it on HTTP.
 */
export { DEFAULT_TENANT, createHeddle } from "./create-heddle.ts";
export type { Heddle, HeddleOptions } from "./create-heddle.ts";
export type { AttachOptions, Attachment, LoggedEvent } from "./attach.ts";
export type { Run, RunErrorReporter, StartedRun } from "./runs.ts";
export { SSE } from "./view.ts";
export type { Encoding } from "./view.ts";

/**
 * `heddle/server`: who listens, without any transport. Starts runs and lets viewers attach to them.
 * `heddle/server/fastify` puts it on HTTP.
 */
export { createHeddle } from "./create-heddle.ts";
export type { Heddle, HeddleOptions } from "./create-heddle.ts";
export type { AttachOptions, Attachment } from "./attach.ts";
export type { Run, RunErrorReporter, StartedRun } from "./runs.ts";

/** `heddle/testing`: what proves an implementation. So far the runner of AG-UI's conformance fixtures. */
export { judgeFixture } from "./conformance.ts";
export type { ConformanceOptions, Fixture } from "./conformance.ts";
export { readStream } from "./read-stream.ts";
export type { ReadStreamOptions, StreamReading } from "./read-stream.ts";

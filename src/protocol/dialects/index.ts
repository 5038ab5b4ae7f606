/**
 * `heddle/protocol/dialects`: older and seed forms of AG-UI, in and out. Apart from `heddle/protocol`, since a page that
 * talks to a Heddle server needs none of it. Every line here is public.
 */
export { createNormaliseMemory, normaliseEvent } from "./normalise-event.ts";
export type { NormaliseMemory, NormaliseOptions, Normalised } from "./normalise-event.ts";
export { normaliseRunInput } from "./normalise-run-input.ts";
export { UNDECLARED_PEER } from "./peer.ts";
export type { Peer } from "./peer.ts";
export { projectEvent } from "./project-event.ts";
export type { ProjectOptions } from "./project-event.ts";
export { projectRunInput } from "./project-run-input.ts";

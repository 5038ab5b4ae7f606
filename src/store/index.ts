/**
 * `heddle/store`: what is kept. So far one log per thread, in memory.
 *
 * It forgets everything when the process exits and never lets go of anything before. The durable contract (claim,
 * append with a fence, read, tail, snapshot, lineage and so on) replaces it; what stays is how it is used: append
 * before showing, read a page after a cursor, wait for more.
 */
export { memoryStore } from "./memory-store.ts";
export type { LoggedEvent, ReadOptions, Store } from "./memory-store.ts";

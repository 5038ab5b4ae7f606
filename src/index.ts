/** `heddle`: protocol, dialects and stream in one import. */
export * from "./protocol/index.ts";
export * from "./protocol/dialects/index.ts";
export * from "./stream/index.ts";
export * from "./stream/lineage/index.ts";
export * from "./stream/repair/index.ts";

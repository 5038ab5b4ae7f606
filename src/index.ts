/** `heddle`: protocol and stream in one import. */
export * from "./protocol/index.ts";

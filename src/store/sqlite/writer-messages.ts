/** What the store and its writer thread say to each other. */
import type { ErrorCode } from "../../protocol/index.ts";
import type { Writing } from "./sqlite-writer.ts";

/** A request. */
export interface ToThread {
  /** Tells answers apart. */
  readonly id: number;
  /** What to do. */
  readonly method: "open" | "close" | keyof Writing;
  /** With what. */
  readonly args: readonly unknown[];
}

/** An answer. */
export interface FromThread {
  /** The request that it answers. */
  readonly id: number;
  /** What was done. */
  readonly value?: unknown;
  /** Why it was not. */
  readonly failure?: { readonly code: ErrorCode; readonly message: string; readonly details: unknown };
}

/**
 * What one chunk of a graph's stream is: which mode it belongs to, and which subgraph it comes from.
 *
 * The form depends on how the stream was asked for: several modes put the mode's name before the payload, subgraphs put
 * their namespace before that. Only a stream of a single mode does not say what it is, and has to be told.
 */
import { isRecord } from "../provider/fields.ts";

/** Modes of `graph.stream`. */
export const STREAM_MODES = [
  "messages",
  "updates",
  "values",
  "custom",
  "tools",
  "tasks",
  "checkpoints",
  "debug",
] as const;

/** One mode of `graph.stream`. */
export type StreamMode = (typeof STREAM_MODES)[number];

/** A chunk, told apart. */
export interface GraphChunk {
  /** Which subgraph it comes from: `node:task` for each level; empty for the graph itself. */
  readonly namespace: readonly string[];
  /** What the payload is; a name that nobody knows is possible. */
  readonly mode: string;
  /** The payload. */
  readonly payload: unknown;
}

const isMode = (value: unknown): value is StreamMode => STREAM_MODES.some((mode) => mode === value);

const isNamespace = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((level) => typeof level === "string");

/** Reads a chunk; `single` is the mode of a stream that does not name it. */
export function readChunk(chunk: unknown, single: StreamMode): GraphChunk {
  if (Array.isArray(chunk)) {
    const [first, second, third]: unknown[] = chunk;
    if (chunk.length === 3 && isNamespace(first) && typeof second === "string") {
      return { namespace: first, mode: second, payload: third };
    }
    if (chunk.length === 2 && isMode(first)) return { namespace: [], mode: first, payload: second };
    if (chunk.length === 2 && isNamespace(first) && (isRecord(second) || Array.isArray(second))) {
      return { namespace: first, mode: single, payload: second };
    }
  }
  return { namespace: [], mode: single, payload: chunk };
}

/**
 * The bytes of an answer, one chunk for each that is asked for: whoever does not take them makes the agent wait.
 *
 * Only waiting for the agent counts as silence; the time in which nobody asks does not. Once the run has ended, neither
 * silence nor a broken connection is a failure any more, and whatever else comes is listened to for a while only.
 */
import { cutStream } from "./failures.ts";
import type { Remote } from "./failures.ts";

/** How bytes are read. */
export interface ByteOptions {
  /** Whose answer it is. */
  readonly remote: Remote;
  /** Aborts when the run is to stop; its reason is the error to throw. */
  readonly signal: AbortSignal;
  /** Longest silence, heartbeats counting as sound. */
  readonly idleTimeoutMs: number;
  /** How long a stream may stay open behind its terminal event. */
  readonly closeTimeoutMs: number;
}

/** What the reader of the events tells the reader of the bytes. */
export interface Progress {
  /** Whether a terminal event has come, and no run has been started after it. */
  ended: boolean;
}

/** Reads a body chunk by chunk. Throws `agent-stream-cut` or the signal's reason. */
export async function* readBytes(
  body: ReadableStream<Uint8Array>,
  options: ByteOptions,
  progress: Readonly<Progress>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { remote, signal, idleTimeoutMs, closeTimeoutMs } = options;
  const reader = body.getReader();
  /** When to stop listening, once the run has ended. */
  let closesAtMs: number | undefined;
  try {
    for (;;) {
      closesAtMs = progress.ended ? (closesAtMs ?? performance.now() + closeTimeoutMs) : undefined;
      const leftMs = closesAtMs === undefined ? idleTimeoutMs : closesAtMs - performance.now();
      // Who never pauses would never be late.
      if (leftMs <= 0) return;
      const read = await readWithin(reader, signal, leftMs);
      if ("chunk" in read) yield read.chunk;
      else if (read.end === "closed" || progress.ended) return;
      else throw cutStream(remote, read.end, read.cause);
    }
  } finally {
    // A body that broke rejects this with the error that was thrown already.
    reader.cancel().catch(() => {});
  }
}

type Read = { readonly chunk: Uint8Array } | { readonly end: "closed" | "idle" | "broken"; readonly cause?: unknown };

async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<Read> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Read>();
  const timer = setTimeout(resolve, timeoutMs, { end: "idle" });
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  reader.read().then(
    ({ done, value }) => resolve(done ? { end: "closed" } : { chunk: value }),
    (cause: unknown) => resolve({ end: "broken", cause }),
  );
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Streams of frames as bodies of responses: nothing is made before it is asked for, and a reader that leaves ends its
 * stream.
 *
 * One timer beats for all, and runs only while there are any: it keeps idle streams open, and cuts those whose readers
 * have left something lying for too long. Readers answer a cut by attaching again where they were.
 */
import type { StreamAnswer } from "../http/index.ts";

/** How bodies are kept. */
export interface BodiesOptions {
  /** How often an idle stream gets a heartbeat. */
  readonly keepAliveMs: number;
  /** How long a reader may leave what was made for it; seen at the next beat. */
  readonly stallMs: number;
  /** Whether the server closes, so that whoever it lets go is asked to come back. */
  readonly isClosing: () => boolean;
  /** Told of a stream that failed. */
  readonly onFault: (error: unknown) => void;
}

/** One body. */
interface Body {
  readonly answer: StreamAnswer;
  /** Aborts when its reader is gone. */
  readonly gone: AbortController;
  readonly controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  /** Since when nobody has asked for more; undefined while somebody waits. */
  restingSinceMs: number | undefined;
}

/** Open bodies. */
export class Bodies {
  readonly #open = new Set<Body>();
  readonly #options: BodiesOptions;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: BodiesOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** The body of a stream. */
  open(answer: StreamAnswer, gone: AbortController): ReadableStream<Uint8Array<ArrayBuffer>> {
    let body: Body;
    return new ReadableStream(
      {
        start: (controller) => {
          body = { answer, gone, controller, restingSinceMs: performance.now() };
          this.#add(body);
        },
        pull: () => this.#pull(body),
        cancel: () => this.#leave(body),
      },
      { highWaterMark: 0 },
    );
  }

  #add(body: Body): void {
    this.#open.add(body);
    this.#timer ??= setInterval(() => this.#beat(), this.#options.keepAliveMs);
    // Only Node and Bun end while a timer runs, and only theirs has to be told.
    if (typeof this.#timer === "object") this.#timer.unref();
  }

  async #pull(body: Body): Promise<void> {
    body.restingSinceMs = undefined;
    try {
      const { done, value } = await body.answer.frames.next();
      if (!this.#open.has(body)) return;
      body.restingSinceMs = performance.now();
      // What is shared with other readers is not to be taken away from them.
      if (done !== true) return body.controller.enqueue(new Uint8Array(value));
      const { farewell } = body.answer;
      if (farewell !== undefined && this.#options.isClosing()) body.controller.enqueue(new Uint8Array(farewell));
      body.controller.close();
      this.#remove(body);
    } catch (error) {
      this.#options.onFault(error);
      this.#cut(body, error);
    }
  }

  /** The reader is gone. */
  async #leave(body: Body): Promise<void> {
    this.#remove(body);
    body.gone.abort();
    await body.answer.frames.return?.();
  }

  #cut(body: Body, reason: unknown): void {
    if (!this.#open.has(body)) return;
    body.controller.error(reason);
    this.#leave(body).catch(this.#options.onFault);
  }

  #remove(body: Body): void {
    this.#open.delete(body);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    const stalledMs = performance.now() - this.#options.stallMs;
    for (const body of this.#open) {
      const { controller, answer, restingSinceMs } = body;
      if (restingSinceMs !== undefined) {
        if (restingSinceMs <= stalledMs) this.#cut(body, new DOMException("The reader stalls.", "TimeoutError"));
      } else if (answer.heartbeat !== undefined && controller.desiredSize === 0) {
        controller.enqueue(new Uint8Array(answer.heartbeat));
      }
    }
  }
}

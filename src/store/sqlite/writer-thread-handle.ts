/** The near side of the writer's thread: calls go over and answers come back. It keeps a process alive only while one is awaited. */
import { Worker } from "node:worker_threads";
import { HeddleError } from "../../protocol/index.ts";
import type { ErrorCode } from "../../protocol/index.ts";
import type { SqliteWriterOptions, Writing } from "./sqlite-writer.ts";
import type { FromThread, ToThread } from "./writer-messages.ts";

/** A writer in another thread. */
export class WriterThread {
  readonly #options: SqliteWriterOptions;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #worker: Worker | undefined;
  #nextId = 1;
  #closing: Promise<void> | undefined;

  constructor(options: SqliteWriterOptions) {
    this.#options = options;
  }

  /** Starts the thread and opens the file. */
  async open(): Promise<void> {
    const source = import.meta.url.endsWith(".ts") ? "./writer-thread.ts" : "./writer-thread.js";
    const worker = new Worker(new URL(source, import.meta.url), { workerData: this.#options, execArgv: [] });
    this.#worker = worker;
    worker.on("message", (message: FromThread) => this.#answered(message));
    worker.on("error", (error) => this.#lost(error));
    worker.on("exit", () => this.#lost(undefined));
    worker.unref();
    try {
      await this.#send("open", []);
    } catch (error) {
      await worker.terminate();
      throw error;
    }
  }

  /** Calls a method of the writer. */
  async call<M extends keyof Writing>(
    method: M,
    ...args: Parameters<Writing[M]>
  ): Promise<Awaited<ReturnType<Writing[M]>>>;
  /** Calls a method of the writer. */
  async call(method: keyof Writing, ...args: readonly unknown[]): Promise<unknown> {
    return this.#send(method, args);
  }

  /** Finishes what is under way, and lets go of the file. Whoever asks meanwhile waits along. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#worker === undefined) return;
    await this.#send("close", []);
    await this.#worker?.terminate();
  }

  #send(method: ToThread["method"], args: readonly unknown[]): Promise<unknown> {
    const worker = this.#worker;
    if (worker === undefined) {
      return Promise.reject(new HeddleError("store-closed", "The store was closed: open a new one.", {}));
    }
    const id = this.#nextId++;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    worker.ref();
    const request: ToThread = { id, method, args };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(request, method === "append" ? buffersOf(args) : []);
    return waiting.promise;
  }

  #answered({ id, value, failure }: FromThread): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if (failure === undefined) waiting?.resolve(value);
    else waiting?.reject(failed(failure));
  }

  #lost(error: unknown): void {
    this.#worker = undefined;
    const message = "The writer of the database stopped: restart the server.";
    const lost = new HeddleError("store-closed", message, {}, error === undefined ? undefined : { cause: error });
    for (const waiting of this.#waiting.values()) waiting.reject(lost);
    this.#waiting.clear();
  }
}

/** What is given away instead of copied. */
function buffersOf([flat]: readonly unknown[]): readonly ArrayBuffer[] {
  if (typeof flat !== "object" || flat === null) return [];
  return Object.values(flat).flatMap((value: unknown) =>
    ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer ? [value.buffer] : [],
  );
}

function failed({ code, message, details }: NonNullable<FromThread["failure"]>): HeddleError {
  const record: Record<string, unknown> = typeof details === "object" && details !== null ? { ...details } : {};
  return new HeddleError<ErrorCode>(code, message, record);
}

/** The threads of a server: listed, watched, changed, deleted, copied. */
import { SSE_MEDIA_TYPE, decodeSse } from "../protocol/index.ts";
import type { Http } from "./http.ts";
import type { Retry } from "./retry.ts";
import type { ThreadDetails, ThreadPage, ThreadSummary } from "./thread-info.ts";

/** Which threads. */
export interface ThreadQuery {
  /** Text in id or title. */
  readonly q?: string;
  /** Those that were put aside: alone, or with the others. Default: without them. */
  readonly archived?: true | "any";
  /** Most threads of a page, up to 200. Default 50. */
  readonly limit?: number;
}

/** A list that follows what happens. */
export interface LiveThreads {
  /** The threads now; undefined until they are here. */
  readonly threads: readonly ThreadSummary[] | undefined;
  /** Where the threads behind them begin, for `after` of `list`; undefined where these are all. */
  readonly next: string | undefined;
  /** Why they are followed no more: the server refuses it. */
  readonly error: Error | undefined;
  /** Stops following. */
  close(): void;
}

type Told =
  | ({ readonly type: "page" } & ThreadPage)
  | { readonly type: "changed"; readonly thread: ThreadSummary }
  | { readonly type: "gone"; readonly threadId: string };

/** The threads of a server. */
export class Threads {
  readonly #http: Http;
  readonly #retry: () => Retry;
  readonly #closing: AbortSignal;

  constructor(http: Http, retry: () => Retry, closing: AbortSignal) {
    this.#http = http;
    this.#retry = retry;
    this.#closing = closing;
  }

  /** A page of them, the most recently changed first. */
  list(query: ThreadQuery & { readonly after?: string } = {}): Promise<ThreadPage> {
    return this.#http.json("/threads", { query: { ...query } });
  }

  /** Follows the first page of them; calls when it is another. */
  live(onChange: () => void, query: ThreadQuery = {}): LiveThreads {
    const gone = new AbortController();
    const live: { -readonly [key in keyof LiveThreads]: LiveThreads[key] } = {
      threads: undefined,
      next: undefined,
      error: undefined,
      close: () => gone.abort(),
    };
    const following = this.#follow(query, AbortSignal.any([gone.signal, this.#closing]), (told) => {
      live.threads = changed(live.threads ?? [], told);
      if (told.type === "page") live.next = told.next;
      onChange();
    });
    following.catch((error: Error) => {
      live.error = error;
      onChange();
    });
    return live;
  }

  /** Follows until the signal says so. Rejects where trying again does not help. */
  async #follow(query: ThreadQuery, signal: AbortSignal, onTold: (told: Told) => void): Promise<void> {
    const retry = this.#retry();
    while (!signal.aborted) {
      let failure: unknown;
      try {
        const headers = { accept: SSE_MEDIA_TYPE };
        const { body } = await this.#http.send("/threads", { query: { ...query }, headers, signal });
        for await (const { value } of decodeSse(body ?? [])) {
          retry.gained();
          if (isTold(value)) onTold(value);
        }
      } catch (error) {
        failure = error;
        if (!signal.aborted && !retry.helps(error) && !(error instanceof TypeError)) throw error;
      }
      if (!signal.aborted) await retry.wait(signal, failure);
    }
  }

  /** Gives a thread a title; null takes it away. */
  rename(threadId: string, title: string | null): Promise<ThreadDetails> {
    return this.#change(threadId, { title });
  }

  /** Puts a thread aside, or takes it back. */
  archive(threadId: string, archived = true): Promise<ThreadDetails> {
    return this.#change(threadId, { archived });
  }

  #change(threadId: string, body: object): Promise<ThreadDetails> {
    return this.#http.json(pathOf(threadId), { method: "PATCH", body });
  }

  /** Deletes a thread, with all that was said in it. */
  async delete(threadId: string): Promise<void> {
    await this.#http.send(pathOf(threadId), { method: "DELETE" });
  }

  /** A thread as lines of JSON, whole. */
  async export(threadId: string): Promise<string> {
    return (await this.#http.send(`${pathOf(threadId)}/export`)).text();
  }

  /** Makes a thread out of such lines, under its own id or another. */
  async import(lines: string, as?: string): Promise<ThreadSummary> {
    const request = { method: "POST", body: lines, query: { as } } as const;
    const { thread } = await this.#http.json<{ readonly thread: ThreadSummary }>("/threads/import", request);
    return thread;
  }
}

/** What a newer server may tell beside is nothing to us. */
const isTold = (value: unknown): value is Told => ["page", "changed", "gone"].includes(Object(value).type);

const pathOf = (threadId: string): string => `/threads/${encodeURIComponent(threadId)}`;

function changed(threads: readonly ThreadSummary[], told: Told): readonly ThreadSummary[] {
  if (told.type === "page") return told.threads;
  const id = told.type === "gone" ? told.threadId : told.thread.threadId;
  const others = threads.filter(({ threadId }) => threadId !== id);
  return told.type === "gone" ? others : [told.thread, ...others];
}

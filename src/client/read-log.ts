/** The log of a thread, read event by event: all of it, or a part. It does not fold, and does not come back after a cut. */
import { HeddleError, SSE_MEDIA_TYPE, decodeSse, parseEvent } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { unreachable } from "./http.ts";
import type { Http } from "./http.ts";

/** Which part of a log. */
export interface LogOptions {
  /** Behind this cursor. Default: from the beginning. */
  readonly after?: string;
  /** Only this run. */
  readonly run?: string;
  /** The branch of this run. Default: the thread's head. */
  readonly head?: string;
  /** Whatever branch. Default false. */
  readonly all?: boolean;
  /** Whether it waits for more. Default false. */
  readonly follow?: boolean;
  /** Whether annotations are among the events. Default false. */
  readonly meta?: boolean;
  /** Whether what is hidden by default is among them: RAW, `rawEvent`, instructions. For operators. Default false. */
  readonly raw?: boolean;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

/** An event, and where it is. */
export interface LoggedEvent {
  /** Its cursor. */
  readonly id: string;
  /** The event. */
  readonly event: Event;
}

/** Reads a log. Throws `server-unreachable` where it breaks off. */
export async function* readLog(
  http: Http,
  threadId: string,
  { signal, follow = false, ...query }: LogOptions,
): AsyncGenerator<LoggedEvent, void, undefined> {
  const { body } = await http.send(`/threads/${encodeURIComponent(threadId)}/events`, {
    query: { ...query, follow },
    headers: { accept: SSE_MEDIA_TYPE },
    signal,
  });
  if (body === null) return;
  try {
    for await (const { id, value } of decodeSse(body)) {
      const event = value === undefined ? undefined : parseEvent(value).value;
      if (id !== undefined && event !== undefined) yield { id, event };
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof HeddleError ? error : unreachable(error);
  }
}

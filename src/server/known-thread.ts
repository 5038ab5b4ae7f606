/** The thread that somebody names, or the error for one that is not there: unknown and foreign are the same. */
import { HeddleError } from "../protocol/index.ts";
import type { Store, ThreadInfo, ThreadKey } from "../store/index.ts";

/** The thread. Throws `thread-unknown`. */
export async function knownThread(store: Store, key: ThreadKey): Promise<ThreadInfo> {
  const thread = await store.thread(key);
  if (thread === undefined) throw unknownThread(key);
  return thread;
}

/** The error for a thread that is not there. */
export function unknownThread({ threadId }: ThreadKey): HeddleError<"thread-unknown"> {
  return new HeddleError("thread-unknown", "There is no such thread: it begins with its first run.", { threadId });
}

/** The log of a thread in a component. Pages that show the same thread one after the other read it once. */
import { useMemo, useSyncExternalStore } from "react";
import type { HeddleClient } from "heddle/client";
import { useHeddle } from "heddle/react";
import { ThreadLog } from "./thread-log.ts";
import type { LogView } from "./thread-log.ts";

/** So many logs are kept beside the one that is looked at: a long one takes a hundred megabytes. */
const KEPT = 2;

const logs = new WeakMap<HeddleClient, Map<string, ThreadLog>>();

function logOf(client: HeddleClient, threadId: string): ThreadLog {
  let ofClient = logs.get(client);
  if (ofClient === undefined) logs.set(client, (ofClient = new Map()));
  const log = ofClient.get(threadId) ?? new ThreadLog(client, threadId);
  ofClient.delete(threadId);
  ofClient.set(threadId, log);
  for (const id of [...ofClient.keys()].slice(0, -(KEPT + 1))) ofClient.delete(id);
  return log;
}

/** The log of a thread, live, and a way to try again where it failed. */
export function useLog(threadId: string): LogView & { readonly retry: () => void } {
  const client = useHeddle();
  const log = useMemo(() => logOf(client, threadId), [client, threadId]);
  const view = useSyncExternalStore(log.subscribe, log.view);
  return { ...view, retry: log.retry };
}

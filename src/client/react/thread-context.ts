/** The thread that components are about: named where they ask, or by the `ThreadRoot` around them. */
import { createContext, useContext, useMemo } from "react";
import { missing, useHeddle } from "./provider.tsx";
import { modelOf } from "./thread-model.ts";
import type { ThreadModel } from "./thread-model.ts";

/** Which thread, and which agent runs in it. */
export interface ThreadPlace {
  /** The thread. */
  readonly id: string;
  /** The agent that is run. Default: the one that ran last. */
  readonly agent?: string | undefined;
}

/** The thread around. */
export const ThreadContext = createContext<ThreadPlace | undefined>(undefined);

/** The model of a thread, by default of the one around, and the agent to run. */
export function useModel(id?: string, agent?: string): { readonly model: ThreadModel; readonly agent?: string } {
  const around = useContext(ThreadContext);
  const client = useHeddle();
  const threadId = id ?? around?.id;
  if (threadId === undefined) throw missing("ThreadRoot", "Put one around it, or name the thread.");
  const model = modelOf(client.thread(threadId));
  const runs = agent ?? (threadId === around?.id ? around.agent : undefined);
  return useMemo(() => ({ model, ...(runs !== undefined && { agent: runs }) }), [model, runs]);
}

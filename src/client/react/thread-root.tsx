/** A thread and all that is shown of it: the parts inside are about this thread. Carries how it stands, for styles. */
import { useMemo } from "react";
import type { HTMLAttributes, ReactElement } from "react";
import { ThreadContext } from "./thread-context.ts";
import { useThread } from "./use-thread.ts";

/** Which thread, which agent, and attributes of the element. */
export interface ThreadRootProps extends Omit<HTMLAttributes<HTMLElement>, "id"> {
  /** The thread. */
  readonly id: string;
  /** The agent that is run. */
  readonly agent?: string;
}

/** What is shown of a thread. */
export function ThreadRoot({ id, agent, ...attributes }: ThreadRootProps): ReactElement {
  const { status, connection } = useThread(id);
  const place = useMemo(() => ({ id, agent }), [id, agent]);
  return (
    <ThreadContext.Provider value={place}>
      <section
        aria-label="Conversation"
        {...attributes}
        data-part="thread"
        data-status={status}
        data-connection={connection}
      />
    </ThreadContext.Provider>
  );
}

/** The messages of a thread. It renders again when there is another message, and not for what messages say. */
import type { HTMLAttributes, ReactElement, ReactNode } from "react";
import { Message } from "./message.tsx";
import { SlotContext } from "./slots.ts";
import type { MessageComponents } from "./slots.ts";
import { useThread } from "./use-thread.ts";

/** What messages are shown with, and attributes of the element. */
export interface MessageListProps extends Omit<HTMLAttributes<HTMLElement>, "children"> {
  /** Components in place of ours; keep it outside of your component, or each render renders all messages. */
  readonly components?: MessageComponents;
  /** Shown while there are none. */
  readonly empty?: ReactNode;
}

const OURS: MessageComponents = {};

/** The messages of the thread around. */
export function MessageList({ components = OURS, empty, ...attributes }: MessageListProps): ReactElement {
  const { messageIds, status } = useThread();
  return (
    <SlotContext.Provider value={components}>
      <div role="log" aria-label="Messages" {...attributes} aria-busy={status === "running"} data-part="messages">
        {messageIds.length === 0 ? empty : messageIds.map((id, place) => <Message key={id} id={id} place={place} />)}
      </div>
    </SlotContext.Provider>
  );
}

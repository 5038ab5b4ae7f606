/** The conversation at a moment, with what became of each message. It scrolls to what changed; only what is seen is drawn. */
import { useEffect, useRef } from "react";
import type { ReactElement } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { MessageRow } from "../../changes/message-row.tsx";
import type { MessageChange } from "../../changes/message-changes.ts";

/** The messages. */
export function MessagesPanel({
  changes,
  empty,
}: {
  readonly changes: readonly MessageChange[];
  /** What is said where there are none. */
  readonly empty: string;
}): ReactElement {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: changes.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 64,
    overscan: 6,
    getItemKey: (index) => changes[index]?.message.id ?? index,
  });
  const changed = changes.findLastIndex(({ kind }) => kind !== "same");
  const target = changed === -1 ? changes.length - 1 : changed;
  useEffect(() => {
    if (target >= 0) rows.scrollToIndex(target, { align: "auto" });
  }, [target, changes]);
  return (
    <div ref={scroller} className="travel-messages" role="log" aria-label="Messages" aria-live="off" tabIndex={0}>
      {changes.length === 0 && <p className="travel-nothing">{empty}</p>}
      <div style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const change = changes[index];
          return (
            <div
              key={key}
              ref={rows.measureElement}
              data-index={index}
              className="travel-message"
              style={{ transform: `translateY(${start}px)` }}
            >
              {change !== undefined && <MessageRow change={change} />}
            </div>
          );
        })}
      </div>
    </div>
  );
}

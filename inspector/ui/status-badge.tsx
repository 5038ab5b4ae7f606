/** How a run stands, in one word and one colour. */
import type { ReactElement } from "react";
import "./status-badge.css";

/** What people call each status. */
const WORDS: Readonly<Record<string, string>> = {
  none: "New",
  queued: "Waiting its turn",
  running: "Running",
  finished: "Finished",
  interrupted: "Waits for you",
  cancelled: "Stopped",
  failed: "Failed",
};

/** A status. */
export function StatusBadge({ status }: { readonly status: string | undefined }): ReactElement {
  const known = status ?? "none";
  return (
    <span className="status-badge" data-status={known}>
      {WORDS[known] ?? known}
    </span>
  );
}

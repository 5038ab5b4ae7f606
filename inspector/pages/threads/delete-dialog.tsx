/** Asks before conversations are deleted, and names them. */
import { useState } from "react";
import type { ReactElement } from "react";
import type { ThreadSummary } from "heddle/client";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { nameOf } from "./thread-actions.ts";

const SHOWN = 8;

/** Asks whether threads are to be deleted. */
export function DeleteDialog({
  threads,
  onDelete,
  onClose,
}: {
  readonly threads: readonly ThreadSummary[];
  readonly onDelete: () => Promise<void>;
  readonly onClose: () => void;
}): ReactElement {
  const [isBusy, setBusy] = useState(false);
  const isOne = threads.length === 1;
  const hidden = threads.length - SHOWN;
  return (
    <Dialog title={isOne ? "Delete this conversation?" : `Delete ${threads.length} conversations?`} onClose={onClose}>
      <ul className="threads-doomed">
        {threads.slice(0, SHOWN).map((thread) => (
          <li key={thread.threadId}>
            <strong>{nameOf(thread)}</strong>
            {nameOf(thread) !== thread.threadId && <code>{thread.threadId}</code>}
          </li>
        ))}
        {hidden > 0 && <li>and {hidden} more</li>}
      </ul>
      <p>
        Everything said in {isOne ? "it" : "them"} is deleted, in all branches, and whatever still runs is stopped. This
        cannot be undone. Export first if you may want {isOne ? "it" : "them"} back.
      </p>
      <div className="threads-dialog-actions">
        <Button onClick={onClose}>{isBusy ? "Close" : "Keep"}</Button>
        <Button
          kind="danger"
          icon="trash"
          disabled={isBusy}
          onClick={() => {
            setBusy(true);
            void onDelete();
          }}
        >
          {isBusy ? "Deleting…" : "Delete"}
        </Button>
      </div>
    </Dialog>
  );
}

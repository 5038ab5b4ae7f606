/** A window over the page, until it is answered or given up. */
import { useLayoutEffect, useRef } from "react";
import type { ReactElement, ReactNode } from "react";
import { IconButton } from "./button.tsx";
import "./dialog.css";

/** A window over the page; Escape and the cross call `onClose`. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const shown = dialog.current;
    if (shown?.open === false) shown.showModal();
    // One that is closed gives the focus back to where it came from; one that is only taken away does not.
    return () => shown?.close();
  }, []);
  return (
    // What React does twice to try effects is told late, when it is open again.
    <dialog
      ref={dialog}
      className="dialog"
      aria-label={title}
      onClose={() => dialog.current?.open !== true && onClose()}
    >
      <header>
        <h2>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>
  );
}

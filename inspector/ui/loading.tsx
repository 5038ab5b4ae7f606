/** Something is on its way. */
import type { ReactElement } from "react";
import "./states.css";

/** In place of what is on its way; with how far it is, where that is known (0 to 1). */
export function Loading({ label, done }: { readonly label: string; readonly done?: number }): ReactElement {
  return (
    <div className="state" role="status">
      <div className="loading-bar" aria-hidden="true">
        <span {...(done !== undefined && { "data-known": "", style: { width: `${Math.round(done * 100)}%` } })} />
      </div>
      <p>{label}…</p>
    </div>
  );
}

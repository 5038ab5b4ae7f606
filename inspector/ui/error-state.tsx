/** Something went wrong: what, and what to do. */
import type { ReactElement, ReactNode } from "react";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import "./states.css";

/** A failure in place of what it kept from being shown. */
export function ErrorState({
  title,
  error,
  onRetry,
  children,
}: {
  readonly title: string;
  readonly error?: { readonly message: string; readonly code?: string } | undefined;
  readonly onRetry?: (() => void) | undefined;
  readonly children?: ReactNode;
}): ReactElement {
  return (
    <div className="state state-error" role="alert">
      <span className="state-icon">
        <Icon name="warning" />
      </span>
      <h2>{title}</h2>
      {error !== undefined && <p>{error.message}</p>}
      <div className="state-actions">
        {onRetry !== undefined && (
          <Button icon="refresh" onClick={onRetry}>
            Try again
          </Button>
        )}
        {children}
      </div>
    </div>
  );
}

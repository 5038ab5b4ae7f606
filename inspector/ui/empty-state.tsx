/** Nothing here yet: why, and what to do. */
import type { ReactElement, ReactNode } from "react";
import { Icon } from "./icon.tsx";
import type { IconName } from "./icon.tsx";
import "./states.css";

/** In place of what is not there yet; children are what can be done about it. */
export function EmptyState({
  icon,
  title,
  text,
  children,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly text?: string;
  readonly children?: ReactNode;
}): ReactElement {
  return (
    <div className="state">
      <span className="state-icon">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {text !== undefined && <p>{text}</p>}
      {children !== undefined && <div className="state-actions">{children}</div>}
    </div>
  );
}

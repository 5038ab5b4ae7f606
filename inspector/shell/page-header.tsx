/** The head of a page about the server. */
import type { ReactElement, ReactNode } from "react";
import { usePageTitle } from "../page-title.ts";
import "./page-header.css";

/** The head of a page. Children stand at its right. */
export function PageHeader({
  title,
  text,
  children,
}: {
  readonly title: string;
  readonly text?: string;
  readonly children?: ReactNode;
}): ReactElement {
  usePageTitle(title);
  return (
    <header className="page-header">
      <div className="page-title">
        <h1>{title}</h1>
        {text !== undefined && <p>{text}</p>}
      </div>
      <div className="page-actions">{children}</div>
    </header>
  );
}

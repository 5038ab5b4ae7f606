/** Code to read and to copy. */
import type { ReactElement } from "react";
import { CopyButton } from "./copy-button.tsx";
import "./code-block.css";

/** A piece of code; `label` is what it is called. */
export function CodeBlock({ code, label }: { readonly code: string; readonly label: string }): ReactElement {
  return (
    <figure className="code-block">
      <figcaption>
        <span>{label}</span>
        <CopyButton text={code} what={label} />
      </figcaption>
      <pre tabIndex={0} aria-label={label}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}

/** Code to read and to copy. Of very much, the beginning is shown, and all of it is copied. */
import type { ReactElement } from "react";
import { CopyButton } from "./copy-button.tsx";
import { formatCount } from "./format.ts";
import "./code-block.css";

const SHOWN_CHARS = 50_000;

/** A piece of code; `label` is what it is called. */
export function CodeBlock({ code, label }: { readonly code: string; readonly label: string }): ReactElement {
  return (
    <figure className="code-block">
      <figcaption>
        <span>{label}</span>
        <CopyButton text={code} what={label} />
      </figcaption>
      <pre tabIndex={0} aria-label={label}>
        <code>{code.slice(0, SHOWN_CHARS)}</code>
        {code.length > SHOWN_CHARS &&
          `\n… ${formatCount(code.length - SHOWN_CHARS)} more characters: copy it to see all.`}
      </pre>
    </figure>
  );
}

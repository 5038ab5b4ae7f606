/** What an agent thinks before it speaks: folded away until somebody wants to see it. */
import type { ReactElement } from "react";
import type { ReasoningProps } from "./slots.ts";

/** Reasoning. Encrypted reasoning has no text, and nothing is shown for it. */
export function Reasoning({ message: { content } }: ReasoningProps): ReactElement | null {
  if (content === "") return null;
  return (
    <details data-part="reasoning">
      <summary>Reasoning</summary>
      <p>{content}</p>
    </details>
  );
}

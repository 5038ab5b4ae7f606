/** The choice between branches that begin at a message. Nothing where there is only one. */
import type { ReactElement } from "react";
import { useBranches } from "./use-branches.ts";

/** Which message. */
export interface BranchSwitcherProps {
  /** Its id. */
  readonly messageId: string;
}

/** Shows which of the branches at a message is shown, and goes to the one before or behind it. */
export function BranchSwitcher({ messageId }: BranchSwitcherProps): ReactElement | null {
  const { pointOf, switchTo } = useBranches();
  const point = pointOf(messageId);
  if (point === undefined) return null;
  const { siblings, index } = point;
  const step = (by: number, name: string, sign: string): ReactElement => {
    const target = siblings[index + by];
    const go = (): void => void (target !== undefined && switchTo(target));
    return (
      <button type="button" aria-label={name} disabled={target === undefined} onClick={go}>
        {sign}
      </button>
    );
  };
  return (
    <div role="group" aria-label="Branches" data-part="branches">
      {step(-1, "Previous branch", "‹")}
      <span aria-live="polite">{`${index + 1} / ${siblings.length}`}</span>
      {step(1, "Next branch", "›")}
    </div>
  );
}

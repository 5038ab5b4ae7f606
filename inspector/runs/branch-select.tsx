/** Which branch is looked at. */
import type { ReactElement } from "react";
import type { ThreadDetails } from "heddle/client";
import type { RunFacts } from "./run-facts.ts";
import "../ui/field.css";
import "./branch-select.css";

const NAME_CHARS = 40;

/** A choice of branches: the thread's own, the others, and runs that were spawned. */
export function BranchSelect({
  details,
  branch,
  facts,
  label = "Branch",
  onChoose,
}: {
  readonly details: ThreadDetails;
  /** The run whose branch is looked at. */
  readonly branch: string;
  readonly facts: (runId: string) => RunFacts;
  readonly label?: string;
  readonly onChoose: (runId: string) => void;
}): ReactElement {
  const { heads, runs, head } = details;
  const spawned = runs.flatMap(({ runId, kind }) => (kind === "spawn" ? [runId] : []));
  const choices = [...new Set([...(head === undefined ? [] : [head]), ...heads, ...spawned, branch])];
  return (
    <label className="branch-select">
      <span aria-hidden="true">{label}</span>
      <select
        className="field"
        aria-label={label}
        value={branch}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
        {choices.map((runId) => (
          <option key={runId} value={runId}>
            {`${(facts(runId).asked ?? runId).slice(0, NAME_CHARS)}${runId === head ? " (current)" : spawned.includes(runId) ? " (spawned)" : ""}`}
          </option>
        ))}
      </select>
    </label>
  );
}

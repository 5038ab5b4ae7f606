/** Two branches side by side: what they have in common folded away, then what each says, their states, and their numbers. */
import { useMemo } from "react";
import type { ReactElement } from "react";
import type { RunSummary, ThreadDetails, ThreadSnapshot } from "heddle/client";
import { ChangesView } from "../../changes/changes-view.tsx";
import { MessageRow } from "../../changes/message-row.tsx";
import { linkTo, useQueryValue } from "../../route.ts";
import { BranchSelect } from "../../runs/branch-select.tsx";
import { lineageOf, sharedCount } from "../../runs/lineage.ts";
import type { RunFacts } from "../../runs/run-facts.ts";
import { LinkButton } from "../../ui/button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { formatCount, formatDuration } from "../../ui/format.ts";
import { Loading } from "../../ui/loading.tsx";
import { numbersOf } from "./branch-numbers.ts";
import { InPart } from "./in-part.tsx";
import { beyond, pairMessages } from "./paired-messages.ts";
import { counted } from "./run-words.ts";
import { useSnapshot } from "./use-snapshot.ts";
import "./compare-view.css";

const COMPARED = { same: "", added: "only here", changed: "differs", removed: "" } as const;

/** Two branches. */
export function CompareView({
  threadId,
  details,
  facts,
  a,
  b,
}: {
  readonly threadId: string;
  readonly details: ThreadDetails;
  readonly facts: (runId: string) => RunFacts;
  readonly a: RunSummary;
  readonly b: RunSummary;
}): ReactElement {
  const [, setA] = useQueryValue("a");
  const [, setB] = useQueryValue("b");
  const lineA = lineageOf(details.runs, a.runId);
  const lineB = lineageOf(details.runs, b.runId);
  const shared = sharedCount(lineA, lineB);
  const last = lineA[shared - 1];
  const ofA = useSnapshot(threadId, a);
  const ofB = useSnapshot(threadId, b);
  const ofShared = useSnapshot(threadId, last);
  const error = ofA.error ?? ofB.error ?? ofShared.error;
  const isHere =
    ofA.snapshot !== undefined && ofB.snapshot !== undefined && (last === undefined || ofShared.snapshot !== undefined);
  return (
    <div className="branches-compare">
      <div className="branches-chosen">
        <BranchSelect details={details} branch={a.runId} facts={facts} label="Branch A" onChoose={setA} />
        <BranchSelect details={details} branch={b.runId} facts={facts} label="Branch B" onChoose={setB} />
        <LinkButton icon="close" href={linkTo("branches", threadId, { run: b.runId })}>
          Back to the graph
        </LinkButton>
      </div>
      <Numbers a={lineA.slice(shared)} b={lineB.slice(shared)} facts={facts} />
      {error !== undefined && !isHere ? (
        <ErrorState title="The branches cannot be compared" error={error} />
      ) : !isHere ? (
        <Loading label="Asking for both branches" />
      ) : (
        <Both
          shared={ofShared.snapshot}
          a={ofA.snapshot}
          b={ofB.snapshot}
          common={sharedWords(shared, last === undefined ? undefined : (facts(last.runId).asked ?? last.runId))}
        />
      )}
    </div>
  );
}

const sharedWords = (count: number, asked: string | undefined): string =>
  asked === undefined ? "Nothing in common: both begin anew" : `${counted(count, "run")} in common, up to “${asked}”`;

function Numbers({
  a,
  b,
  facts,
}: {
  readonly a: readonly RunSummary[];
  readonly b: readonly RunSummary[];
  readonly facts: (runId: string) => RunFacts;
}): ReactElement {
  const [left, right] = [numbersOf(a, facts), numbersOf(b, facts)];
  const rows = [
    ["Runs", formatCount(left.runs), formatCount(right.runs)],
    ["Tool calls", formatCount(left.toolCalls), formatCount(right.toolCalls)],
    ["Tokens", formatCount(left.tokens), formatCount(right.tokens)],
    ["Time", formatDuration(left.durationMs), formatDuration(right.durationMs)],
  ] as const;
  return (
    <table className="branches-numbers">
      <caption className="visually-hidden">The branches in numbers, from where they part</caption>
      <thead>
        <tr>
          <th scope="col">Since they part</th>
          {rows.map(([name]) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {(["Branch A", "Branch B"] as const).map((side, index) => (
          <tr key={side}>
            <th scope="row">{side}</th>
            {rows.map(([name, ...values]) => (
              <td key={name}>{values[index]}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Both({
  shared,
  a,
  b,
  common,
}: {
  readonly shared: ThreadSnapshot | undefined;
  readonly a: ThreadSnapshot;
  readonly b: ThreadSnapshot;
  readonly common: string;
}): ReactElement {
  const pairs = useMemo(() => {
    const known = shared?.messages ?? [];
    return pairMessages(beyond(known, a.messages), beyond(known, b.messages));
  }, [shared, a, b]);
  return (
    <>
      {shared === undefined ? (
        <p className="branches-common">{common}</p>
      ) : (
        <details className="branches-common">
          <summary>{common}</summary>
          <InPart rows={shared.messages}>{(message) => <MessageRow change={{ kind: "same", message }} />}</InPart>
        </details>
      )}
      <section aria-label="Messages of both branches">
        <div className="branches-columns branches-heads" aria-hidden="true">
          <h3>Branch A</h3>
          <h3>Branch B</h3>
        </div>
        {pairs.length === 0 && <p className="branches-nothing">Neither says anything beyond that.</p>}
        <InPart rows={pairs}>
          {(pair) => (
            <div className="branches-columns">
              {(["a", "b"] as const).map((side) => (
                <div key={side} data-side={side.toUpperCase()} data-empty={pair[side] === undefined}>
                  {pair[side] !== undefined && <MessageRow change={pair[side]} words={COMPARED} />}
                </div>
              ))}
            </div>
          )}
        </InPart>
      </section>
      <section className="branches-state" aria-label="State of both branches">
        <h3>State, from A to B</h3>
        <ChangesView before={a.state} after={b.state} nothing="Both have the same state." />
      </section>
    </>
  );
}

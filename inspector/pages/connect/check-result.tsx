/** What came of trying an agent: the verdict first, then each finding with its rule, and what was heard. */
import type { ReactElement } from "react";
import type { Check } from "../../server/api.ts";
import { codeWords } from "../../server/code-words.ts";
import { ruleClause, ruleWords } from "../../server/rule-words.ts";
import { CodeBlock } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { formatCount, formatDuration } from "../../ui/format.ts";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { VERDICTS, serveLine, verdictOf } from "./verdict.ts";
import type { Verdict } from "./verdict.ts";

const NEXT: Readonly<Record<Verdict, string>> = {
  works: "Put it behind Heddle as it is:",
  repaired: "Put it behind Heddle as it is; better, mend what is listed above first:",
  broken: "Mend what is listed above and test it again. Then:",
};

const KINDS = { repair: "Repaired", warning: "Warning", error: "Error" } as const;

/** What came of it. */
export function CheckResult({ check }: { readonly check: Check }): ReactElement {
  const verdict = verdictOf(check);
  return (
    <section className="connect-result" aria-label="Result">
      <header data-verdict={verdict}>
        <Icon name={verdict === "works" ? "check" : verdict === "repaired" ? "tool" : "warning"} />
        <div>
          <h2>{VERDICTS[verdict]}</h2>
          <p>{check.sentence}</p>
        </div>
      </header>
      <Measures check={check} />
      {check.findings.length > 0 && <Findings findings={check.findings} />}
      {check.text !== "" && (
        <section>
          <h3>What it said</h3>
          <blockquote className="connect-said">{check.text}</blockquote>
        </section>
      )}
      <section>
        <h3>Next</h3>
        <p>{NEXT[verdict]}</p>
        <CodeBlock label="Behind Heddle" code={serveLine(check.url)} />
      </section>
      {check.sample.length > 0 && (
        <section>
          <div className="connect-events-head">
            <h3>
              {check.sample.length < check.events
                ? `The first ${check.sample.length} of ${formatCount(check.events)} events`
                : "Its events"}
            </h3>
            <CopyButton text={() => JSON.stringify(check.sample, undefined, 2)} what="Events" label="Copy as JSON" />
          </div>
          <div className="connect-events">
            <JsonView value={numbered(check.sample)} openTo={1} />
          </div>
        </section>
      )}
    </section>
  );
}

/** Events under their place and type. */
const numbered = (events: readonly unknown[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(events.map((event, index) => [`${index + 1} ${String(Object(event).type)}`, event]));

function Measures({ check }: { readonly check: Check }): ReactElement {
  const { status, contentType, firstEventMs, totalMs, events, outcome, types } = check;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["HTTP status", status === undefined ? undefined : String(status)],
    ["Content type", contentType],
    ["First event", firstEventMs === undefined ? undefined : formatDuration(firstEventMs)],
    ["In all", formatDuration(totalMs)],
    ["Events", formatCount(events)],
    ["Ended with", outcome],
  ];
  return (
    <>
      <dl className="connect-measures">
        {facts.map(
          ([name, value]) =>
            value !== undefined && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
      {Object.keys(types).length > 0 && (
        <ul className="connect-types" aria-label="Types of events">
          {Object.entries(types).map(([type, count]) => (
            <li key={type}>
              <code>{type}</code> {formatCount(count)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Findings({ findings }: { readonly findings: Check["findings"] }): ReactElement {
  return (
    <section>
      <h3>What was found</h3>
      <ol className="connect-findings">
        {findings.map(({ kind, rule, message, at }, index) => {
          const words = rule === undefined ? undefined : (ruleWords(rule) ?? codeWords(rule));
          const clause = rule === undefined ? undefined : ruleClause(rule);
          return (
            <li key={index} data-kind={kind}>
              <strong>{KINDS[kind]}</strong>
              <div>
                <p>{message}</p>
                <p className="connect-rule">
                  {rule !== undefined && <code>{rule}</code>}
                  {words !== undefined && words !== message && <span>{words}</span>}
                  {clause !== undefined && <span>AG-UI {clause}</span>}
                  {at !== undefined && <span>at event {at + 1}</span>}
                </p>
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** The panels of Health about what the server holds and what went wrong. */
import type { ReactElement, ReactNode } from "react";
import type { Status } from "../../server/api.ts";
import { codeWords } from "../../server/code-words.ts";
import { ruleClause, ruleWords } from "../../server/rule-words.ts";
import { linkTo } from "../../route.ts";
import { TimeAgo } from "../../ui/time-ago.tsx";
import { formatBytes, formatCount } from "../../ui/format.ts";

/** A panel with a title. */
export function Panel({
  title,
  note,
  wide = false,
  children,
}: {
  readonly title: string;
  readonly note?: string;
  readonly wide?: boolean;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <section className="health-panel" data-wide={wide} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {note !== undefined && <p>{note}</p>}
      </header>
      {children}
    </section>
  );
}

const PARTS = [
  { key: "rawBytes", name: "Every event", text: "the full log, as it was committed" },
  { key: "compactedBytes", name: "Compacted", text: "finished runs, short, for opening conversations quickly" },
  { key: "snapshotBytes", name: "Snapshots", text: "messages and state, for going on quickly" },
] as const;

/** What the store holds. */
export function StoragePanel({ store }: { readonly store: Status["store"] }): ReactElement {
  const sum = PARTS.reduce((total, { key }) => total + store[key], 0) || 1;
  const factor = store.compactedBytes > 0 ? store.rawBytes / store.compactedBytes : 0;
  return (
    <Panel title="Storage" note={`${formatBytes(store.totalBytes)} in ${store.kind}`}>
      <div className="health-bar" aria-hidden="true">
        {PARTS.map(({ key }) => (
          <span key={key} data-part={key} style={{ flexGrow: store[key] / sum }} />
        ))}
      </div>
      <dl className="health-parts">
        {PARTS.map(({ key, name, text }) => (
          <div key={key} data-part={key}>
            <dt>{name}</dt>
            <dd>
              <strong>{formatBytes(store[key])}</strong> <span>{text}</span>
            </dd>
          </div>
        ))}
      </dl>
      {factor > 1.2 && (
        <p className="health-quiet">
          The compacted form is {factor < 10 ? factor.toFixed(1) : Math.round(factor)} times smaller than the full log.
        </p>
      )}
      <Facts
        facts={[
          ["Conversations", formatCount(store.threads)],
          ["Runs", formatCount(store.runs)],
          ["Events", formatCount(store.events)],
        ]}
      />
    </Panel>
  );
}

/** Names and values. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }): ReactElement {
  return (
    <dl className="health-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What was put right in the streams of agents. */
export function RepairsPanel({ repairs }: { readonly repairs: Status["repairs"] }): ReactElement {
  return (
    <Panel title="Repairs" note="What agents got wrong and Heddle put right before anybody saw it.">
      {repairs.length === 0 ? (
        <p className="health-quiet">Nothing had to be repaired since the server started.</p>
      ) : (
        <Counted
          rows={repairs.map(({ rule, count }) => ({
            name: rule,
            count,
            text: [ruleWords(rule), ruleClause(rule)].filter((part) => part !== undefined).join(" AG-UI "),
          }))}
        />
      )}
    </Panel>
  );
}

/** What was refused. */
export function RefusalsPanel({ rejections }: { readonly rejections: Status["rejections"] }): ReactElement {
  return (
    <Panel title="Refusals" note="Requests and events that were turned away.">
      {rejections.length === 0 ? (
        <p className="health-quiet">Nothing was refused since the server started.</p>
      ) : (
        <Counted rows={rejections.map(({ code, count }) => ({ name: code, count, text: codeWords(code) ?? "" }))} />
      )}
    </Panel>
  );
}

function Counted({
  rows,
}: {
  readonly rows: readonly { readonly name: string; readonly count: number; readonly text: string }[];
}): ReactElement {
  return (
    <ul className="health-counted">
      {rows
        .toSorted((a, b) => b.count - a.count)
        .map(({ name, count, text }) => (
          <li key={name}>
            <strong>{formatCount(count)}</strong>
            <div>
              <code>{name}</code>
              {text !== "" && <p>{text}</p>}
            </div>
          </li>
        ))}
    </ul>
  );
}

/** What failed last. */
export function ErrorsPanel({ errors }: { readonly errors: Status["errors"] }): ReactElement {
  return (
    <Panel wide title="Recent errors" note={errors.length === 0 ? "" : "The newest first."}>
      {errors.length === 0 ? (
        <p className="health-quiet">No errors since the server started.</p>
      ) : (
        <ul className="health-errors">
          {errors.map(({ at, code, message, threadId, runId, agent }, index) => (
            <li key={`${at} ${index}`}>
              <TimeAgo at={at} />
              <div>
                <p>{message}</p>
                <p className="health-error-where">
                  <code title={codeWords(code)}>{code}</code>
                  {agent !== undefined && <span>{agent}</span>}
                  {threadId !== undefined && (
                    <a href={linkTo("timeline", threadId, { run: runId })}>Show the run in {threadId}</a>
                  )}
                </p>
              </div>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

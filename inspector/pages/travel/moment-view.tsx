/** What a branch was at an event: the event, the messages and the state; or what became of them since another event. */
import { useDeferredValue, useMemo } from "react";
import type { ReactElement } from "react";
import { ChangesView } from "../../changes/changes-view.tsx";
import { messageChanges } from "../../changes/message-changes.ts";
import type { MessageChange } from "../../changes/message-changes.ts";
import type { LogEntry } from "../../log/thread-log.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import type { BranchFold, Moment } from "./branch-fold.ts";
import { EventCard } from "./event-card.tsx";
import { MessagesPanel } from "./messages-panel.tsx";
import { nextStop } from "./steps.ts";

/** The branch at an event. */
export function MomentView({
  threadId,
  fold,
  place,
  entry,
  from,
  setFrom,
  nameOf,
}: {
  readonly threadId: string;
  readonly fold: BranchFold;
  readonly place: number;
  readonly entry: LogEntry;
  /** Place that it is compared with; -1 is before everything. */
  readonly from: number | undefined;
  readonly setFrom: (seq: string) => void;
  readonly nameOf: (runId: string) => string;
}): ReactElement {
  const step = useMemo(() => fold.at(place), [fold, place, entry]);
  const base = useMemo(() => (from === undefined ? undefined : fold.at(from).after), [fold, from]);
  const { before, after } = step;
  const old = base ?? before;
  const isBackward = from !== undefined && from > place;
  const changes = useMemo(() => messageChanges(old.view.messages, after.view.messages), [old, after]);
  const shown = base === undefined ? changes : changes.filter(({ kind }) => kind !== "same");
  return (
    <div className="travel-body">
      <EventCard threadId={threadId} entry={entry} step={step} runName={nameOf(entry.runId)} />
      <CompareBar fold={fold} place={place} entry={entry} from={from} setFrom={setFrom} />
      <div className="travel-panels">
        <section className="travel-panel" aria-label={base === undefined ? "Messages" : "Changes of the messages"}>
          <header>
            <h2>{base === undefined ? "Messages" : "Messages that changed"}</h2>
            <p>{summaryOf(base === undefined ? after.view.messages.length : undefined, changes)}</p>
          </header>
          <MessagesPanel
            changes={shown}
            empty={base === undefined ? "Nothing was said yet." : "No message is different between the two events."}
          />
        </section>
        <StatePanel after={after} base={base} />
      </div>
      {isBackward && (
        <p className="visually-hidden">The start lies behind this event: what is shown as gone came later.</p>
      )}
    </div>
  );
}

function summaryOf(total: number | undefined, changes: readonly MessageChange[]): string {
  if (total !== undefined) return String(total);
  const count = (wanted: MessageChange["kind"]): number => changes.filter(({ kind }) => kind === wanted).length;
  return `${count("added")} new, ${count("changed")} changed, ${count("removed")} gone`;
}

function StatePanel({ after, base }: { readonly after: Moment; readonly base: Moment | undefined }): ReactElement {
  // A large state may take longer to draw than a frame: the handle goes on meanwhile.
  const state = useDeferredValue(after.view.state);
  return (
    <section className="travel-panel" aria-label={base === undefined ? "State" : "Changes of the state"}>
      <header>
        <h2>{base === undefined ? "State" : "State that changed"}</h2>
        <CopyButton text={() => JSON.stringify(after.view.state, undefined, 2)} what="State" label="Copy state" />
      </header>
      <div className="travel-state" tabIndex={0} role="region" aria-label="State as a tree">
        {base !== undefined ? (
          <ChangesView before={base.view.state} after={state} nothing="The state is the same at both events." />
        ) : Object.keys(Object(state)).length === 0 && typeof state === "object" ? (
          <p className="travel-nothing">The state is empty.</p>
        ) : (
          <JsonView value={state} openTo={3} />
        )}
      </div>
    </section>
  );
}

function CompareBar({
  fold,
  place,
  entry,
  from,
  setFrom,
}: {
  readonly fold: BranchFold;
  readonly place: number;
  readonly entry: LogEntry;
  readonly from: number | undefined;
  readonly setFrom: (seq: string) => void;
}): ReactElement {
  const compareWith = (other: number): void => setFrom(String(fold.entries[other]?.seq ?? 0));
  const runStart = fold.entries[place]?.event.type === "RUN_STARTED" ? place : nextStop(fold.entries, place, "run", -1);
  return (
    <div className="travel-compare" role="group" aria-label="Compare">
      <p aria-live="polite">
        {from === undefined
          ? "Marked is what this event changed."
          : `Compared with ${from < 0 ? "the beginning" : `event ${from + 1}`}.`}
      </p>
      <Button small onClick={() => setFrom(String(entry.seq))}>
        Set as start
      </Button>
      <span className="travel-compare-with">Compare with</span>
      <Button small onClick={() => compareWith(place - 1)}>
        Previous event
      </Button>
      <Button small onClick={() => compareWith((runStart ?? 0) - 1)}>
        Run start
      </Button>
      <Button small onClick={() => setFrom("0")}>
        Thread start
      </Button>
      {from !== undefined && (
        <Button small kind="primary" icon="close" onClick={() => setFrom("")}>
          Stop comparing
        </Button>
      )}
    </div>
  );
}

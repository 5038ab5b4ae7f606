/** Takes events along: how many of them, as what, with a look at it before. */
import { useMemo, useState } from "react";
import type { ReactElement } from "react";
import { Button } from "../../ui/button.tsx";
import { copy } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatBytes, formatCount } from "../../ui/format.ts";
import { COPIES, copied } from "./copied.ts";
import type { CopyForm, CopySource } from "./copied.ts";
import { SCOPES, scopesAt, selectionOf } from "./selections.ts";
import type { Scope } from "./selections.ts";
import type { Timeline } from "./use-timeline.ts";
import "./copy-dialog.css";

/** So much of it is shown. */
const PREVIEW_LENGTH = 6000;

const FORMS: readonly CopyForm[] = ["fixture", "curl", "test"];

/** Takes events along. */
export function CopyDialog({
  timeline,
  source,
  agentOf,
  onClose,
}: {
  readonly timeline: Timeline;
  readonly source: Omit<CopySource, "agent">;
  readonly agentOf: (runId: string | undefined) => string | undefined;
  readonly onClose: () => void;
}): ReactElement {
  const { index, filter, selected, filterRead, count } = timeline;
  const scopes = scopesAt(selected);
  const [chosen, setScope] = useState<Scope>();
  const [form, setForm] = useState<CopyForm>("fixture");
  const scope = chosen ?? scopes[0] ?? "shown";
  // A filter that still looks finds more.
  const isLooking = filter !== undefined && filterRead < count;
  const selection = useMemo(
    () => selectionOf(index, scope, selected, filter),
    [index, scope, selected, filter, isLooking],
  );
  // Who ran it may become known later than the events.
  const agent = agentOf(selection.runId);
  const text = useMemo(() => copied(form, selection, { ...source, agent }), [selection, form, agent]);
  const events = selection.entries.length;
  return (
    <Dialog title="Copy events" onClose={onClose}>
      <div className="timeline-copy">
        <Choices label="How much" names={scopes} titles={SCOPES} value={scope} onChange={setScope} />
        <Choices
          label="As"
          names={FORMS}
          titles={{ fixture: COPIES.fixture.title, curl: COPIES.curl.title, test: COPIES.test.title }}
          value={form}
          onChange={setForm}
        />
        <p>{COPIES[form].text}</p>
        <pre tabIndex={0} aria-label="What is copied">
          {text.slice(0, PREVIEW_LENGTH)}
          {text.length > PREVIEW_LENGTH && "\n…"}
        </pre>
        <footer>
          <span role="status">
            {formatCount(events)} {events === 1 ? "event" : "events"}, {formatBytes(text.length)}
          </span>
          <Button
            kind="primary"
            icon="copy"
            onClick={() => {
              void copy(text, COPIES[form].title);
              onClose();
            }}
          >
            Copy {COPIES[form].title.toLowerCase()}
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}

function Choices<Name extends string>({
  label,
  names,
  titles,
  value,
  onChange,
}: {
  readonly label: string;
  readonly names: readonly Name[];
  readonly titles: Readonly<Record<Name, string>>;
  readonly value: Name;
  readonly onChange: (name: Name) => void;
}): ReactElement {
  return (
    <fieldset className="timeline-copy-choices">
      <legend>{label}</legend>
      {names.map((name) => (
        <label key={name}>
          <input type="radio" name={label} checked={name === value} onChange={() => onChange(name)} />
          {titles[name]}
        </label>
      ))}
    </fieldset>
  );
}

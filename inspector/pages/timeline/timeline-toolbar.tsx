/** What of the events is shown, and how: search, kinds, run, subagent, problems, grouping and scale. All of it is in the address. */
import type { KeyboardEvent, ReactElement, ReactNode } from "react";
import type { RunSummary } from "heddle/client";
import { KINDS } from "../../log/event-kinds.ts";
import type { Kind } from "../../log/event-kinds.ts";
import { useQueryValue } from "../../route.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { formatClock, formatCount, shortId } from "../../ui/format.ts";
import { Icon } from "../../ui/icon.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { GROUPINGS } from "./timeline-rows.ts";
import { useFilterSpec } from "./use-timeline.ts";
import type { Timeline } from "./use-timeline.ts";
import "./timeline-toolbar.css";

const KIND_NAMES: readonly Kind[] = [
  "run",
  "text",
  "thoughts",
  "tools",
  "state",
  "activity",
  "step",
  "other",
  "warning",
  "failure",
];

/** The bar above the rows. */
export function TimelineToolbar({
  timeline,
  runs,
}: {
  readonly timeline: Timeline;
  readonly runs: ReadonlyMap<string, RunSummary>;
}): ReactElement {
  const [zoom, setZoom] = useQueryValue("zoom");
  const [, setGrouping] = useQueryValue("group");
  return (
    <div className="timeline-toolbar" role="search" aria-label="Events">
      <Search timeline={timeline} />
      <div className="timeline-choices">
        <Choice label="Group" value={timeline.grouping} onChange={(name) => setGrouping(name === "nested" ? "" : name)}>
          {Object.entries(GROUPINGS).map(([name, title]) => (
            <option key={name} value={name}>
              Group: {title.toLowerCase()}
            </option>
          ))}
        </Choice>
        <Choice label="Scale" value={zoom} onChange={setZoom}>
          <option value="">Scale: each run</option>
          <option value="thread">Scale: whole thread</option>
        </Choice>
        <RunChoice timeline={timeline} runs={runs} />
        <SubagentChoice timeline={timeline} />
        {timeline.grouping === "nested" && <OpenAll timeline={timeline} />}
      </div>
      <Chips timeline={timeline} />
    </div>
  );
}

function Search({ timeline }: { readonly timeline: Timeline }): ReactElement {
  const [text, setText] = useQueryValue("q");
  const { filter, index, selected, select, count } = timeline;
  const at = typeof selected === "number" ? selected : (selected?.first ?? -1) - 1;
  const step = (direction: 1 | -1): void => {
    const next = filter?.next(at, direction);
    if (next !== undefined) select(next.place, { isJump: true });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  const isLooking = filter !== undefined && filter.read < count;
  const number = filter !== undefined && at === selected && filter.has(at) ? (filter.next(at - 1, 1)?.number ?? 0) : 0;
  return (
    <div className="timeline-search" onKeyDown={onKeyDown}>
      <SearchField label="Search events" value={text} onChange={setText} />
      {filter !== undefined && (
        <>
          <span className="timeline-matches" role="status">
            {number > 0 && `${formatCount(number)} of `}
            {formatCount(filter.hits)} {filter.hits === 1 ? "match" : "matches"}
            {isLooking && ` so far, ${Math.floor((100 * filter.read) / Math.max(1, index.count))} % read`}
          </span>
          <IconButton icon="up" label="Previous match" disabled={filter.hits === 0} onClick={() => step(-1)} />
          <IconButton icon="down" label="Next match" disabled={filter.hits === 0} onClick={() => step(1)} />
        </>
      )}
    </div>
  );
}

function Choice({
  label,
  value,
  onChange,
  children,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <select
      className="field timeline-choice"
      aria-label={label}
      title={label}
      value={value}
      data-set={value !== "" && value !== "nested"}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {children}
    </select>
  );
}

function RunChoice({
  timeline: { index },
  runs,
}: {
  readonly timeline: Timeline;
  readonly runs: ReadonlyMap<string, RunSummary>;
}): ReactElement | null {
  const [only, setOnly] = useQueryValue("only");
  if (index.runs.length < 2 && only === "") return null;
  return (
    <Choice label="Run" value={only} onChange={setOnly}>
      <option value="">All runs</option>
      {only !== "" && index.run(only) === undefined && <option value={only}>{shortId(only)}: not here</option>}
      {index.runs.map(({ id, startMs }) => (
        <option key={id} value={id}>
          {runs.get(id)?.agent ?? "run"} {startMs === undefined ? "" : formatClock(startMs)} ({shortId(id)})
        </option>
      ))}
    </Choice>
  );
}

function SubagentChoice({ timeline: { index } }: { readonly timeline: Timeline }): ReactElement | null {
  const [subagent, setSubagent] = useQueryValue("subagent");
  const names = index.subagentNames();
  if (names.length === 0 && subagent === "") return null;
  return (
    <Choice label="Subagent" value={subagent} onChange={setSubagent}>
      <option value="">All agents</option>
      {subagent !== "" && !names.includes(subagent) && <option value={subagent}>{shortId(subagent)}: not here</option>}
      {names.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </Choice>
  );
}

function OpenAll({ timeline: { toggleAll } }: { readonly timeline: Timeline }): ReactElement {
  return (
    <span className="timeline-open-all">
      <Button small kind="quiet" onClick={() => toggleAll(true)}>
        Open all
      </Button>
      <Button small kind="quiet" onClick={() => toggleAll(false)}>
        Close all
      </Button>
    </span>
  );
}

function Chips({ timeline }: { readonly timeline: Timeline }): ReactElement {
  const { index } = timeline;
  const { kinds, problems } = useFilterSpec();
  const [, setKinds] = useQueryValue("kinds");
  const [, setProblems] = useQueryValue("problems");
  const toggle = (kind: Kind): void => {
    const next = kinds.includes(kind) ? kinds.filter((each) => each !== kind) : [...kinds, kind];
    setKinds(next.join(","));
  };
  const wrong = index.runs.reduce((sum, { repairs, warnings, errors }) => sum + repairs + warnings + errors, 0);
  return (
    <div className="timeline-chips" role="group" aria-label="Kinds of events">
      {KIND_NAMES.filter((kind) => index.counts[kind] > 0 || kinds.includes(kind)).map((kind) => (
        <button
          key={kind}
          type="button"
          className="timeline-chip"
          data-kind={kind}
          aria-pressed={kinds.includes(kind)}
          onClick={() => toggle(kind)}
        >
          <span className="timeline-dot" aria-hidden="true" />
          {KINDS[kind]}
          <em>{formatCount(index.counts[kind])}</em>
        </button>
      ))}
      {(wrong > 0 || problems) && (
        <button
          type="button"
          className="timeline-chip"
          data-kind="warning"
          aria-pressed={problems}
          onClick={() => setProblems(problems ? "" : "1")}
        >
          <Icon name="warning" size={13} />
          Problems only
          <em>{formatCount(wrong)}</em>
        </button>
      )}
    </div>
  );
}

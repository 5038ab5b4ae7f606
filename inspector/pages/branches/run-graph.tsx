/**
 * The runs of a thread as a graph: one row each, lines between them, branches in lanes. It is a tree for the keyboard: up and
 * down go through the rows, left to the run that one hangs on, right to the first that hangs on it. Only what is seen is drawn.
 */
import { useEffect, useMemo, useRef } from "react";
import type { KeyboardEvent, ReactElement } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { RunSummary, ThreadDetails } from "heddle/client";
import { lineageOf } from "../../runs/lineage.ts";
import type { RunFacts } from "../../runs/run-facts.ts";
import { formatDuration } from "../../ui/format.ts";
import { scaled } from "../../ui/scaled.ts";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { TimeAgo } from "../../ui/time-ago.tsx";
import { layoutRuns } from "./graph-layout.ts";
import type { Graph, Placed } from "./graph-layout.ts";
import { counted, tokensOf } from "./run-words.ts";
import "./run-graph.css";

const ROW = scaled(58);
const LEFT = 18;
const MAX_GUTTER = 240;
/** On a narrow screen the words come first. */
const MAX_GUTTER_SHARE = 0.22;

/** The graph. */
export function RunGraph({
  details,
  facts,
  selected,
  onSelect,
}: {
  readonly details: ThreadDetails;
  readonly facts: (runId: string) => RunFacts;
  readonly selected: string | undefined;
  readonly onSelect: (runId: string) => void;
}): ReactElement {
  const { runs, head } = details;
  const graph = useMemo(() => layoutRuns(runs, head), [runs, head]);
  const own = useMemo(() => new Set(lineageOf(runs, head).map(({ runId }) => runId)), [runs, head]);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: graph.rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const row = graph.rows.findIndex(({ run }) => run.runId === selected);
  useEffect(() => {
    if (row >= 0) rows.scrollToIndex(row, { align: "auto" });
  }, [row]);
  const onKey = (event: KeyboardEvent): void => {
    const to = keyTarget(event.key, row, graph);
    const target = to === undefined ? undefined : graph.rows[to];
    if (target === undefined) return;
    event.preventDefault();
    onSelect(target.run.runId);
  };
  const lane = laneWidth(graph.lanes);
  const gutter = LEFT + (graph.lanes - 1) * lane + 16;
  const items = rows.getVirtualItems();
  return (
    <div
      ref={scroller}
      className="branches-graph"
      role="tree"
      aria-label="Runs"
      tabIndex={0}
      aria-activedescendant={items.some(({ index }) => index === row) ? rowId(row) : undefined}
      onKeyDown={onKey}
    >
      <div role="none" style={{ height: rows.getTotalSize(), position: "relative" }}>
        <Lines
          graph={graph}
          own={own}
          from={items[0]?.index ?? 0}
          to={items.at(-1)?.index ?? 0}
          lane={lane}
          selected={row}
        />
        {items.map(({ index, start }) => {
          const placed = graph.rows[index];
          if (placed === undefined) return null;
          const { runId } = placed.run;
          return (
            <div
              key={runId}
              id={rowId(index)}
              role="treeitem"
              aria-level={placed.lane + 1}
              aria-selected={index === row}
              className="branches-row"
              style={{ transform: `translateY(${start}px)`, height: ROW, paddingLeft: gutter }}
              onClick={() => onSelect(runId)}
            >
              <RunLine placed={placed} facts={facts(runId)} isHead={runId === head} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

const rowId = (row: number): string => `branches-row-${row}`;

/** Many lanes stand closer. */
const laneWidth = (lanes: number): number =>
  Math.min(22, Math.min(MAX_GUTTER, innerWidth * MAX_GUTTER_SHARE) / Math.max(lanes, 1));

function keyTarget(key: string, row: number, { rows }: Graph<RunSummary>): number | undefined {
  const clamp = (to: number): number => Math.min(Math.max(to, 0), rows.length - 1);
  if (key === "ArrowDown") return clamp(row + 1);
  if (key === "ArrowUp") return clamp(row - 1);
  if (key === "PageDown") return clamp(row + 8);
  if (key === "PageUp") return clamp(row - 8);
  if (key === "Home") return 0;
  if (key === "End") return rows.length - 1;
  if (key === "ArrowLeft") return rows[row]?.parentRow;
  if (key === "ArrowRight") return rows.find(({ parentRow }) => parentRow === row)?.row;
  return undefined;
}

function RunLine({
  placed: { run, link },
  facts,
  isHead,
}: {
  readonly placed: Placed<RunSummary>;
  readonly facts: RunFacts;
  readonly isHead: boolean;
}): ReactElement {
  const tokens = tokensOf(run);
  return (
    <>
      <p className="branches-asked">
        <span>{facts.asked ?? run.runId}</span>
        {isHead && <em data-mark="head">current</em>}
        {link === "spawn" && <em data-mark="spawn">spawned</em>}
        {facts.notes.length > 0 && <em data-mark="note">{counted(facts.notes.length, "note")}</em>}
      </p>
      <p className="branches-facts">
        <span>{run.agent}</span>
        <StatusBadge status={run.status} />
        {run.durationMs !== undefined && <span>{formatDuration(run.durationMs)}</span>}
        {tokens > 0 && <span>{counted(tokens, "token")}</span>}
        {run.startedAt !== undefined && <TimeAgo at={run.startedAt} />}
      </p>
    </>
  );
}

/** The lines and dots beside the rows that are seen. */
function Lines({
  graph,
  own,
  from,
  to,
  lane,
  selected,
}: {
  readonly graph: Graph<RunSummary>;
  readonly own: ReadonlySet<string>;
  readonly from: number;
  readonly to: number;
  readonly lane: number;
  readonly selected: number;
}): ReactElement {
  const x = (of: number): number => LEFT + of * lane;
  const y = (row: number): number => row * ROW + ROW / 2;
  const seen = graph.rows.filter(({ row, parentRow = row }) => row >= from && parentRow <= to);
  return (
    <svg className="branches-lines" width={x(graph.lanes)} height={graph.rows.length * ROW} aria-hidden="true">
      {seen.map(({ run, row, lane: at, parentRow, link }) => {
        const parent = parentRow === undefined ? undefined : graph.rows[parentRow];
        if (parent === undefined) return null;
        const [px, py, cx, cy] = [x(parent.lane), y(parent.row), x(at), y(row)];
        const path = link === "continue" ? `M${px} ${py}V${cy}` : `M${px} ${py}V${cy - 16}Q${px} ${cy} ${cx} ${cy}`;
        return <path key={run.runId} d={path} data-link={link} data-own={own.has(run.runId)} />;
      })}
      {seen.map(({ run, row, lane: at }) => (
        <circle
          key={run.runId}
          cx={x(at)}
          cy={y(row)}
          r={row === selected ? 7 : 5.5}
          data-status={run.status}
          data-selected={row === selected}
        />
      ))}
    </svg>
  );
}

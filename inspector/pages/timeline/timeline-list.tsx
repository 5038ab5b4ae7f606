/**
 * The rows, of which only those in sight are drawn. One stop for the keyboard: the row that is selected is told as the active
 * one. The newest row stays in sight unless the reader has scrolled away from it.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { KeyboardEvent, ReactElement } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { RunSummary } from "heddle/client";
import { formatCount } from "../../ui/format.ts";
import { Button } from "../../ui/button.tsx";
import { scaled } from "../../ui/scaled.ts";
import type { Group } from "./timeline-group.ts";
import { TimelineRow, rowId } from "./timeline-row.tsx";
import { levelOf } from "./timeline-rows.ts";
import type { Row } from "./timeline-rows.ts";
import type { Timeline } from "./use-timeline.ts";
import { AxisTicks, axisOf } from "./waterfall.tsx";
import type { Axis } from "./waterfall.tsx";
import "./timeline-list.css";

/** How high a row is, and the head; on touch screens rows are higher. */
const ROW_PX = scaled(28);
const TOUCH_ROW_PX = scaled(40);
const HEAD_PX = scaled(30);
/** So many rows are kept at least to be drawn anew. */
const MIN_POOL = 64;
/** So near to its end a list counts as being there. */
const NEAR_PX = 24;

/** What the rows are drawn from. */
export interface TimelineListProps {
  readonly timeline: Timeline;
  readonly runs: ReadonlyMap<string, RunSummary>;
  readonly zoom: "run" | "thread";
  readonly onOpen: () => void;
  readonly onClose: () => void;
}

/** The rows. */
export function TimelineList({ timeline, runs, zoom, onOpen, onClose }: TimelineListProps): ReactElement {
  const { rows, index, selected, grouping, filter, isOpen, toggle, select } = timeline;
  const scroller = useRef<HTMLDivElement>(null);
  const [rowPx] = useState(() => (matchMedia("(pointer: coarse)").matches ? TOUCH_ROW_PX : ROW_PX));
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: 10,
    scrollPaddingStart: HEAD_PX,
    useFlushSync: false,
  });
  const { isFollowing, missed, follow, onScroll } = useTail(timeline, scroller);
  useReveal(timeline, scroller, rowPx, onScroll);
  const onKeyDown = useKeys(timeline, scroller, rowPx, { onOpen, onClose });
  const press = useCallback((row: Row) => (select(row), onOpen()), [select, onOpen]);
  const shown = virtual.getVirtualItems();
  const first = rows[Math.min(rows.length - 1, Math.ceil((virtual.scrollOffset ?? 0) / rowPx))];
  const whole = axisOf(index.startMs, index.endMs);
  const axisFor = (row: Row | undefined): Axis => (zoom === "thread" ? whole : axisOfRun(timeline, row));
  // A row that leaves at one end is drawn anew at the other: cheaper than another one.
  const pool = 2 ** Math.ceil(Math.log2(Math.max(MIN_POOL, shown.length)));
  const isActiveDrawn = shown.some((item) => rows[item.index] === selected);
  return (
    <div className="timeline-list">
      <div
        ref={scroller}
        className="timeline-scroller"
        role="treegrid"
        aria-label="Events"
        aria-rowcount={rows.length + 1}
        aria-colcount={4}
        aria-activedescendant={selected !== undefined && isActiveDrawn ? rowId(selected) : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onScroll={onScroll}
      >
        <Head axis={axisFor(first)} />
        <div role="rowgroup" className="timeline-rows" style={{ height: rows.length * rowPx }}>
          {shown.map(({ index: position }) => {
            const row = rows[position];
            if (row === undefined) return null;
            const { startMs, spanMs } = axisFor(row);
            const group = typeof row === "number" ? undefined : row;
            return (
              <TimelineRow
                key={position % pool}
                row={row}
                index={index}
                stamp={group?.count ?? 0}
                position={position}
                level={levelOf(row, index, grouping)}
                isOpen={group !== undefined && isOpen(group)}
                isSelected={row === selected}
                hits={group === undefined ? undefined : filter?.hitsIn(group)}
                axisStart={startMs}
                axisSpan={spanMs}
                run={group?.kind === "run" ? runs.get(group.id) : undefined}
                top={position * rowPx}
                height={rowPx}
                onPress={press}
                onToggle={toggle}
              />
            );
          })}
        </div>
      </div>
      {!isFollowing && (
        <Button className="timeline-newest" kind="primary" small icon="down" onClick={follow}>
          Newest{missed > 0 && ` (${formatCount(missed)} new)`}
        </Button>
      )}
    </div>
  );
}

function Head({ axis }: { readonly axis: Axis }): ReactElement {
  return (
    <div className="timeline-head" role="row" aria-rowindex={1}>
      <span role="columnheader">Event</span>
      <span role="columnheader" className="timeline-at">
        At
      </span>
      <span role="columnheader" className="timeline-duration">
        Took
      </span>
      <span role="columnheader" className="timeline-lane">
        <span className="visually-hidden">Waterfall</span>
        <AxisTicks axis={axis} />
      </span>
    </div>
  );
}

function axisOfRun({ index }: Timeline, row: Row | undefined): Axis {
  const run = typeof row === "number" ? index.owners[row]?.run : row?.run;
  return axisOf(run?.startMs, run?.endMs);
}

type Scroller = React.RefObject<HTMLDivElement | null>;

/** Stays at the newest row, until the reader scrolls away. */
function useTail({ count, rows, chosen, reveal }: Timeline, scroller: Scroller) {
  const [isFollowing, setFollowing] = useState(reveal.times === 0);
  const seen = useRef(isFollowing ? 0 : count);
  const chosenBefore = useRef(chosen);
  const toEnd = useCallback(() => scroller.current?.scrollTo({ top: scroller.current.scrollHeight }), [scroller]);
  const onScroll = useCallback(() => {
    const list = scroller.current;
    if (list === null) return;
    setFollowing(list.scrollHeight - list.clientHeight - list.scrollTop <= NEAR_PX);
  }, [scroller]);
  useLayoutEffect(() => {
    const isReaders = chosen !== chosenBefore.current;
    chosenBefore.current = chosen;
    // What was opened or closed by the reader is no reason to leave the place; what a filter found later is like what came.
    if (isReaders) onScroll();
    else if (isFollowing) toEnd();
    if (isFollowing) seen.current = count;
  }, [isFollowing, count, rows, chosen, toEnd, onScroll]);
  const follow = useCallback(() => {
    setFollowing(true);
    toEnd();
  }, [toEnd]);
  return { isFollowing, missed: count - seen.current, follow, onScroll };
}

/** Brings the selection into view whenever it was set: to the middle after a jump, else as little as is needed. */
function useReveal(
  { reveal, rows, selected, filter, count }: Timeline,
  scroller: Scroller,
  rowPx: number,
  onScrolled: () => void,
): void {
  const done = useRef(0);
  useEffect(() => {
    const list = scroller.current;
    if (reveal.times === done.current || selected === undefined || list === null) return;
    const position = rows.indexOf(selected);
    // What it is in may still be about to open.
    if (position < 0) return;
    const top = position * rowPx;
    const sight = list.clientHeight - HEAD_PX;
    const isInView = top >= list.scrollTop && top + rowPx <= list.scrollTop + sight;
    // What a filter has yet to find may push it out again.
    const isLooking = reveal.isJump && filter !== undefined && filter.read < count;
    if (!isInView || !isLooking) done.current = reveal.times;
    if (isInView) return;
    if (reveal.isJump) list.scrollTop = top - sight / 2;
    else list.scrollTop = top < list.scrollTop ? top : top + rowPx - sight;
    // There and back within a frame is told by no event.
    onScrolled();
  });
}

/** What keys do. */
function useKeys(
  { rows, selected, index, select, toggle, isOpen, grouping }: Timeline,
  scroller: Scroller,
  rowPx: number,
  { onOpen, onClose }: { readonly onOpen: () => void; readonly onClose: () => void },
): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const position = selected === undefined ? -1 : rows.indexOf(selected);
    const list = scroller.current;
    const inSight = Math.max(1, Math.floor(((list?.clientHeight ?? 0) - HEAD_PX) / rowPx) - 1);
    const top = Math.ceil((list?.scrollTop ?? 0) / rowPx);
    const to = (next: number): void => select(rows[Math.max(0, Math.min(rows.length - 1, next))]);
    const group: Group | undefined = typeof selected === "number" ? undefined : selected;
    const parent = typeof selected === "number" ? index.owners[selected] : selected?.parent;
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: () => to(position < 0 ? top : position + 1),
      ArrowUp: () => to(position < 0 ? top : position - 1),
      PageDown: () => to((position < 0 ? top : position) + inSight),
      PageUp: () => to((position < 0 ? top : position) - inSight),
      Home: () => to(0),
      End: () => to(rows.length - 1),
      ArrowRight: () => {
        if (group !== undefined && !isOpen(group)) toggle(group, true);
        else if (group !== undefined) to(position + 1);
      },
      ArrowLeft: () => {
        if (group !== undefined && isOpen(group)) toggle(group, false);
        else if (parent !== undefined && grouping !== "flat") select(grouping === "run" ? parent.run : parent);
      },
      Enter: () => {
        if (position < 0) to(top);
        onOpen();
      },
      " ": () => group !== undefined && toggle(group),
      Escape: onClose,
    };
    const act = keys[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
}

/**
 * The timeline of a thread in a component: the log, put together as the address says, filtered, and where one is in it. Groups
 * are added to in place, so whoever draws one has to be told its count too.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { KINDS } from "../../log/event-kinds.ts";
import type { Kind } from "../../log/event-kinds.ts";
import type { LogView } from "../../log/thread-log.ts";
import { useLog } from "../../log/use-log.ts";
import { currentRoute, go, linkTo, useQueryValue, useRoute } from "../../route.ts";
import { say } from "../../ui/toast.tsx";
import { JUMPS, jumpText, jumpTo, rowOf, standIn } from "./timeline-address.ts";
import { TimelineFilter, asksAnything } from "./timeline-filter.ts";
import type { FilterSpec } from "./timeline-filter.ts";
import type { Group } from "./timeline-group.ts";
import { TimelineIndex } from "./timeline-index.ts";
import { GROUPINGS, isOpenIn, rowsOf } from "./timeline-rows.ts";
import type { Grouping, Row } from "./timeline-rows.ts";

/** Slices in which a filter looks at events: two fit into a frame. */
const SLICE_MS = 8;
/** While it looks, what it found so far is shown so often. */
const SHOW_MS = 120;
/** The address follows the selection once it rests: browsers refuse to change it too often. */
const ADDRESS_MS = 200;

const isKind = (name: string): name is Kind => Object.hasOwn(KINDS, name);
const isGrouping = (name: string): name is Grouping => Object.hasOwn(GROUPINGS, name);

/** What the address asks for. */
export function useFilterSpec(): FilterSpec {
  const { query } = useRoute();
  const { kinds = "", only = "", subagent = "", q = "", problems = "" } = query;
  return useMemo(
    () => ({
      kinds: kinds.split(",").filter(isKind),
      runId: only,
      subagent,
      text: q,
      problems: problems !== "",
    }),
    [kinds, only, subagent, q, problems],
  );
}

/** A filter that looks at events while nothing else has to be done. */
function useFilter(index: TimelineIndex, spec: FilterSpec, count: number) {
  const filter = useMemo(() => {
    if (!asksAnything(spec)) return undefined;
    const made = new TimelineFilter(index, spec);
    made.advance(SLICE_MS);
    return made;
  }, [index, spec]);
  const [read, setRead] = useState(0);
  useEffect(() => {
    if (filter === undefined) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let shownAt = performance.now();
    const look = (): void => {
      const isDone = filter.advance(SLICE_MS);
      if (isDone || performance.now() - shownAt > SHOW_MS) {
        shownAt = performance.now();
        setRead(filter.read);
      }
      if (!isDone) timer = setTimeout(look, 0);
    };
    look();
    return () => clearTimeout(timer);
  }, [filter, count]);
  return { filter, read };
}

/** What of the log is open, and where one is in it. */
export interface Timeline {
  /** The events, and what they belong to. */
  readonly index: TimelineIndex;
  /** How many events of them are shown. */
  readonly count: number;
  /** The log that they are from. */
  readonly log: ReturnType<typeof useLog>;
  /** The rows. */
  readonly rows: readonly Row[];
  /** How events are put together. */
  readonly grouping: Grouping;
  /** Which of them are shown; undefined for all. */
  readonly filter: TimelineFilter | undefined;
  /** How many events the filter has looked at. */
  readonly filterRead: number;
  /** The row that is selected. */
  readonly selected: Row | undefined;
  /** Counts up whenever the selection has to be brought into view: in the middle for a jump. */
  readonly reveal: { readonly times: number; readonly isJump: boolean };
  /** Selects a row, and opens what it is in. */
  readonly select: (row: Row | undefined, options?: { readonly isJump?: boolean }) => void;
  /** What the reader opened and closed: another one whenever that changes. */
  readonly chosen: ReadonlyMap<Group, boolean>;
  /** Whether a group is open. */
  readonly isOpen: (group: Group) => boolean;
  /** Opens or closes a group. */
  readonly toggle: (group: Group, isOpen?: boolean) => void;
  /** Opens or closes all messages, calls and thoughts. */
  readonly toggleAll: (isOpen: boolean) => void;
  /** Whether what comes new is not shown yet. */
  readonly isPaused: boolean;
  /** Stops showing what comes new, or begins again. */
  readonly pause: (isPaused: boolean) => void;
}

/** The timeline of a thread. `onJump` is called where the address selects something. */
export function useTimeline(threadId: string, onJump: () => void): Timeline {
  const log = useLog(threadId);
  const [pause, setPause] = useState<{ readonly of: LogView["entries"]; readonly at: number }>();
  const [chosen, setChosen] = useState<ReadonlyMap<Group, boolean>>(new Map());
  const [groupingName] = useQueryValue("group");
  const grouping = isGrouping(groupingName) ? groupingName : "nested";
  const index = useMemo(() => new TimelineIndex(log.entries), [log.entries]);
  // What was stopped in another log of this name is not stopped here.
  const pausedAt = pause?.of === log.entries ? pause.at : undefined;
  const count = Math.min(pausedAt ?? Infinity, log.count);
  useMemo(() => index.advance(count), [index, count]);
  const { filter, read } = useFilter(index, useFilterSpec(), count);
  const rows = useMemo(
    () => rowsOf(index, grouping, chosen, filter),
    // The index and the filter are added to in place.
    [index, count, grouping, chosen, filter, read],
  );
  const toggle = useCallback(
    (group: Group, isOpen?: boolean) =>
      setChosen((before) => new Map(before).set(group, isOpen ?? !isOpenIn(before, group))),
    [],
  );
  const open = useCallback((row: Row) => setChosen((before) => opened(before, row, index)), [index]);
  const selection = useSelection(index, count, log.status === "loading", open, onJump);
  return {
    index,
    count,
    log,
    rows,
    grouping,
    filter,
    filterRead: filter?.read ?? 0,
    ...selection,
    selected: standIn(selection.selected, grouping),
    chosen,
    isOpen: useCallback((group) => isOpenIn(chosen, group), [chosen]),
    toggle,
    toggleAll: useCallback((isOpen) => setChosen(allOf(index, isOpen)), [index]),
    isPaused: pausedAt !== undefined,
    pause: (isPaused) => setPause(isPaused ? { of: log.entries, at: log.count } : undefined),
  };
}

function opened(chosen: ReadonlyMap<Group, boolean>, row: Row, index: TimelineIndex): ReadonlyMap<Group, boolean> {
  let open: Map<Group, boolean> | undefined;
  const parent = typeof row === "number" ? index.owners[row] : row.parent;
  for (let group = parent; group !== undefined; group = group.parent) {
    if (!isOpenIn(open ?? chosen, group)) open = new Map(open ?? chosen).set(group, true);
  }
  return open ?? chosen;
}

function allOf(index: TimelineIndex, isOpen: boolean): ReadonlyMap<Group, boolean> {
  const all = new Map<Group, boolean>();
  const visit = (group: Group): void => {
    // Runs stay open: what is closed can be looked through at a glance.
    if (group.kind !== "run") all.set(group, isOpen);
    for (const item of group.items) if (typeof item !== "number") visit(item);
  };
  index.runs.forEach(visit);
  return all;
}

function useSelection(
  index: TimelineIndex,
  count: number,
  isLoading: boolean,
  open: (row: Row) => void,
  onJump: () => void,
) {
  const { query } = useRoute();
  const asked = jumpText(query);
  // A row means something in the log that it is of only: another of this name may take its place.
  const [held, setHeld] = useState<{ readonly of: TimelineIndex; readonly row: Row | undefined }>();
  const [reveal, setReveal] = useState({ times: 0, isJump: false });
  /** What of the address is dealt with: it was jumped to, or written here. */
  const handled = useRef({ of: index, text: "" });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const show = useCallback(
    (row: Row | undefined, isJump: boolean) => {
      setHeld({ of: index, row });
      if (row === undefined) return;
      open(row);
      setReveal(({ times }) => ({ times: times + 1, isJump }));
    },
    [index, open],
  );
  const select = useCallback(
    (row: Row | undefined, { isJump = false }: { readonly isJump?: boolean } = {}) => {
      show(row, isJump);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        const { page, thread, query: before } = currentRoute();
        const none = Object.fromEntries(JUMPS.map((name) => [name, undefined]));
        const jump = jumpTo(row, index);
        handled.current = { of: index, text: jumpText(jump) };
        go(linkTo(page, thread, { ...before, ...none, ...jump }), { replace: true });
      }, ADDRESS_MS);
    },
    [index, show],
  );
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    const isNew = asked !== handled.current.text;
    if (!isNew && handled.current.of === index) return;
    const row = asked === "" ? undefined : rowOf(asked, index);
    if (asked !== "" && row === undefined && isLoading) return;
    handled.current = { of: index, text: asked };
    if (asked !== "" && row === undefined && isNew)
      say("What the link points to is not in this thread.", { failure: true });
    show(row, true);
    if (row !== undefined) onJump();
  }, [asked, index, count, isLoading, show]);
  return { selected: held?.of === index ? held.row : undefined, reveal, select };
}

/**
 * The rows of the list, with the keyboard: arrows, Home and End move, Enter opens, Space selects, F2 renames, Delete deletes. What
 * is selected is acted on from the bar above, which on narrow screens is the only place for it.
 */
import { useEffect, useRef, useState } from "react";
import type { KeyboardEvent, ReactElement } from "react";
import type { ThreadSummary } from "heddle/client";
import { useHeddle } from "heddle/react";
import { Button } from "../../ui/button.tsx";
import { formatCount } from "../../ui/format.ts";
import { sayFailure } from "../../ui/toast.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { neighbourOf, targetOf } from "./row-target.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { archiveAll, deleteAll, exportAll } from "./thread-actions.ts";
import { ThreadRow } from "./thread-row.tsx";
import type { Rights } from "./thread-row.tsx";
import type { ListHandle } from "./use-thread-list.ts";

interface RowsProps {
  readonly list: ListHandle;
  readonly threads: readonly ThreadSummary[];
  readonly rights: Rights;
}

/** The rows. */
export function ThreadRows({ list, threads, rights }: RowsProps): ReactElement {
  const { threads: all } = useHeddle();
  const { rows, current, setCurrentId, focus, focusSoon } = useCurrent(threads);
  const { selected, setSelected, select, unselect } = useSelection();
  const [edited, setEditedId] = useState<string>();
  // A row that left while its title was written is written no more.
  const editedId = threads.find(({ threadId }) => threadId === edited)?.threadId;
  const [doomed, setDoomed] = useState<readonly ThreadSummary[]>([]);
  const chosen = threads.filter(({ threadId }) => selected.has(threadId));

  const left = (gone: readonly ThreadSummary[]): void => {
    for (const { threadId } of gone) list.forget(threadId);
    unselect(gone);
  };
  const archive = async (which: readonly ThreadSummary[], archived: boolean): Promise<void> => {
    const next = neighbourOf(threads, which);
    left(await archiveAll(all, which, archived));
    focusSoon(next, which);
  };
  const remove = async (): Promise<void> => {
    const next = neighbourOf(threads, doomed);
    left(await deleteAll(all, doomed));
    // Others may be asked about meanwhile.
    setDoomed((asked) => (asked === doomed ? [] : asked));
    focusSoon(next, doomed);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (current === undefined || event.ctrlKey || event.metaKey || event.altKey || editedId !== undefined) return;
    const target = targetOf(event.key, threads, threads.indexOf(current));
    const isOnName = event.target instanceof HTMLElement && event.target.matches(".threads-name");
    if (target !== undefined) focus(target);
    else if (rights.mayChange && event.key === "F2") setEditedId(current.threadId);
    else if (rights.mayChange && event.key === "Delete") setDoomed(chosen.length > 0 ? chosen : [current]);
    else if (rights.mayChange && event.key === " " && isOnName) {
      select(current.threadId, !selected.has(current.threadId));
    } else return;
    event.preventDefault();
  };
  return (
    <>
      <SelectionBar
        {...{ threads, chosen, rights, setSelected }}
        onRename={(thread) => setEditedId(thread.threadId)}
        onArchive={(archived) => void archive(chosen, archived)}
        onExport={() => void exportAll(all, chosen)}
        onDelete={() => setDoomed(chosen)}
        onClear={() => {
          setSelected(new Set());
          focusSoon(current);
        }}
      />
      <ul
        ref={rows}
        className="threads-rows"
        aria-label="Conversations"
        data-plain={!rights.mayChange}
        onKeyDown={onKeyDown}
        onFocus={({ target }) => setCurrentId(rowId(target.closest("li")))}
      >
        {threads.map((thread) => (
          <ThreadRow
            key={thread.threadId}
            {...{ thread, rights }}
            isCurrent={thread === current}
            isSelected={selected.has(thread.threadId)}
            isEdited={thread.threadId === editedId}
            onSelect={(isSelected) => select(thread.threadId, isSelected)}
            onEdit={(isEdited) => setEditedId(isEdited ? thread.threadId : undefined)}
            onEnd={() => {
              setEditedId(undefined);
              focusSoon(thread);
            }}
            onArchive={() => void archive([thread], !thread.archived)}
            onExport={() => void exportAll(all, [thread])}
            onDelete={() => setDoomed([thread])}
          />
        ))}
      </ul>
      <Foot list={list} count={threads.length} rights={rights} />
      {doomed.length > 0 && <DeleteDialog threads={doomed} onDelete={remove} onClose={() => setDoomed([])} />}
    </>
  );
}

/** The row that the keyboard is at. */
function useCurrent(threads: readonly ThreadSummary[]) {
  const rows = useRef<HTMLUListElement>(null);
  const [currentId, setCurrentId] = useState<string>();
  const current = threads.find(({ threadId }) => threadId === currentId) ?? threads[0];
  const focus = (thread: ThreadSummary | undefined): void => {
    if (thread === undefined) return;
    setCurrentId(thread.threadId);
    const row = [...(rows.current?.children ?? [])].find((each) => rowId(each) === thread.threadId);
    row?.querySelector<HTMLElement>(".threads-name")?.focus();
  };
  // When what is over the row, or in its place, is gone. Who does something else by then is left to it.
  const [wanted, setWanted] = useState<{ thread: ThreadSummary | undefined; leaving: readonly ThreadSummary[] }>();
  useEffect(() => {
    if (wanted === undefined) return;
    const { activeElement } = document;
    const at = rowId(activeElement?.closest("li") ?? null);
    const isFree = activeElement === document.body || wanted.leaving.some(({ threadId }) => threadId === at);
    if (isFree) focus(wanted.thread);
  }, [wanted]);
  const focusSoon = (thread: ThreadSummary | undefined, leaving: readonly ThreadSummary[] = []): void =>
    setWanted({ thread, leaving });
  return { rows, current, setCurrentId, focus, focusSoon };
}

/** The rows that are selected. */
function useSelection() {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const select = (threadId: string, isSelected: boolean): void => {
    const next = new Set(selected);
    if (isSelected) next.add(threadId);
    else next.delete(threadId);
    setSelected(next);
  };
  const unselect = (gone: readonly ThreadSummary[]): void =>
    setSelected((before) => new Set([...before].filter((id) => gone.every(({ threadId }) => threadId !== id))));
  return { selected, setSelected, select, unselect };
}

const rowId = (row: Element | null): string | undefined => row?.getAttribute("data-thread") ?? undefined;

function Foot({
  list,
  count,
  rights,
}: {
  readonly list: ListHandle;
  readonly count: number;
  readonly rights: Rights;
}): ReactElement {
  return (
    <footer className="threads-foot">
      <p role="status">
        {formatCount(count)}
        {list.hasMore ? " shown, and there are more" : count === 1 ? " conversation" : " conversations"}
      </p>
      {list.hasMore && (
        <Button icon="down" disabled={list.isLoading} onClick={() => void list.more().catch(sayFailure)}>
          {list.isLoading ? "Loading…" : "Load more"}
        </Button>
      )}
      <p className="threads-keys">
        <kbd>↑</kbd> <kbd>↓</kbd> move · <kbd>Enter</kbd> opens
        {rights.mayChange && (
          <>
            {" "}
            · <kbd>Space</kbd> selects · <kbd>F2</kbd> renames · <kbd>Del</kbd> deletes
          </>
        )}
      </p>
    </footer>
  );
}

/** One conversation of the list: what it is called, how it stands, when it changed, and what can be done with it. */
import { useState } from "react";
import type { ReactElement } from "react";
import type { ThreadSummary } from "heddle/client";
import { useHeddle } from "heddle/react";
import { linkTo } from "../../route.ts";
import { IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { TimeAgo } from "../../ui/time-ago.tsx";
import { nameOf, renameThread } from "./thread-actions.ts";

const MAX_TITLE = 1000;

/** What may be done with conversations. */
export interface Rights {
  /** Rename, archive, delete. */
  readonly mayChange: boolean;
  /** Export, import. */
  readonly mayCopy: boolean;
}

/** What is asked for by a row. */
export interface RowActions {
  readonly onSelect: (isSelected: boolean) => void;
  readonly onEdit: (isEdited: boolean) => void;
  /** The title was changed, or left, by the keyboard: the row has the focus again. */
  readonly onEnd: () => void;
  readonly onArchive: () => void;
  readonly onExport: () => void;
  readonly onDelete: () => void;
}

/** A row. Only the current one is on the way of the Tab key. */
export function ThreadRow({
  thread,
  rights,
  isCurrent,
  isSelected,
  isEdited,
  ...actions
}: RowActions & {
  readonly thread: ThreadSummary;
  readonly rights: Rights;
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly isEdited: boolean;
}): ReactElement {
  const { threadId, status, archived, createdAt, updatedAt } = thread;
  const name = nameOf(thread);
  const tabIndex = isCurrent ? 0 : -1;
  return (
    <li className="threads-row" data-thread={threadId} data-selected={isSelected}>
      {rights.mayChange && (
        <label className="threads-check">
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            tabIndex={tabIndex}
            checked={isSelected}
            onChange={(event) => actions.onSelect(event.currentTarget.checked)}
          />
        </label>
      )}
      {isEdited ? (
        <TitleField thread={thread} onEnd={actions.onEnd} onLeave={() => actions.onEdit(false)} />
      ) : (
        <a className="threads-name" href={linkTo("talk", threadId)} tabIndex={tabIndex} title={name}>
          <strong>{name}</strong>
          {name !== threadId && <code>{threadId}</code>}
        </a>
      )}
      <span className="threads-status">
        <StatusBadge status={status} />
        {archived && (
          <em className="threads-archived">
            <Icon name="archive" size={14} /> Archived
          </em>
        )}
      </span>
      <span className="threads-when threads-began">
        <span className="threads-when-word">Started </span>
        <TimeAgo at={createdAt} />
      </span>
      <span className="threads-when">
        <span className="threads-when-word">Changed </span>
        <TimeAgo at={updatedAt} />
      </span>
      <RowButtons thread={thread} rights={rights} tabIndex={tabIndex} {...actions} />
    </li>
  );
}

function RowButtons({
  thread,
  rights: { mayChange, mayCopy },
  tabIndex,
  ...actions
}: RowActions & {
  readonly thread: ThreadSummary;
  readonly rights: Rights;
  readonly tabIndex: number;
}): ReactElement {
  const name = nameOf(thread);
  const { archived } = thread;
  return (
    <span className="threads-buttons">
      <a
        className="icon-button"
        href={linkTo("timeline", thread.threadId)}
        tabIndex={tabIndex}
        aria-label={`Timeline of ${name}`}
        title="Timeline"
      >
        <Icon name="timeline" />
      </a>
      {mayChange && (
        <>
          <IconButton
            icon="edit"
            label={`Rename ${name}`}
            title="Rename (F2)"
            tabIndex={tabIndex}
            onClick={() => actions.onEdit(true)}
          />
          <IconButton
            icon={archived ? "refresh" : "archive"}
            label={`${archived ? "Restore" : "Archive"} ${name}`}
            title={archived ? "Restore" : "Archive"}
            tabIndex={tabIndex}
            onClick={actions.onArchive}
          />
        </>
      )}
      {mayCopy && (
        <IconButton
          icon="download"
          label={`Export ${name}`}
          title="Export"
          tabIndex={tabIndex}
          onClick={actions.onExport}
        />
      )}
      {mayChange && (
        <IconButton
          icon="trash"
          label={`Delete ${name}`}
          title="Delete (Del)"
          tabIndex={tabIndex}
          onClick={actions.onDelete}
        />
      )}
    </span>
  );
}

function TitleField({
  thread,
  onEnd,
  onLeave,
}: {
  readonly thread: ThreadSummary;
  readonly onEnd: () => void;
  readonly onLeave: () => void;
}): ReactElement {
  const { threads } = useHeddle();
  const [title, setTitle] = useState(thread.title ?? "");
  return (
    <input
      className="field threads-title-field"
      aria-label="Title"
      placeholder="Without a title the id is shown"
      autoFocus
      maxLength={MAX_TITLE}
      value={title}
      onFocus={(event) => event.currentTarget.select()}
      onChange={(event) => setTitle(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") void renameThread(threads, thread, title);
        if (event.key === "Enter" || event.key === "Escape") onEnd();
      }}
      onBlur={() => {
        void renameThread(threads, thread, title);
        onLeave();
      }}
    />
  );
}

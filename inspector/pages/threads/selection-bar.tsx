/** The head of the list: its columns or, while some are selected, what can be done with those. */
import type { ReactElement } from "react";
import type { ThreadSummary } from "heddle/client";
import { linkTo } from "../../route.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { formatCount } from "../../ui/format.ts";
import type { Rights } from "./thread-row.tsx";

interface BarActions {
  readonly chosen: readonly ThreadSummary[];
  readonly rights: Rights;
  readonly onRename: (thread: ThreadSummary) => void;
  readonly onArchive: (archived: boolean) => void;
  readonly onExport: () => void;
  readonly onDelete: () => void;
  readonly onClear: () => void;
}

/** The head of the list. */
export function SelectionBar({
  threads,
  chosen,
  rights,
  setSelected,
  ...actions
}: BarActions & {
  readonly threads: readonly ThreadSummary[];
  readonly setSelected: (ids: ReadonlySet<string>) => void;
}): ReactElement {
  const [first] = chosen;
  return (
    <div className="threads-head" data-plain={!rights.mayChange}>
      {rights.mayChange && (
        <label className="threads-check">
          <input
            type="checkbox"
            aria-label="Select all that are shown"
            checked={chosen.length === threads.length}
            ref={(box) => {
              if (box !== null) box.indeterminate = first !== undefined && chosen.length < threads.length;
            }}
            onChange={(event) =>
              setSelected(new Set(event.currentTarget.checked ? threads.map(({ threadId }) => threadId) : []))
            }
          />
        </label>
      )}
      {first === undefined ? <Columns /> : <Selected {...{ chosen, rights }} {...actions} />}
    </div>
  );
}

function Columns(): ReactElement {
  return (
    <>
      <span>Conversation</span>
      <span className="threads-column">Status</span>
      <span className="threads-column threads-began">Started</span>
      <span className="threads-column">Changed</span>
    </>
  );
}

function Selected({ chosen, rights, ...actions }: BarActions): ReactElement {
  const [first, second] = chosen;
  const only = second === undefined ? first : undefined;
  return (
    <div className="threads-selection" role="group" aria-label="Selected conversations">
      <span role="status">{formatCount(chosen.length)} selected</span>
      {only !== undefined && (
        <LinkButton small icon="timeline" href={linkTo("timeline", only.threadId)}>
          Timeline
        </LinkButton>
      )}
      {only !== undefined && (
        <Button small icon="edit" onClick={() => actions.onRename(only)}>
          Rename
        </Button>
      )}
      {chosen.some(({ archived }) => !archived) && (
        <Button small icon="archive" onClick={() => actions.onArchive(true)}>
          Archive
        </Button>
      )}
      {chosen.some(({ archived }) => archived) && (
        <Button small icon="refresh" onClick={() => actions.onArchive(false)}>
          Restore
        </Button>
      )}
      <Button
        small
        icon="download"
        disabled={!rights.mayCopy}
        {...(!rights.mayCopy && { title: "Exporting needs the role operator." })}
        onClick={actions.onExport}
      >
        Export
      </Button>
      <Button small kind="danger" icon="trash" onClick={actions.onDelete}>
        Delete
      </Button>
      <Button small kind="quiet" onClick={actions.onClear}>
        Clear
      </Button>
    </div>
  );
}

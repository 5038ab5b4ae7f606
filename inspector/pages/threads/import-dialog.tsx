/**
 * Imports files, one conversation each, and says what came of every one. A conversation whose id is taken is offered another id:
 * nothing that is there is ever changed by an import.
 */
import { useEffect, useRef, useState } from "react";
import type { ReactElement } from "react";
import { HeddleError } from "heddle/protocol";
import { useHeddle } from "heddle/react";
import { linkTo } from "../../route.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { formatBytes } from "../../ui/format.ts";
import { say, sayFailure } from "../../ui/toast.tsx";
import { useIsHere } from "../../ui/use-is-here.ts";
import { copyId, threadIn } from "./export-file.ts";
import "../../ui/field.css";

type Outcome =
  | { readonly kind: "busy" }
  | { readonly kind: "done"; readonly threadId: string; readonly name: string }
  /** `problem` is why another id that was tried is none. */
  | { readonly kind: "taken"; readonly threadId: string; readonly problem?: string }
  | { readonly kind: "failed"; readonly message: string; readonly retry: (() => void) | undefined };

/** Imports what it is given, at once. */
export function ImportDialog({
  files,
  onClose,
}: {
  readonly files: readonly File[];
  readonly onClose: () => void;
}): ReactElement {
  return (
    <Dialog title={files.length === 1 ? "Import a conversation" : `Import ${files.length} files`} onClose={onClose}>
      <ul className="threads-imports" aria-live="polite">
        {files.map((file, index) => (
          <Import key={`${index} ${file.name}`} file={file} />
        ))}
      </ul>
      <div className="threads-dialog-actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Import({ file }: { readonly file: File }): ReactElement {
  const { threads } = useHeddle();
  const [outcome, setOutcome] = useState<Outcome>({ kind: "busy" });
  const started = useRef(false);
  const isHere = useIsHere();
  const run = async (as?: string): Promise<void> => {
    setOutcome({ kind: "busy" });
    let lines = "";
    try {
      lines = await file.text();
      const { threadId, title } = await threads.import(lines, as);
      setOutcome({ kind: "done", threadId, name: title ?? threadId });
      if (!isHere()) say(`${file.name} was imported.`);
    } catch (error) {
      // Who closed the window is told all the same.
      if (!isHere()) sayFailure(error);
      const code = error instanceof HeddleError ? error.code : undefined;
      const own = threadIn(lines) ?? "thread";
      if (code === "thread-exists") setOutcome({ kind: "taken", threadId: as ?? own });
      else if (as !== undefined && code === "input-invalid")
        setOutcome({ kind: "taken", threadId: own, problem: messageOf(error) });
      else
        setOutcome({
          kind: "failed",
          message: messageOf(error),
          retry: mayHaveDone(error) ? () => void run(as) : undefined,
        });
    }
  };
  useEffect(() => {
    // An import happens once, however often the effect is tried.
    if (started.current) return;
    started.current = true;
    void run();
  }, []);
  return (
    <li data-outcome={outcome.kind}>
      <p className="threads-import-file">
        <Icon name={outcome.kind === "done" ? "check" : outcome.kind === "busy" ? "upload" : "warning"} />
        <span>{file.name}</span>
        <small>{formatBytes(file.size)}</small>
      </p>
      {outcome.kind === "busy" && <p>Importing…</p>}
      {outcome.kind === "done" && (
        <p>
          Imported as <a href={linkTo("talk", outcome.threadId)}>{outcome.name}</a>.
        </p>
      )}
      {outcome.kind === "failed" && (
        <div className="threads-import-failure">
          <p>
            {outcome.message}
            {outcome.retry !== undefined && " It may have been imported: trying again tells."}
          </p>
          {outcome.retry !== undefined && (
            <Button small icon="refresh" onClick={outcome.retry}>
              Try again
            </Button>
          )}
        </div>
      )}
      {outcome.kind === "taken" && (
        <AnotherId taken={outcome.threadId} problem={outcome.problem} onChosen={(id) => void run(id)} />
      )}
    </li>
  );
}

/** What is wrong with a file is told with what came of it; of anything else it is not known. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return mayHaveDone(error) || message.endsWith(NOTHING) ? message : `${message} ${NOTHING}`;
}

const NOTHING = "Nothing was imported.";

/** An answer that got lost says nothing about what the server did. */
const mayHaveDone = (error: unknown): boolean => error instanceof HeddleError && error.code === "server-unreachable";

function AnotherId({
  taken,
  problem,
  onChosen,
}: {
  readonly taken: string;
  readonly problem: string | undefined;
  readonly onChosen: (threadId: string) => void;
}): ReactElement {
  const [id, setId] = useState(copyId(taken));
  return (
    <form
      className="threads-another-id"
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim() !== "") onChosen(id.trim());
      }}
    >
      <p>
        There is a conversation <code>{taken}</code> already, and it stays as it is. Import this one under another id:
      </p>
      <input
        className="field"
        aria-label="Another id"
        maxLength={256}
        value={id}
        onChange={(event) => setId(event.currentTarget.value)}
      />
      <Button kind="primary" type="submit">
        Import
      </Button>
      {problem !== undefined && <p role="alert">{problem}</p>}
    </form>
  );
}

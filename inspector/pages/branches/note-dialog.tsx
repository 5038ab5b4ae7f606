/** Notes something about a run: it goes into the log, outside of what the agent says. */
import { useId, useState } from "react";
import type { FormEvent, ReactElement } from "react";
import { useHeddle } from "heddle/react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { say, sayFailure } from "../../ui/toast.tsx";

const KINDS = { note: "Note", "thumbs-up": "Thumbs up", "thumbs-down": "Thumbs down" } as const;

/** Asks for the note, and keeps it. */
export function NoteDialog({
  threadId,
  runId,
  onClose,
}: {
  readonly threadId: string;
  readonly runId: string;
  readonly onClose: () => void;
}): ReactElement {
  const client = useHeddle();
  const id = useId();
  const [text, setText] = useState("");
  const [type, setType] = useState("note");
  const [isKeeping, setKeeping] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (isKeeping) return;
    setKeeping(true);
    const said = text.trim();
    try {
      await client.thread(threadId).annotate(type, said === "" ? undefined : { text: said }, runId);
      say("Noted.");
      onClose();
    } catch (error) {
      sayFailure(error);
      setKeeping(false);
    }
  };
  return (
    <Dialog title="Note something about this run" onClose={onClose}>
      <form className="fork-form" onSubmit={(event) => void submit(event)}>
        <label htmlFor={`${id}-type`}>Kind</label>
        <select
          id={`${id}-type`}
          className="field"
          value={type}
          onChange={(event) => setType(event.currentTarget.value)}
        >
          {Object.entries(KINDS).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
        <label htmlFor={`${id}-text`}>Text</label>
        <textarea
          id={`${id}-text`}
          className="field"
          rows={3}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <div className="fork-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={isKeeping || (type === "note" && text.trim() === "")}>
            {isKeeping ? "Keeping…" : "Keep"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

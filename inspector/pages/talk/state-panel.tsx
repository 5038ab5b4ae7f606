/** The state that agent and application share: as it is now, and as JSON to change it. A change goes with the next run. */
import { useState } from "react";
import type { ReactElement } from "react";
import { useSharedState } from "heddle/react";
import { Button, IconButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { say } from "../../ui/toast.tsx";
import { useTalk } from "./talk-context.ts";
import "../../ui/field.css";
import "./state-panel.css";

const isEmpty = (state: unknown): boolean =>
  state === undefined || state === null || (typeof state === "object" && Object.keys(state).length === 0);

/** The shared state. */
export function StatePanel({ onClose }: { readonly onClose: () => void }): ReactElement {
  const { readOnly, facts } = useTalk();
  // Before the conversation is open every state looks empty: who changed that would put nothing in place of it.
  const { isKnown } = facts;
  const [state, setState] = useSharedState();
  const [draft, setDraft] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const save = (): void => {
    try {
      setState(JSON.parse(draft ?? ""));
      setDraft(undefined);
      setProblem(undefined);
      say("Changed here. The agent gets it with your next message.");
    } catch {
      setProblem("This is not JSON yet. Texts stand in quotes, names too.");
    }
  };
  const text = (): string => JSON.stringify(state ?? {}, undefined, 2);
  return (
    <aside className="talk-state" aria-label="Shared state">
      <header>
        <h2>State</h2>
        {draft === undefined && <CopyButton text={text} what="State" />}
        {draft === undefined && isKnown && readOnly === undefined && (
          <Button small icon="edit" onClick={() => setDraft(text())}>
            Edit
          </Button>
        )}
        <IconButton icon="close" label="Close the state" onClick={onClose} />
      </header>
      {draft === undefined ? (
        <div className="talk-state-view" tabIndex={0} role="group" aria-label="The state now">
          {!isKnown && isEmpty(state) ? <p role="status">Opening the conversation…</p> : null}
          {isKnown && isEmpty(state) ? <p>Empty. An agent that shares state fills it in while it works.</p> : null}
          {isEmpty(state) ? null : <JsonView value={state} openTo={3} />}
        </div>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <textarea
            className="field"
            aria-label="The state as JSON"
            spellCheck={false}
            value={draft}
            onChange={(event) => setDraft(event.currentTarget.value)}
          />
          {problem !== undefined && <p role="alert">{problem}</p>}
          <div>
            <Button
              small
              kind="quiet"
              onClick={() => {
                setDraft(undefined);
                setProblem(undefined);
              }}
            >
              Cancel
            </Button>
            <Button small kind="primary" type="submit">
              Save
            </Button>
          </div>
        </form>
      )}
    </aside>
  );
}

/** Goes on from a run with a new message, on a branch of its own: which agent is asked, and what. */
import { useId, useState } from "react";
import type { FormEvent, ReactElement } from "react";
import type { RunSummary } from "heddle/client";
import { useHeddle } from "heddle/react";
import { useAgents } from "../server/use-agents.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { say, sayFailure } from "../ui/toast.tsx";
import { useIsHere } from "../ui/use-is-here.ts";
import { begun } from "./begun.ts";
import "../ui/field.css";
import "./fork-dialog.css";

/** Asks for the message, and starts the run. */
export function ForkDialog({
  threadId,
  run,
  asked,
  onClose,
  onStarted,
}: {
  readonly threadId: string;
  /** The run that it goes on from. */
  readonly run: RunSummary;
  /** What that run was asked. */
  readonly asked: string;
  readonly onClose: () => void;
  /** Called with the new run, once it has begun. */
  readonly onStarted: (runId: string) => void;
}): ReactElement {
  const client = useHeddle();
  const id = useId();
  const { agents = [] } = useAgents();
  const names = new Set([run.agent, ...agents.map(({ name }) => name)]);
  const [agent, setAgent] = useState(run.agent);
  const [text, setText] = useState("");
  const [isStarting, setStarting] = useState(false);
  const [problem, setProblem] = useState<string>();
  const isHere = useIsHere();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (text.trim() === "" || isStarting) return;
    setStarting(true);
    setProblem(undefined);
    try {
      const started = client.thread(threadId).fork(agent, run.runId, text.trim());
      await begun(started);
      // Who has gone elsewhere meanwhile stays there.
      if (isHere()) onStarted(started.runId);
      else say("The new branch runs.");
    } catch (error) {
      // What is said outside of a dialog is neither in the light nor read out while it is open.
      if (isHere()) setProblem(error instanceof Error ? error.message : String(error));
      else sayFailure(error);
      setStarting(false);
    }
  };
  return (
    <Dialog title="Fork from here" onClose={onClose}>
      <form className="fork-form" onSubmit={(event) => void submit(event)}>
        <p>Goes on after “{asked}” with a new message. What was said later stays, on its own branch.</p>
        <label htmlFor={`${id}-text`}>Message</label>
        <textarea
          id={`${id}-text`}
          className="field"
          rows={3}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          autoFocus
        />
        <label htmlFor={`${id}-agent`}>Agent</label>
        <select
          id={`${id}-agent`}
          className="field"
          value={agent}
          onChange={(event) => setAgent(event.currentTarget.value)}
        >
          {[...names].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        {problem !== undefined && (
          <p className="fork-problem" role="alert">
            {problem}
          </p>
        )}
        <div className="fork-actions">
          <Button onClick={onClose}>{isStarting ? "Close" : "Cancel"}</Button>
          <Button type="submit" kind="primary" icon="branches" disabled={text.trim() === "" || isStarting}>
            {isStarting ? "Starting…" : "Start the branch"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Calls that a run left to its client: arguments, and a field for the result. The run goes on when all of them are answered. */
import { useState } from "react";
import type { FormEvent, ReactElement } from "react";
import type { PendingToolCall } from "heddle/client";
import { useThread } from "heddle/react";
import { Button } from "../../ui/button.tsx";
import { settleByHand } from "./offered-tools.ts";
import type { HandResult } from "./offered-tools.ts";
import { useTalk } from "./talk-context.ts";
import { JsonText } from "./values.tsx";
import "../../ui/field.css";
import "./question-card.css";
import "./pending-calls.css";

/** All calls that wait. Those of another run are others, also where an agent calls them the same. */
export function PendingCalls(): ReactElement | null {
  const { pendingToolCalls, newest } = useThread();
  return pendingToolCalls.length === 0 ? null : <Cards key={newest.runId} calls={pendingToolCalls} />;
}

function Cards({ calls }: { readonly calls: readonly PendingToolCall[] }): ReactElement {
  const { asker } = useTalk();
  const { result } = useThread(undefined, asker === undefined ? {} : { agent: asker });
  const [given, setGiven] = useState<ReadonlyMap<string, HandResult>>(new Map());
  const give = (answer: HandResult): void => {
    const answers = new Map([...given, [answer.toolCallId, answer]]);
    setGiven(answers);
    const all = calls.flatMap(({ toolCallId }) => answers.get(toolCallId) ?? []);
    if (all.length < calls.length || settleByHand(all)) return;
    // Calls that still wait then were refused, and can be answered once more.
    void result(all).then(() => setGiven(new Map()));
  };
  const count = calls.filter(({ toolCallId }) => given.has(toolCallId)).length;
  return (
    <section className="talk-questions" aria-label="Tools left to you">
      {calls.length > 1 && (
        <p role="status">
          {count} of {calls.length} answered. The run goes on when all of them are.
        </p>
      )}
      {calls.map((call) => (
        <PendingCall key={call.toolCallId} call={call} isGiven={given.has(call.toolCallId)} onGive={give} />
      ))}
    </section>
  );
}

function PendingCall({
  call: { toolCallId, name, arguments: text },
  isGiven,
  onGive,
}: {
  readonly call: PendingToolCall;
  readonly isGiven: boolean;
  readonly onGive: (answer: HandResult) => void;
}): ReactElement {
  const { readOnly } = useTalk();
  const [content, setContent] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onGive({ toolCallId, content });
  };
  const fail = (): void => {
    const error = content.trim() === "" ? "The tool failed." : content;
    onGive({ toolCallId, content: error, error });
  };
  return (
    <form className="talk-question" tabIndex={-1} onSubmit={submit}>
      <fieldset disabled={isGiven || readOnly !== undefined}>
        <legend>
          The agent calls <code>{name}</code>, which is left to you
        </legend>
        {text !== "" && <JsonText text={text} />}
        <label className="talk-result">
          Result <small>text or JSON</small>
          <textarea
            className="field"
            rows={3}
            value={content}
            onChange={(event) => setContent(event.currentTarget.value)}
          />
        </label>
        <div className="talk-question-foot">
          <Button kind="primary" type="submit">
            Send result
          </Button>
          <Button onClick={fail}>Report failure</Button>
          {isGiven && <span role="status">Answered.</span>}
        </div>
      </fieldset>
      {readOnly !== undefined && <p>{readOnly}</p>}
    </form>
  );
}

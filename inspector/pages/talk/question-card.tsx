/** A question of a run: what is asked, a form for the answer, and what can be said to it. */
import { useEffect, useMemo, useState } from "react";
import type { FormEvent, ReactElement } from "react";
import type { Interrupt } from "heddle/protocol";
import { useInterrupts, useThread } from "heddle/react";
import { Button } from "../../ui/button.tsx";
import { formatDuration } from "../../ui/format.ts";
import { FormFields } from "./form-fields.tsx";
import { approvalOf, editedArgsOf, questionOf } from "./questions.ts";
import { draftOf, readDraft } from "./schema-form.ts";
import { useTalk } from "./talk-context.ts";
import { Values } from "./values.tsx";
import "./question-card.css";

/** All questions that are open. */
export function Questions(): ReactElement | null {
  const { interrupts, answers } = useInterrupts();
  const { newest } = useThread();
  if (interrupts.length === 0) return null;
  const given = interrupts.filter(({ id }) => answers.has(id)).length;
  return (
    <section className="talk-questions" aria-label="Questions to you">
      {interrupts.length > 1 && (
        <p role="status">
          {given} of {interrupts.length} answered. The run goes on when all of them are.
        </p>
      )}
      {interrupts.map((interrupt) => (
        // A run that asks under the same id again, at once, asks another question.
        <QuestionCard key={`${newest.runId} ${interrupt.id}`} interrupt={interrupt} />
      ))}
    </section>
  );
}

function QuestionCard({ interrupt }: { readonly interrupt: Interrupt }): ReactElement {
  const { id, reason, message = reason } = interrupt;
  const { readOnly, asker } = useTalk();
  const { answers, answer, decline } = useInterrupts(undefined, asker === undefined ? {} : { agent: asker });
  const { thread } = useThread();
  const form = useMemo(() => questionOf(interrupt, thread.messages), [interrupt, thread]);
  const { isApproval, argumentFields, fields, args } = form;
  const [edited, setEdited] = useState(() => draftOf(argumentFields));
  const [draft, setDraft] = useState(() => draftOf(fields));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const leftMs = useTimeLeft(interrupt.expiresAt);
  const isExpired = leftMs === 0;
  const isClosed = answers.has(id) || readOnly !== undefined;
  const isYesOrNo = !isApproval && fields.length === 1 && fields[0]?.name === "" && fields[0].kind === "boolean";
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const others = fields.length === 0 ? { value: undefined } : readDraft(fields, draft);
    const changes = argumentFields.length === 0 ? { value: undefined } : editedArgsOf(argumentFields, edited, args);
    const wrong = { ...others.problems, ...changes.problems };
    setProblems(wrong);
    if (others.problems !== undefined || changes.problems !== undefined) return;
    void answer(id, isApproval ? approvalOf(args, changes.value, others.value) : others.value);
  };
  const refuse = (): void => {
    const read = fields.length === 0 ? undefined : readDraft(fields, draft);
    const others: unknown = read?.problems === undefined ? read?.value : {};
    // One that has expired can only be cancelled.
    void (isApproval && !isExpired ? answer(id, { ...Object(others), approved: false }) : decline(id));
  };
  return (
    <form className="talk-question" tabIndex={-1} data-reason={reason} onSubmit={submit}>
      <fieldset disabled={isClosed}>
        <legend>{message}</legend>
        {argumentFields.length === 0 && args !== undefined && <Values value={args} plain />}
        <fieldset disabled={isExpired}>
          <FormFields fields={argumentFields} draft={edited} problems={problems} onChange={setEdited} />
          {!isYesOrNo && <FormFields fields={fields} draft={draft} problems={problems} onChange={setDraft} />}
        </fieldset>
        <div className="talk-question-foot">
          {isYesOrNo ? (
            <>
              <Button kind="primary" disabled={isExpired} onClick={() => void answer(id, true)}>
                Yes
              </Button>
              <Button disabled={isExpired} onClick={() => void answer(id, false)}>
                No
              </Button>
            </>
          ) : (
            <Button kind="primary" type="submit" disabled={isExpired}>
              {isApproval ? "Approve" : "Answer"}
            </Button>
          )}
          <Button onClick={refuse}>Decline</Button>
          <Expiry leftMs={leftMs} />
          {answers.has(id) && <span role="status">Answered; not sent yet.</span>}
        </div>
      </fieldset>
      {readOnly !== undefined && <p>{readOnly}</p>}
    </form>
  );
}

function Expiry({ leftMs }: { readonly leftMs: number | undefined }): ReactElement | null {
  if (leftMs === undefined) return null;
  if (leftMs === 0) return <span className="talk-expired">Expired: it can only be declined.</span>;
  return <span>Expires in {formatDuration(leftMs)}</span>;
}

/** How long a question can still be answered; 0 when it cannot any more. */
function useTimeLeft(expiresAt: string | undefined): number | undefined {
  const end = expiresAt === undefined ? Number.NaN : Date.parse(expiresAt);
  const [now, setNow] = useState(Date.now);
  const isOpen = now < end;
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isOpen]);
  return Number.isNaN(end) ? undefined : Math.max(0, end - now);
}

/**
 * A question of a run, and what answers it. A question about a tool call is approved, with its arguments as they are or
 * changed, or declined; for any other a form is made of its schema. Answers are sent when every open question has one.
 */
import { Fragment, useState } from "react";
import type { FormEvent, ReactElement, ReactNode } from "react";
import type { Interrupt } from "../../protocol/index.ts";
import { SchemaFields, fieldsOf, readFields } from "./schema-fields.tsx";
import { useInterrupts } from "./use-interrupts.ts";
import { useThread } from "./use-thread.ts";

/** A question. */
export interface ApprovalCardProps {
  /** The question. */
  readonly interrupt: Interrupt;
}

/** What the questions of the thread around are shown with. */
export interface ApprovalsProps {
  /** Draws a question, in place of `ApprovalCard`. */
  readonly children?: (interrupt: Interrupt) => ReactNode;
}

/** All open questions of the thread around. */
export function Approvals({ children = card }: ApprovalsProps): ReactElement {
  const { interrupts } = useInterrupts();
  const { newest } = useThread();
  // A run that asks under the same id again, at once, asks another question.
  return (
    <>
      {interrupts.map((interrupt) => (
        <Fragment key={`${newest.runId} ${interrupt.id}`}>{children(interrupt)}</Fragment>
      ))}
    </>
  );
}

const card = (interrupt: Interrupt): ReactElement => <ApprovalCard key={interrupt.id} interrupt={interrupt} />;

/** A question, and what answers it. */
export function ApprovalCard({ interrupt }: ApprovalCardProps): ReactElement {
  const { answers, error, answer, decline } = useInterrupts();
  const [problem, setProblem] = useState<string>();
  const { id, reason, message = reason, responseSchema } = interrupt;
  const properties = new Map(fieldsOf(responseSchema));
  const isApproval = properties.get("approved")?.["type"] === "boolean";
  const edited = isApproval ? properties.get("editedArgs") : responseSchema;
  const given = useArguments(interrupt);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    try {
      const value = readFields(edited, event.currentTarget);
      setProblem(undefined);
      void answer(id, isApproval ? approvalOf(value, given) : responseSchema === undefined ? undefined : value);
    } catch {
      setProblem("One of the fields is not JSON.");
    }
  };
  const shown = problem ?? error?.message;
  return (
    <form data-part="approval" data-reason={reason} data-answered={answers.has(id)} onSubmit={submit}>
      <fieldset disabled={answers.has(id)}>
        <legend>{message}</legend>
        <SchemaFields schema={edited} value={given} />
        <button type="submit" data-part="approve">
          {isApproval ? "Approve" : "Answer"}
        </button>
        <button
          type="button"
          data-part="decline"
          onClick={() => void (isApproval ? answer(id, { approved: false }) : decline(id))}
        >
          Decline
        </button>
      </fieldset>
      {shown !== undefined && <p role="alert">{shown}</p>}
    </form>
  );
}

/** Arguments that are as they were are not sent. */
function approvalOf(value: Readonly<Record<string, unknown>>, given: unknown): object {
  const now = { ...Object(given), ...value };
  return JSON.stringify(now) === JSON.stringify(Object(given))
    ? { approved: true }
    : { approved: true, editedArgs: now };
}

/** The arguments of the call that a question is about. */
function useArguments({ toolCallId }: Interrupt): unknown {
  const { messages } = useThread();
  if (toolCallId === undefined) return undefined;
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  try {
    return JSON.parse(calls.findLast(({ id }) => id === toolCallId)?.function.arguments ?? "{}");
  } catch {
    return undefined;
  }
}

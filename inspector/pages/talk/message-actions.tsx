/** What can be done with a message: copy, say it anew, have it answered anew, judge it, find its events. */
import { useState } from "react";
import type { ReactElement } from "react";
import type { AssistantMessage, UserMessage } from "heddle/protocol";
import { useThread } from "heddle/react";
import { linkTo } from "../../route.ts";
import { IconButton } from "../../ui/button.tsx";
import { copy } from "../../ui/copy-button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { say, sayFailure } from "../../ui/toast.tsx";
import { useTalk } from "./talk-context.ts";
import "./message-actions.css";

/** What can be done with a message. */
export function MessageActions({
  message,
  text,
}: {
  readonly message: UserMessage | AssistantMessage;
  readonly text: string;
}): ReactElement {
  const { threadId, readOnly, agent, edit } = useTalk();
  const { status, isStarting, regenerate, thread } = useThread();
  // What was said before anybody asked answers nothing. Found at once: the first of the two is looked for.
  const first = thread.messages.find(({ id, role }) => role === "user" || id === message.id);
  const isAnswer = first !== undefined && first.id !== message.id;
  const isIdle = status !== "running" && !isStarting && agent !== undefined;
  const again = (): void => {
    const { messages } = thread;
    const before = messages.slice(
      0,
      messages.findIndex(({ id }) => id === message.id),
    );
    const question = before.findLast(({ role }) => role === "user");
    if (question !== undefined) regenerate(question.id);
  };
  return (
    <div className="talk-actions" role="group" aria-label="Actions for this message">
      <IconButton icon="copy" label="Copy" onClick={() => void copy(text, "Message")} />
      {readOnly === undefined && message.role === "user" && (
        <IconButton icon="edit" label="Edit and ask again" disabled={!isIdle} onClick={() => edit(message.id)} />
      )}
      {readOnly === undefined && message.role === "assistant" && message.subagentRunId === undefined && (
        <>
          {isAnswer && <IconButton icon="refresh" label="Answer again" disabled={!isIdle} onClick={again} />}
          <Thumbs messageId={message.id} />
        </>
      )}
      <a
        className="icon-button"
        href={linkTo("timeline", threadId, { message: message.id })}
        aria-label="Show its events in the timeline"
        title="Show its events in the timeline"
      >
        <Icon name="timeline" />
      </a>
    </div>
  );
}

type Value = "up" | "down";

/** What people think of an answer, noted in the log beside its run. */
function Thumbs({ messageId }: { readonly messageId: string }): ReactElement {
  const { facts } = useTalk();
  const { thread } = useThread();
  const [given, setGiven] = useState<Value>();
  const give = (value: Value): void => {
    const before = given;
    setGiven(value);
    const words = value === "up" ? "Noted as a good answer." : "Noted as a bad answer.";
    thread.annotate("thumbs", { value, messageId }, facts.runs[messageId]).then(
      () => say(words),
      (error: unknown) => {
        setGiven(before);
        sayFailure(error);
      },
    );
  };
  const button = (value: Value, label: string): ReactElement => (
    <button
      type="button"
      className="icon-button"
      aria-label={label}
      title={label}
      aria-pressed={given === value}
      onClick={() => give(value)}
    >
      <svg width="18" height="18" viewBox="0 0 20 20" aria-hidden="true" className={`talk-thumb talk-thumb-${value}`}>
        <path d="M7 9v7H4V9zM7 9l3-6c1.3 0 2 .8 2 2v2.5h3.2a1.5 1.5 0 0 1 1.5 1.8l-.9 5.2a1.5 1.5 0 0 1-1.5 1.3H7" />
      </svg>
    </button>
  );
  return (
    <>
      {button("up", "Good answer")}
      {button("down", "Bad answer")}
    </>
  );
}

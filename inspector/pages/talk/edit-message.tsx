/** A message of the user's that is said anew. What was said from there on stays, on its own branch. What is refused stays here. */
import { useEffect, useRef, useState } from "react";
import type { FormEvent, KeyboardEvent, ReactElement } from "react";
import type { UserMessage } from "heddle/protocol";
import { useThread } from "heddle/react";
import { begun } from "../../runs/begun.ts";
import { Button } from "../../ui/button.tsx";
import { contentOf } from "./attachments.ts";
import { Parts, mediaOf, textOf } from "./parts.tsx";
import { useTalk } from "./talk-context.ts";
import "../../ui/field.css";
import "./edit-message.css";

/** The message, to be changed. */
export function EditMessage({ message }: { readonly message: UserMessage }): ReactElement {
  const { edit: leave } = useTalk();
  const { edit, status, isStarting } = useThread();
  const media = mediaOf(message.content);
  const [text, setText] = useState(() => textOf(message.content));
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const [isSent, setSent] = useState(false);
  const isSending = isSent && isStarting;
  const canSend = (text.trim() !== "" || media.length > 0) && status !== "running" && !isStarting;
  const send = (event?: FormEvent): void => {
    event?.preventDefault();
    if (!canSend) return;
    setSent(true);
    const run = edit(message.id, contentOf(text, media));
    void begun(run).then(
      () => leave(undefined),
      () => field.current?.focus(),
    );
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && !isSending) leave(undefined);
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="talk-edit" onSubmit={send}>
      <textarea
        ref={field}
        className="field"
        aria-label="Edit your message"
        rows={Math.min(8, text.split("\n").length + 1)}
        value={text}
        readOnly={isSending}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Parts parts={media} />
      <div>
        <p>The conversation forks here; what was said stays on its own branch.</p>
        <Button small kind="quiet" disabled={isSending} onClick={() => leave(undefined)}>
          Cancel
        </Button>
        <Button small kind="primary" type="submit" disabled={!canSend}>
          {isSending ? "Sending…" : "Send"}
        </Button>
      </div>
    </form>
  );
}

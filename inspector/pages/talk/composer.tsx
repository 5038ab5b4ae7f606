/**
 * Where one writes. Enter sends, Shift+Enter begins a line; files come by button, paste and drop. What was refused comes back,
 * unless something else was written meanwhile. What is sent before the conversation is open, or before its files are read, goes
 * out once they are, unless it is changed until then.
 */
import { useEffect, useRef, useState } from "react";
import type { ChangeEvent, ClipboardEvent, DragEvent, FormEvent, KeyboardEvent, ReactElement, ReactNode } from "react";
import { useThread } from "heddle/react";
import { randomId } from "heddle/client";
import { Button, IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { contentOf } from "./attachments.ts";
import type { Attachment } from "./attachments.ts";
import { useTalk } from "./talk-context.ts";
import { useDraft } from "./use-draft.ts";
import "./composer.css";

/** Where one writes; children stand in the bar below. */
export function Composer({ children }: { readonly children: ReactNode }): ReactElement {
  const { threadId, agent, readOnly, facts } = useTalk();
  const { run, stop, status, isStarting, interrupts, pendingToolCalls } = useThread();
  const { text, attachments, reading, setText, add, remove, take } = useDraft(threadId);
  const isRunning = status === "running";
  const waits = interrupts.length > 0 || pendingToolCalls.length > 0;
  const hasContent = text.trim() !== "" || attachments.length > 0;
  const isOpen = readOnly === undefined && agent !== undefined && !isRunning && !isStarting && !waits;
  const isReady = facts.isKnown && reading === 0;
  const canSend = isOpen && isReady && hasContent;
  const [isDue, setDue] = useState(false);
  useEffect(() => {
    if (!isDue || !isReady) return;
    setDue(false);
    send();
  });
  if (readOnly !== undefined) return <Closed why={readOnly} text={text} />;
  function send(event?: FormEvent): void {
    event?.preventDefault();
    if (!isReady) setDue(hasContent || reading > 0);
    if (!canSend) return;
    const content = contentOf(
      text,
      attachments.map(({ part }) => part),
    );
    run({ messages: [{ id: randomId(), role: "user", content }] }).finished.catch(take());
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  const onPaste = (event: ClipboardEvent): void => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    add(event.clipboardData.files);
  };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    add(event.dataTransfer.files);
  };
  return (
    <form className="talk-composer" onSubmit={send} onDrop={onDrop} onDragOver={(event) => event.preventDefault()}>
      <Previews attachments={attachments} onRemove={remove} />
      <textarea
        aria-label="Message"
        placeholder={placeholderOf({ agent, waits, isRunning })}
        rows={Math.min(10, Math.max(1, text.split("\n").length))}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setDue(false);
        }}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className="talk-composer-bar">
        <AttachButton onChoose={add} />
        {children}
        {isRunning ? (
          <Button icon="stop" className="talk-send" onClick={() => void stop()}>
            Stop
          </Button>
        ) : (
          <Button kind="primary" icon="send" className="talk-send" type="submit" disabled={!canSend}>
            {isDue || isStarting ? "Sending…" : "Send"}
          </Button>
        )}
      </div>
    </form>
  );
}

function Closed({ why, text }: { readonly why: string; readonly text: string }): ReactElement {
  return (
    <p className="talk-composer talk-composer-closed" role="note">
      <Icon name="info" /> {why}
      {text !== "" && <textarea readOnly aria-label="What you wrote" value={text} />}
    </p>
  );
}

function placeholderOf(now: {
  readonly agent: string | undefined;
  readonly waits: boolean;
  readonly isRunning: boolean;
}): string {
  if (now.waits) return "Answer above first";
  if (now.isRunning) return "Write the next message meanwhile";
  return now.agent === undefined ? "Message" : `Message ${now.agent}`;
}

function AttachButton({ onChoose }: { readonly onChoose: (files: Iterable<File>) => void }): ReactElement {
  const input = useRef<HTMLInputElement>(null);
  const onChange = (event: ChangeEvent<HTMLInputElement>): void => {
    onChoose([...(event.currentTarget.files ?? [])]);
    event.currentTarget.value = "";
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        data-part="files"
        onChange={onChange}
      />
      <IconButton icon="attach" label="Attach files" onClick={() => input.current?.click()} />
    </>
  );
}

function Previews({
  attachments,
  onRemove,
}: {
  readonly attachments: readonly Attachment[];
  readonly onRemove: (key: string) => void;
}): ReactElement | null {
  if (attachments.length === 0) return null;
  return (
    <ul className="talk-previews" aria-label="Files to send">
      {attachments.map(({ key, name, part }) => (
        <li key={key}>
          {part.type === "image" && part.source.type === "data" ? (
            <img src={`data:${part.source.mimeType};base64,${part.source.value}`} alt="" />
          ) : (
            <Icon name="attach" size={16} />
          )}
          <span>{name}</span>
          <IconButton icon="close" label={`Remove ${name}`} onClick={() => onRemove(key)} />
        </li>
      ))}
    </ul>
  );
}

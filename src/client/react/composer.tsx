/**
 * Where people write. Enter sends and Shift+Enter begins a line, as long as no input method is at work; while a run is under
 * way it can be stopped. What was refused comes back, unless something else was written meanwhile.
 */
import { useState } from "react";
import type { FormEvent, HTMLAttributes, KeyboardEvent, ReactElement, ReactNode } from "react";
import { useThread } from "./use-thread.ts";

/** What a composer of yours is made of. */
export interface ComposerParts {
  /** What was written. */
  readonly text: string;
  /** Changes it. */
  readonly setText: (text: string) => void;
  /** Sends it, where there is something that can be sent. */
  readonly send: () => void;
  /** Stops the run that is under way. */
  readonly stop: () => Promise<void>;
  /** Whether a run is under way. */
  readonly isRunning: boolean;
  /** Whether it could be sent now: nothing is under way or about to begin, and nothing waits for an answer. */
  readonly canSend: boolean;
  /** What stands in the empty field. */
  readonly placeholder: string;
}

/** What it says, and attributes of the form. */
export interface ComposerProps extends Omit<HTMLAttributes<HTMLFormElement>, "children"> {
  /** What stands in the empty field. */
  readonly placeholder?: string;
  /** Draws what is inside the form, in place of ours. */
  readonly children?: (parts: ComposerParts) => ReactNode;
}

/** Where people write in the thread around. */
export function Composer({ placeholder = "Message", children = fields, ...attributes }: ComposerProps): ReactElement {
  const { run, stop, status, isStarting, interrupts, pendingToolCalls } = useThread();
  const [text, setText] = useState("");
  const isRunning = status === "running";
  const waits = interrupts.length > 0 || pendingToolCalls.length > 0;
  const canSend = !isRunning && !isStarting && !waits && text.trim() !== "";
  const send = (): void => {
    if (!canSend) return;
    setText("");
    run(text).finished.catch(() => setText((written) => written || text));
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    send();
  };
  return (
    <form {...attributes} data-part="composer" onSubmit={submit}>
      {children({ text, setText, send, stop, isRunning, canSend, placeholder })}
    </form>
  );
}

function fields(parts: ComposerParts): ReactElement {
  const { text, setText, send, stop, isRunning, canSend, placeholder } = parts;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <>
      <textarea
        aria-label={placeholder}
        placeholder={placeholder}
        rows={1}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {isRunning ? (
        <button type="button" data-part="stop" onClick={() => void stop()}>
          Stop
        </button>
      ) : (
        <button type="submit" data-part="send" disabled={!canSend}>
          Send
        </button>
      )}
    </>
  );
}

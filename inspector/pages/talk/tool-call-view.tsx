/** A tool call: one line with its name, what it was asked and how it stands; inside, its arguments and what came of it. */
import { useContext } from "react";
import type { ReactElement } from "react";
import type { ToolCall } from "heddle/protocol";
import { BranchSwitcher, useMessage, useThread } from "heddle/react";
import { Icon } from "../../ui/icon.tsx";
import { formatDuration } from "../../ui/format.ts";
import type { MessageNode } from "./outline.ts";
import { Parts, mediaOf, textOf } from "./parts.tsx";
import { ResultsContext, useTalk } from "./talk-context.ts";
import { JsonText } from "./values.tsx";
import "./tool-call-view.css";

const WORDS = {
  running: "Running",
  done: "Done",
  failed: "Failed",
  waits: "Waits for you",
  none: "No result",
} as const;

type CallStatus = keyof typeof WORDS;

/** A call. */
export function ToolCallView({
  call,
  isNewest,
  isPast,
}: Pick<MessageNode, "isNewest" | "isPast"> & { readonly call: ToolCall }): ReactElement {
  const { id } = call;
  const { name, arguments: text } = call.function;
  const place = useContext(ResultsContext).get(id);
  const found = useMessage(place?.id ?? "", place?.place ?? 0);
  const result = found?.role === "tool" ? found : undefined;
  const counted = useTalk().facts.calls.get(id);
  const now = useCallStatus(id, result, counted?.status === "failed");
  const status = now === "running" && isPast ? "none" : now;
  const duration = counted?.durationMs;
  return (
    <details className="talk-call" data-status={status} data-tool={name}>
      <summary>
        <Icon name="tool" size={16} />
        <code className="talk-call-name">{name}</code>
        <span className="talk-call-preview">{previewOf(text)}</span>
        {duration !== undefined && <span className="talk-call-time">{formatDuration(duration)}</span>}
        <span className="talk-call-status" aria-live={isNewest ? "polite" : undefined}>
          {WORDS[status]}
        </span>
      </summary>
      <div className="talk-call-body">
        <section>
          <h4>Arguments</h4>
          {text === "" ? (
            <p className="talk-none">{status === "running" ? "None so far" : "None"}</p>
          ) : (
            <JsonText text={text} />
          )}
        </section>
        {result !== undefined && (
          <section>
            <h4>{result.error === undefined ? "Result" : "Error"}</h4>
            {result.error !== undefined && <p className="talk-call-error">{result.error}</p>}
            {textOf(result.content) !== "" && textOf(result.content) !== result.error && (
              <JsonText text={textOf(result.content)} />
            )}
            <Parts parts={mediaOf(result.content)} />
          </section>
        )}
      </div>
      {place !== undefined && <BranchSwitcher messageId={place.id} />}
    </details>
  );
}

function useCallStatus(id: string, result: { readonly error?: string } | undefined, hasFailed: boolean): CallStatus {
  const { status, interrupts, pendingToolCalls } = useThread();
  if (result !== undefined) return result.error === undefined && !hasFailed ? "done" : "failed";
  const isAsked =
    interrupts.some(({ toolCallId }) => toolCallId === id) ||
    pendingToolCalls.some(({ toolCallId }) => toolCallId === id);
  if (isAsked) return "waits";
  return status === "running" ? "running" : "none";
}

const MAX_PREVIEW = 80;

/** The arguments in a line. */
function previewOf(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return String(value);
    const words = Object.entries(value).map(([name, each]) => `${name}: ${JSON.stringify(each)}`);
    return words.join(", ").slice(0, MAX_PREVIEW);
  } catch {
    return text.slice(0, MAX_PREVIEW);
  }
}

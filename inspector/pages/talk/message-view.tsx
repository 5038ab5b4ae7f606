/** One message, by who it is of. It is drawn again when this message changes, and never for a token of another one. */
import { memo, useEffect, useState } from "react";
import type { ComponentType, ReactElement } from "react";
import type { AssistantMessage, Message, ReasoningMessage, UserMessage } from "heddle/protocol";
import { BranchSwitcher, useMessage, useThread } from "heddle/react";
import { Icon } from "../../ui/icon.tsx";
import { ActivityView } from "./activity-view.tsx";
import { EditMessage } from "./edit-message.tsx";
import { Markdown } from "./markdown.tsx";
import { MessageActions } from "./message-actions.tsx";
import type { MessageNode } from "./outline.ts";
import { Parts, mediaOf, textOf } from "./parts.tsx";
import { useTalk } from "./talk-context.ts";
import { ToolCallView } from "./tool-call-view.tsx";
import { JsonText } from "./values.tsx";
import "./message-view.css";

const SPEAKERS: Readonly<Record<Message["role"], string>> = {
  user: "You",
  assistant: "Agent",
  reasoning: "Reasoning",
  activity: "Activity",
  tool: "Result",
  system: "Instructions",
  developer: "Instructions",
};

/** A message. */
export const MessageView: ComponentType<Omit<MessageNode, "kind">> = memo(function MessageView({
  id,
  place,
  isNewest,
  isPast,
}: Omit<MessageNode, "kind">) {
  const message = useMessage(id, place);
  if (message === undefined) return null;
  return (
    <article className="talk-message" data-role={message.role} data-message={id} aria-label={SPEAKERS[message.role]}>
      <Body message={message} isNewest={isNewest} isPast={isPast} />
      <BranchSwitcher messageId={id} />
    </article>
  );
});

function Body({
  message,
  isNewest,
  isPast,
}: Pick<MessageNode, "isNewest" | "isPast"> & { readonly message: Message }): ReactElement | null {
  switch (message.role) {
    case "user":
      return <Asked message={message} />;
    case "assistant":
      return <Answered message={message} isNewest={isNewest} isPast={isPast} />;
    case "reasoning":
      return <Thought message={message} isNewest={isNewest} />;
    case "activity":
      return <ActivityView message={message} />;
    case "tool":
      return (
        <Folded title="Result of a call that is not shown">
          <JsonText text={textOf(message.content)} />
        </Folded>
      );
    default:
      return (
        <Folded title="Instructions to the agent">
          <Markdown text={message.content} />
        </Folded>
      );
  }
}

function Folded({ title, children }: { readonly title: string; readonly children: ReactElement }): ReactElement {
  return (
    <details className="talk-folded">
      <summary>{title}</summary>
      {children}
    </details>
  );
}

function Asked({ message }: { readonly message: UserMessage }): ReactElement {
  const { editing } = useTalk();
  if (editing === message.id) return <EditMessage message={message} />;
  const text = textOf(message.content);
  return (
    <div className="talk-asked">
      <div className="talk-bubble">
        {text !== "" && <p>{text}</p>}
        <Parts parts={mediaOf(message.content)} />
      </div>
      <MessageActions message={message} text={text} />
    </div>
  );
}

function Answered({
  message,
  isNewest,
  isPast,
}: Pick<MessageNode, "isNewest" | "isPast"> & { readonly message: AssistantMessage }): ReactElement {
  const { content = "", toolCalls = [], name } = message;
  return (
    <>
      {name !== undefined && <p className="talk-speaker">{name}</p>}
      {content !== "" && <Markdown text={content} />}
      {toolCalls.length > 0 && (
        <div className="talk-calls">
          {toolCalls.map((call) => (
            <ToolCallView key={call.id} call={call} isNewest={isNewest} isPast={isPast} />
          ))}
        </div>
      )}
      {content !== "" && <MessageActions message={message} text={content} />}
    </>
  );
}

function Thought({
  message,
  isNewest,
}: {
  readonly message: ReasoningMessage;
  readonly isNewest: boolean;
}): ReactElement {
  const { status } = useThread();
  const isGrowing = isNewest && status === "running";
  const [isOpen, setOpen] = useState(isGrowing);
  useEffect(() => setOpen(isGrowing), [isGrowing]);
  const { content } = message;
  if (content === "") {
    return (
      <p className="talk-thought-hidden">
        <Icon name="thought" size={16} /> {isGrowing ? "Thinking…" : "Reasoning that only the model can read"}
      </p>
    );
  }
  return (
    <details className="talk-thought" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="thought" size={16} />
        {isGrowing ? "Thinking…" : "Reasoning"}
      </summary>
      <Markdown text={content} />
    </details>
  );
}

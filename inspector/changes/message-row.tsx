/**
 * A message in a few lines, and what became of it: new, changed (with what is new in it marked), or gone. Long texts are cut
 * in the middle, so the end of what is being said stays in sight.
 */
import { memo, useState } from "react";
import type { ReactElement } from "react";
import type { Message, ToolCall } from "heddle/protocol";
import { formatCount } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import type { IconName } from "../ui/icon.tsx";
import { JsonView } from "../ui/json-view.tsx";
import { textOf } from "../runs/run-facts.ts";
import type { MessageChange } from "./message-changes.ts";
import { sameJson } from "./json-changes.ts";
import { textChanges } from "./text-changes.ts";
import type { TextPart } from "./text-changes.ts";
import "./message-row.css";

const ROLES: Readonly<Record<Message["role"], { readonly name: string; readonly icon: IconName }>> = {
  user: { name: "User", icon: "user" },
  assistant: { name: "Agent", icon: "agent" },
  reasoning: { name: "Reasoning", icon: "thought" },
  tool: { name: "Tool result", icon: "tool" },
  activity: { name: "Activity", icon: "health" },
  system: { name: "Instructions", icon: "info" },
  developer: { name: "Instructions", icon: "info" },
};

/** What is said of a message, by what became of it. */
export type ChangeWords = Readonly<Record<MessageChange["kind"], string>>;

const WORDS: ChangeWords = { same: "", added: "new", changed: "changed", removed: "gone" };
/** Of a stretch of text so much is shown at its beginning and its end. */
const SHOWN_CHARS = 600;
const LINE_CHARS = 160;
/** Of the calls of one message so many are shown. */
const SHOWN_CALLS = 50;

/** One message. */
export const MessageRow = memo(function MessageRow({
  change,
  words = WORDS,
}: {
  readonly change: MessageChange;
  readonly words?: ChangeWords;
}): ReactElement {
  const { message, kind, before } = change;
  const { name, icon } = ROLES[message.role];
  const who = message.role === "activity" ? `Activity ${message.activityType}` : (nameOf(message) ?? name);
  return (
    <article
      className="message-row"
      data-role={message.role}
      data-change={kind}
      aria-label={`${who}${words[kind] && `, ${words[kind]}`}`}
    >
      <header>
        <Icon name={icon} size={15} />
        <span className="message-row-who">{who}</span>
        {kind !== "same" && <span className="message-row-mark">{words[kind]}</span>}
      </header>
      {message.role === "activity" ? (
        <Content value={message.content} />
      ) : (
        <Text parts={textChanges(before === undefined ? textOf(message) : textOf(before), textOf(message))} />
      )}
      {message.role === "assistant" && <Calls calls={message.toolCalls ?? []} before={before} />}
    </article>
  );
}, isSameRow);

/** Changes are made anew for every event; messages are not. */
function isSameRow(a: { readonly change: MessageChange }, b: { readonly change: MessageChange }): boolean {
  const isSame = a.change.message === b.change.message && a.change.before === b.change.before;
  return isSame && a.change.kind === b.change.kind;
}

const nameOf = (message: Message): string | undefined =>
  "name" in message && message.name !== undefined ? message.name : undefined;

function isChanged(call: ToolCall, before: Message | undefined): boolean {
  if (before?.role !== "assistant") return false;
  return !sameJson(
    before.toolCalls?.find(({ id }) => id === call.id),
    call,
  );
}

/** Little content stands in a line. */
function Content({ value }: { readonly value: unknown }): ReactElement {
  const text = JSON.stringify(value);
  return text.length <= LINE_CHARS ? (
    <code className="message-row-content">{text}</code>
  ) : (
    <JsonView value={value} openTo={1} />
  );
}

/** The newest calls; the others are drawn where somebody asks for them. */
function Calls({
  calls,
  before,
}: {
  readonly calls: readonly ToolCall[];
  readonly before: Message | undefined;
}): ReactElement {
  const [isWhole, setWhole] = useState(false);
  const hidden = isWhole ? 0 : Math.max(0, calls.length - SHOWN_CALLS);
  return (
    <>
      {hidden > 0 && (
        <button type="button" className="message-row-more" onClick={() => setWhole(true)}>
          {formatCount(hidden)} earlier {hidden === 1 ? "call" : "calls"}
        </button>
      )}
      {calls.slice(hidden).map((call) => (
        <Call key={call.id} call={call} isChanged={isChanged(call, before)} />
      ))}
    </>
  );
}

function Call({ call, isChanged: isNew }: { readonly call: ToolCall; readonly isChanged: boolean }): ReactElement {
  return (
    <p className="message-row-call" data-changed={isNew}>
      <Icon name="tool" size={14} />
      <span>
        <strong>{call.function.name}</strong>
        <code>{cutMiddle(call.function.arguments)}</code>
      </span>
    </p>
  );
}

/** A text in parts, cut where it is long. */
export function Text({ parts }: { readonly parts: readonly TextPart[] }): ReactElement | null {
  const [isWhole, setWhole] = useState(false);
  if (parts.length === 0) return null;
  const isLong = parts.some(({ text }) => text.length > SHOWN_CHARS * 2 + 100);
  return (
    <div className="message-row-text">
      {parts.map(({ kind, text }, index) => {
        const shown = isWhole ? text : cutMiddle(text);
        if (kind === "added") return <ins key={index}>{shown}</ins>;
        return kind === "removed" ? <del key={index}>{shown}</del> : <span key={index}>{shown}</span>;
      })}
      {isLong && (
        <button type="button" className="message-row-more" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : "Show all"}
        </button>
      )}
    </div>
  );
}

const cutMiddle = (text: string): string =>
  text.length <= SHOWN_CHARS * 2 + 100 ? text : `${text.slice(0, SHOWN_CHARS)} […] ${text.slice(-SHOWN_CHARS)}`;

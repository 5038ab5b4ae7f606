/** A few names with their values, for people: short ones in a line each, everything deeper as a tree. */
import type { ReactElement } from "react";
import { JsonView } from "../../ui/json-view.tsx";
import { wordsOf } from "./schema-form.ts";
import "./values.css";

/** So much of a text stands on the page as it is; more of it scrolls. */
const SHORT_CHARS = 2000;
const SHORT_LINES = 30;

/** A text as it is. One that would fill the page scrolls within it, also by keyboard. */
function PlainText({ text, isCode = false }: { readonly text: string; readonly isCode?: boolean }): ReactElement {
  const className = isCode ? "talk-pre mono" : "talk-pre";
  const isLong = text.length > SHORT_CHARS || text.split("\n", SHORT_LINES + 1).length > SHORT_LINES;
  if (!isLong) return <div className={className}>{text}</div>;
  return (
    <div className={className} data-long="" tabIndex={0} role="group" aria-label="A long text">
      {text}
    </div>
  );
}

/** An object as names and values; anything else as a tree. `plain` keeps the names as programs write them. */
export function Values({ value, plain = false }: { readonly value: unknown; readonly plain?: boolean }): ReactElement {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return <JsonView value={value} />;
  const entries = Object.entries(value);
  if (entries.length === 0) return <p className="talk-none">None</p>;
  return (
    <dl className="talk-values">
      {entries.map(([name, each]) => (
        <div key={name}>
          <dt>{plain ? <code>{name}</code> : wordsOf(name)}</dt>
          <dd>
            {typeof each === "object" && each !== null ? (
              <JsonView value={each} openTo={1} />
            ) : (
              <PlainText text={String(each)} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A text that may be JSON: as names and values where it is, and as it is otherwise. */
export function JsonText({ text }: { readonly text: string }): ReactElement {
  const read = parsed(text);
  return read === undefined ? <PlainText text={text} isCode /> : <Values value={read.value} plain />;
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { value } : undefined;
  } catch {
    return undefined;
  }
}

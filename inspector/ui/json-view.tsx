/**
 * A value as a tree that opens and closes. Long texts and lists are cut with a way to see the rest; nothing is drawn that is
 * closed, so a large document costs what is looked at.
 */
import { useState } from "react";
import type { ReactElement } from "react";
import { formatKey } from "./format.ts";
import "./json-view.css";

const MAX_ITEMS = 100;
const MAX_TEXT = 400;

/** A value. `openTo` says how many levels are open at first (default 2). */
export function JsonView({ value, openTo = 2 }: { readonly value: unknown; readonly openTo?: number }): ReactElement {
  return (
    <div className="json-view">
      <Node value={value} openTo={openTo} />
    </div>
  );
}

interface NodeProps {
  readonly name?: string;
  readonly value: unknown;
  readonly openTo: number;
}

function Node({ name, value, openTo }: NodeProps): ReactElement {
  const key = name === undefined ? null : <span className="json-key">{formatKey(name)}: </span>;
  if (typeof value !== "object" || value === null) {
    return (
      <div className="json-row">
        {key}
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch label={key} value={value} openTo={openTo} />;
}

function Branch({
  label,
  value,
  openTo,
}: {
  readonly label: ReactElement | null;
  readonly value: object;
  readonly openTo: number;
}): ReactElement {
  const [isOpen, setOpen] = useState(openTo > 0);
  const [limit, setLimit] = useState(MAX_ITEMS);
  const entries = Object.entries(value);
  const [before, behind] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) {
    return (
      <div className="json-row">
        {label}
        <span className="json-mark">{`${before}${behind}`}</span>
      </div>
    );
  }
  return (
    <div>
      <button type="button" className="json-row json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {label}
        <span className="json-mark">{isOpen ? before : `${before} ${summaryOf(value, entries.length)} ${behind}`}</span>
      </button>
      {isOpen && (
        <div className="json-children">
          {entries.slice(0, limit).map(([name, each]) => (
            <Node key={name} name={name} value={each} openTo={openTo - 1} />
          ))}
          {entries.length > limit && (
            <button type="button" className="json-more" onClick={() => setLimit(limit * 10)}>
              {entries.length - limit} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}

const summaryOf = (value: object, count: number): string =>
  Array.isArray(value)
    ? `${count} ${count === 1 ? "item" : "items"}`
    : Object.keys(value).slice(0, 3).map(formatKey).join(", ") + (count > 3 ? ", …" : "");

function Leaf({ value }: { readonly value: unknown }): ReactElement {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== "string")
    return <span className={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  const isLong = value.length > MAX_TEXT && !isWhole;
  return (
    <span className="json-string">
      {JSON.stringify(isLong ? value.slice(0, MAX_TEXT) : value)}
      {isLong && (
        <button type="button" className="json-more" onClick={() => setWhole(true)}>
          {value.length - MAX_TEXT} more characters
        </button>
      )}
    </span>
  );
}

/** What is different between two values, as a tree: old and new beside each other, and what is the same folded away. */
import { useMemo, useState } from "react";
import type { ReactElement } from "react";
import { formatCount, formatKey } from "../ui/format.ts";
import { JsonView } from "../ui/json-view.tsx";
import { changesBetween, countChanges } from "./json-changes.ts";
import type { Change } from "./json-changes.ts";
import { Text } from "./message-row.tsx";
import { textChanges } from "./text-changes.ts";
import "./changes-view.css";

/** So many places are drawn at first. */
const MAX_PLACES = 100;
/** A text that is longer is cut, and of two only what is different is marked. */
const LONG_TEXT = 400;

/** The differences of two values. */
export function ChangesView({
  before,
  after,
  nothing,
}: {
  readonly before: unknown;
  readonly after: unknown;
  /** What is said where there are none. */
  readonly nothing: string;
}): ReactElement {
  const change = useMemo(() => changesBetween(before, after), [before, after]);
  const count = countChanges(change);
  if (count === 0) return <p className="changes-none">{nothing}</p>;
  return (
    <div className="changes-view" role="group" aria-label={`${count} ${count === 1 ? "difference" : "differences"}`}>
      <Place change={change} isRoot />
    </div>
  );
}

/** The values themselves have no name; what is in them may have an empty one. */
function Place({ change, isRoot = false }: { readonly change: Change; readonly isRoot?: boolean }): ReactElement {
  const name = isRoot ? "" : `${formatKey(change.key)}: `;
  switch (change.kind) {
    case "inside":
      return <Inside change={change} isRoot={isRoot} />;
    case "replaced":
      return <Replaced name={name} before={change.before} after={change.after} />;
    case "same":
      return (
        <div className="changes-row">
          <span className="changes-key">{name}</span>
          <Value value={change.value} />
        </div>
      );
    default:
      return (
        <div className="changes-row" data-kind={change.kind}>
          <span className="changes-sign" aria-hidden="true">
            {change.kind === "added" ? "+" : "−"}
          </span>
          <span className="visually-hidden">{change.kind === "added" ? "Added: " : "Removed: "}</span>
          <span className="changes-key">{name}</span>
          <Value value={change.value} />
        </div>
      );
  }
}

/** Something that was, and what is in its place. */
export function Replaced({
  name,
  before,
  after,
}: {
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
}): ReactElement {
  if (isLongText(before, after)) {
    return (
      <div className="changes-row" data-kind="replaced">
        <span className="changes-key">{name}</span>
        <Text parts={textChanges(String(before), String(after))} />
      </div>
    );
  }
  return (
    <div className="changes-row" data-kind="replaced">
      <span className="changes-key">{name}</span>
      {before !== undefined && (
        <del>
          <span className="visually-hidden">Was: </span>
          <Value value={before} />
        </del>
      )}
      <span className="changes-arrow" aria-hidden="true">
        →
      </span>
      {after === undefined ? (
        <em>nothing</em>
      ) : (
        <ins>
          <span className="visually-hidden">Is: </span>
          <Value value={after} />
        </ins>
      )}
    </div>
  );
}

const isLongText = (before: unknown, after: unknown): boolean =>
  typeof before === "string" && typeof after === "string" && Math.max(before.length, after.length) > LONG_TEXT;

function Value({ value }: { readonly value: unknown }): ReactElement {
  if (typeof value === "object" && value !== null && Object.keys(value).length > 0) {
    return <JsonView value={value} openTo={JSON.stringify(value).length < 200 ? 2 : 0} />;
  }
  if (typeof value === "string" && value.length > LONG_TEXT) return <JsonView value={value} />;
  return <code>{JSON.stringify(value) ?? "nothing"}</code>;
}

function Inside({
  change,
  isRoot,
}: {
  readonly change: Change & { readonly kind: "inside" };
  readonly isRoot: boolean;
}): ReactElement {
  const [isOpen, setOpen] = useState(true);
  const [showsSame, setShowsSame] = useState(false);
  const [limit, setLimit] = useState(MAX_PLACES);
  const same = change.children.filter(({ kind }) => kind === "same").length;
  const shown = showsSame ? change.children : change.children.filter(({ kind }) => kind !== "same");
  return (
    <div className="changes-inside">
      {!isRoot && (
        <button type="button" className="changes-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <span className="changes-key">{formatKey(change.key)}</span>
          <span className="changes-count">{countChanges(change)} changed</span>
        </button>
      )}
      {isOpen && (
        <div className={isRoot ? undefined : "changes-children"}>
          {shown.slice(0, limit).map((child) => (
            <Place key={`${child.kind} ${child.key}`} change={child} />
          ))}
          {shown.length > limit && (
            <button type="button" className="changes-same" onClick={() => setLimit(limit * 10)}>
              {formatCount(shown.length - limit)} more
            </button>
          )}
          {same > 0 && (
            <button type="button" className="changes-same" onClick={() => setShowsSame(!showsSame)}>
              {showsSame ? "Hide what is the same" : `${same} unchanged`}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/**
 * A surface that an agent described, drawn plainly: what it says and how it is arranged. It is shown, not used: an inspector does
 * not press an agent's buttons. Components that are not known are trees under their name.
 */
import type { ReactElement, ReactNode } from "react";
import { JsonView } from "../../ui/json-view.tsx";
import { wordOf } from "./schema-form.ts";
import type { UiNode } from "./surfaces.ts";
import "./surface-view.css";

type Draw = (props: UiNode["props"], children: ReactNode) => ReactElement;

const textOf = (props: UiNode["props"]): string => {
  const value =
    props["text"] ?? props["label"] ?? props["value"] ?? props["title"] ?? props["content"] ?? props["name"];
  return wordOf(value);
};

const actionOf = ({ action }: UiNode["props"]): string => {
  const { name, event }: Partial<Record<string, unknown>> = Object(action);
  const called = name ?? Object(event).name ?? (typeof action === "string" ? action : undefined);
  return typeof called === "string" ? `Would send “${called}”` : "A button of the agent's";
};

const box =
  (kind: string): Draw =>
  (props, children) => (
    <div className={`surface-${kind}`}>
      {typeof props["title"] === "string" && <strong>{props["title"]}</strong>}
      {children}
    </div>
  );

const text: Draw = (props, children) => {
  const hint = wordOf(props["usageHint"] ?? props["variant"]);
  return (
    <p className="surface-text" data-hint={hint}>
      {textOf(props)}
      {children}
    </p>
  );
};

const field: Draw = (props, children) => (
  <div className="surface-field">
    <span>{wordOf(props["label"] ?? props["title"])}</span>
    <span className="surface-value">{wordOf(props["text"] ?? props["value"] ?? props["selections"])}</span>
    {children}
  </div>
);

const image: Draw = (props) => {
  const url = wordOf(props["url"] ?? props["src"]);
  const words = wordOf(props["alt"] ?? props["altText"] ?? "Image");
  if (url.startsWith("data:image/")) return <img className="surface-image" src={url} alt={words} />;
  return (
    <a href={/^https?:/i.test(url) ? url : undefined} target="_blank" rel="noreferrer">
      Image: {words === "Image" ? url : words}
    </a>
  );
};

/** Components by their name in small letters. */
const DRAWN: ReadonlyMap<string, Draw> = new Map(
  Object.entries({
    text,
    heading: (props, children) => text({ usageHint: "h2", ...props }, children),
    paragraph: text,
    label: text,
    icon: (props) => <span className="surface-icon">{textOf(props)}</span>,
    row: box("row"),
    column: box("column"),
    container: (props, children) => box(props["direction"] === "row" ? "row" : "column")(props, children),
    box: box("column"),
    stack: box("column"),
    list: box("list"),
    card: box("card"),
    modal: box("card"),
    tabs: box("column"),
    button: (props, children) => (
      <span className="surface-button" title={actionOf(props)}>
        {textOf(props)}
        {children}
      </span>
    ),
    divider: () => <hr className="surface-divider" />,
    image,
    textfield: field,
    datetimeinput: field,
    multiplechoice: field,
    choicepicker: field,
    slider: field,
    input: field,
    checkbox: (props) => (
      <span className="surface-check">
        <span aria-hidden="true">{(props["value"] ?? props["checked"]) === true ? "☑" : "☐"}</span>{" "}
        {wordOf(props["label"])}
      </span>
    ),
  } satisfies Record<string, Draw>),
);

/** A component and what is in it. */
export function SurfaceView({ node }: { readonly node: UiNode }): ReactElement {
  const { type, props, children } = node;
  const inside = children.map((child, index) => <SurfaceView key={index} node={child} />);
  const draw = DRAWN.get(type.toLowerCase());
  if (draw !== undefined) return draw(props, inside);
  return (
    <div className="surface-unknown">
      <code>{type}</code>
      {Object.keys(props).length > 0 && <JsonView value={props} openTo={1} />}
      {inside}
    </div>
  );
}

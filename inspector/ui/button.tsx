/** Buttons, and links that look like them. */
import type { AnchorHTMLAttributes, ButtonHTMLAttributes, ComponentProps, ReactElement } from "react";
import { Icon } from "./icon.tsx";
import type { IconName } from "./icon.tsx";
import "./button.css";

interface Look {
  /** How much it asks for attention. Default plain. */
  readonly kind?: "plain" | "primary" | "quiet" | "danger";
  /** A sign before the words. */
  readonly icon?: IconName;
  /** Smaller, for rows and bars. */
  readonly small?: boolean;
}

const classOf = ({ kind = "plain", small = false }: Look, more = ""): string =>
  `button button-${kind}${small ? " button-small" : ""} ${more}`.trim();

/** A button with words. */
export function Button({
  kind,
  icon,
  small,
  className,
  children,
  ...attributes
}: Look & ComponentProps<"button">): ReactElement {
  return (
    <button
      type="button"
      className={classOf({ ...(kind && { kind }), ...(small && { small }) }, className)}
      {...attributes}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button with a sign only; `label` is what it is called. */
export function IconButton({
  label,
  icon,
  className,
  ...attributes
}: { readonly label: string; readonly icon: IconName } & ButtonHTMLAttributes<HTMLButtonElement>): ReactElement {
  return (
    <button
      type="button"
      className={`icon-button ${className ?? ""}`.trim()}
      aria-label={label}
      title={label}
      {...attributes}
    >
      <Icon name={icon} />
    </button>
  );
}

/** A link that looks like a button. */
export function LinkButton({
  kind,
  icon,
  small,
  className,
  children,
  ...attributes
}: Look & AnchorHTMLAttributes<HTMLAnchorElement>): ReactElement {
  return (
    <a className={classOf({ ...(kind && { kind }), ...(small && { small }) }, className)} {...attributes}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </a>
  );
}

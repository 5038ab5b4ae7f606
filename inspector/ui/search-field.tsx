/** A field to search with. `/` brings the keyboard there, from anywhere but another field. */
import { useEffect, useRef } from "react";
import type { ReactElement } from "react";
import { Icon } from "./icon.tsx";
import "./field.css";

/** Where keys are typed or choose something. */
const TYPED = "input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable]";

/** A field to search with. */
export function SearchField({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactElement {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && target.matches(TYPED);
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  return (
    <label className="search-field">
      <Icon name="search" size={16} />
      <input
        ref={input}
        className="field"
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

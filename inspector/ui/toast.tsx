/** Short words about what was just done: shown for a moment, and told to screen readers. */
import { useSyncExternalStore } from "react";
import type { ReactElement } from "react";
import "./toast.css";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isFailure: boolean;
}

const SHOWN_MS = 4000;
const listeners = new Set<() => void>();
let toasts: readonly Toast[] = [];
let count = 0;

const change = (next: readonly Toast[]): void => {
  toasts = next;
  for (const listener of listeners) listener();
};

/** Says something for a moment. */
export function say(text: string, { failure = false }: { readonly failure?: boolean } = {}): void {
  const toast = { id: ++count, text, isFailure: failure };
  change([...toasts.slice(-2), toast]);
  setTimeout(() => change(toasts.filter(({ id }) => id !== toast.id)), failure ? SHOWN_MS * 2 : SHOWN_MS);
}

/** Says why something failed. */
export const sayFailure = (error: unknown): void =>
  say(error instanceof Error ? error.message : String(error), { failure: true });

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Where it is said: once in the app. */
export function Toasts(): ReactElement {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, isFailure }) => (
        <p key={id} data-failure={isFailure}>
          {text}
        </p>
      ))}
    </div>
  );
}

/** Light, dark, or as the system has it; kept for this browser. */
import { useSyncExternalStore } from "react";
import { keptForBrowser } from "./kept.ts";

/** The choices. */
export const THEMES = { system: "System", light: "Light", dark: "Dark" } as const;

/** A choice. */
export type Theme = keyof typeof THEMES;

const KEY = "heddle-theme";
const listeners = new Set<() => void>();

const kept = (): Theme => {
  const text = keptForBrowser.get(KEY);
  return text === "light" || text === "dark" ? text : "system";
};

/** Shows a theme, and keeps it. */
export function setTheme(theme: Theme): void {
  keptForBrowser.set(KEY, theme);
  applyTheme();
  for (const listener of listeners) listener();
}

/** Shows the theme that was kept. */
export function applyTheme(): void {
  const theme = kept();
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** The theme, in a component. */
export const useTheme = (): Theme => useSyncExternalStore(subscribe, kept);

/**
 * How much of somebody's attention the page has: all of it, a glance while another window is worked in, or none while it cannot be
 * seen. A browser opens at most six connections to a server for all its windows together, so only a page with all of it holds
 * streams open; at a glance the page asks now and then, and unseen it asks nothing.
 */
import { useSyncExternalStore } from "react";

/** How much attention the page has. */
export type Attention = "full" | "glance" | "none";

/** How often a page asks that is only glanced at. */
export const GLANCE_MS = 1500;

/** How much it has now. */
export function attention(): Attention {
  if (document.visibilityState !== "visible") return "none";
  return document.hasFocus() ? "full" : "glance";
}

/** Calls when it may be another. */
export function onAttention(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  addEventListener("focus", listener);
  addEventListener("blur", listener);
  return () => {
    document.removeEventListener("visibilitychange", listener);
    removeEventListener("focus", listener);
    removeEventListener("blur", listener);
  };
}

/** How much attention the page has, in a component. */
export const useAttention = (): Attention => useSyncExternalStore(onAttention, attention);

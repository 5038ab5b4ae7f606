/**
 * Whether anybody can see the page. Streams that a hidden tab would hold open are given up: a browser opens at most six
 * connections to a server, for all its tabs together.
 */
import { useSyncExternalStore } from "react";

const subscribe = (listener: () => void): (() => void) => {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
};

/** Whether the page is visible, in a component. */
export const useVisible = (): boolean => useSyncExternalStore(subscribe, () => document.visibilityState === "visible");

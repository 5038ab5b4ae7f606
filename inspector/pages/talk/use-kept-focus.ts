/**
 * The keyboard stays in the conversation: where what it was at is gone or closed (a question was answered, a message is edited no
 * more, a run began or ended), it goes on at what still waits for an answer, else where one writes.
 */
import { useEffect, useRef } from "react";
import type { RefObject } from "react";

const NEXT = [".talk-question:has(> fieldset:enabled)", ".talk-composer textarea"];

/** For the element that has all of it. */
export function useKeptFocus(): RefObject<HTMLDivElement | null> {
  const room = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const all = room.current;
    if (all === null) return undefined;
    let at: HTMLElement | undefined;
    const onFocus = ({ target }: Event): void => {
      const isByKeyboard = target instanceof HTMLElement && all.contains(target) && target.matches(":focus-visible");
      at = isByKeyboard ? target : undefined;
    };
    // Who uses a pointer says where to go on.
    const onPointer = (): void => {
      at = undefined;
    };
    const observer = new MutationObserver(() => {
      if (at === undefined || (at.isConnected && !at.matches(":disabled"))) return;
      at = undefined;
      const next = NEXT.map((selector) => all.querySelector<HTMLElement>(selector)).find((found) => found !== null);
      next?.focus();
    });
    observer.observe(all, { subtree: true, childList: true, attributeFilter: ["disabled"] });
    document.addEventListener("focusin", onFocus);
    document.addEventListener("pointerdown", onPointer);
    return () => {
      observer.disconnect();
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("pointerdown", onPointer);
    };
  }, []);
  return room;
}

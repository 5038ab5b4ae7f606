/** Whether a component is still on the page, for what comes back late: an answer to who has left changes nothing there. */
import { useCallback, useEffect, useRef } from "react";

/** A function that says whether the component is still on the page. */
export function useIsHere(): () => boolean {
  const isHere = useRef(false);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  return useCallback(() => isHere.current, []);
}

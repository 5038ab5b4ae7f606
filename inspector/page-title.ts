/** The title of the tab, while a component is shown. */
import { useEffect } from "react";

/** Names the tab. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Heddle`;
  }, [title]);
}

/** The page Travel. */
import type { ReactElement } from "react";
import type { ThreadPageProps } from "../../app.tsx";
import { ThreadHeader } from "../../shell/thread-header.tsx";

/** The page. */
export function TravelPage({ threadId }: ThreadPageProps): ReactElement {
  return <ThreadHeader threadId={threadId} page="Travel" />;
}

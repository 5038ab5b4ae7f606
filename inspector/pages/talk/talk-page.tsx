/** The page Talk. */
import type { ReactElement } from "react";
import type { ThreadPageProps } from "../../app.tsx";
import { ThreadHeader } from "../../shell/thread-header.tsx";

/** The page. */
export function TalkPage({ threadId }: ThreadPageProps): ReactElement {
  return <ThreadHeader threadId={threadId} page="Talk" />;
}

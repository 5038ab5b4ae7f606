/** The page Branches. */
import type { ReactElement } from "react";
import type { ThreadPageProps } from "../../app.tsx";
import { ThreadHeader } from "../../shell/thread-header.tsx";

/** The page. */
export function BranchesPage({ threadId }: ThreadPageProps): ReactElement {
  return <ThreadHeader threadId={threadId} page="Branches" />;
}

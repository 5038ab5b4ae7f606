/** The page Threads. */
import type { ReactElement } from "react";
import { PageHeader } from "../../shell/page-header.tsx";

/** The page. */
export function ThreadsPage(): ReactElement {
  return <PageHeader title="Threads" />;
}

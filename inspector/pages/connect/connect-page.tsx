/** The page Connect. */
import type { ReactElement } from "react";
import { PageHeader } from "../../shell/page-header.tsx";

/** The page. */
export function ConnectPage(): ReactElement {
  return <PageHeader title="Connect" />;
}

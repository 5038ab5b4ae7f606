/** The page Health. */
import type { ReactElement } from "react";
import { PageHeader } from "../../shell/page-header.tsx";

/** The page. */
export function HealthPage(): ReactElement {
  return <PageHeader title="Health" />;
}

/** An activity: what an agent is at, beside what it says. Plain where no component shows activities of its type. */
import type { ReactElement } from "react";
import type { ActivityProps } from "./slots.ts";

/** An activity. */
export function Activity({ message: { activityType, content } }: ActivityProps): ReactElement {
  return (
    <div role="status" data-part="activity" data-activity={activityType}>
      <span>{activityType}</span> <code>{JSON.stringify(content)}</code>
    </div>
  );
}

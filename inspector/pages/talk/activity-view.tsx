/** An activity: a checklist, how far something is, a surface, or names and values. */
import type { ReactElement } from "react";
import type { ActivityMessage } from "heddle/protocol";
import { Icon } from "../../ui/icon.tsx";
import { activityOf } from "./activity.ts";
import type { ActivityShape, ChecklistItem } from "./activity.ts";
import { wordsOf } from "./schema-form.ts";
import { SurfaceView } from "./surface-view.tsx";
import { Values } from "./values.tsx";
import "./activity-view.css";

/** An activity. */
export function ActivityView({ message }: { readonly message: ActivityMessage }): ReactElement {
  const { activityType, content } = message;
  const { title, items, progress, surfaces, rest } = activityOf(activityType, content);
  const kind = surfaces.length > 0 ? "Interface" : wordsOf(activityType);
  return (
    <section className="talk-activity" aria-label={title ?? kind} data-activity={activityType}>
      <header>
        <Icon name={surfaces.length > 0 ? "system" : "health"} size={16} />
        <strong>{title ?? kind}</strong>
        {title !== undefined && <span>{kind}</span>}
        {surfaces.length > 0 && <code>{activityType}</code>}
      </header>
      {progress !== undefined && <Progress progress={progress} label={title ?? kind} />}
      {items.length > 0 && <Checklist items={items} />}
      {surfaces.map((node, index) => (
        <div key={index} className="talk-surface">
          <SurfaceView node={node} />
        </div>
      ))}
      {Object.keys(rest).length > 0 && <Values value={rest} />}
    </section>
  );
}

function Progress({
  progress: { done, total },
  label,
}: {
  readonly progress: NonNullable<ActivityShape["progress"]>;
  readonly label: string;
}): ReactElement {
  const share = total > 0 ? Math.min(1, Math.max(0, done / total)) : 0;
  const words = total === 1 || total === 100 ? `${Math.round(share * 100)} %` : `${done} of ${total}`;
  return (
    <div className="talk-progress">
      <div
        role="progressbar"
        aria-label={label}
        aria-valuenow={done}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuetext={words}
      >
        <span style={{ width: `${share * 100}%` }} />
      </div>
      <span>{words}</span>
    </div>
  );
}

const STATUS_WORDS: Readonly<Record<ChecklistItem["status"], string>> = {
  done: "Done",
  active: "Under way",
  open: "Open",
  failed: "Not done",
};

function Checklist({ items }: { readonly items: readonly ChecklistItem[] }): ReactElement {
  return (
    <ol className="talk-checklist">
      {items.map(({ title, status, note }, index) => (
        <li key={index} data-status={status}>
          <span className="talk-check" role="img" aria-label={STATUS_WORDS[status]}>
            {status === "done" && <Icon name="check" size={13} />}
            {status === "failed" && <Icon name="close" size={13} />}
          </span>
          <span>
            {title}
            {note !== undefined && <small>{note}</small>}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** A subagent: its name, what it was asked to do and how it stands, with everything that it said inside. */
import { useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { useThread } from "heddle/react";
import { Icon } from "../../ui/icon.tsx";
import { useTalk } from "./talk-context.ts";
import "./subagent-view.css";

const WORDS = {
  running: "Working",
  finished: "Done",
  suspended: "Waits",
  failed: "Failed",
  abandoned: "Stopped",
} as const;

/** A subagent. */
export function SubagentView({ id, children }: { readonly id: string; readonly children: ReactNode }): ReactElement {
  const { subagents, status: run } = useThread();
  const facts = useTalk().facts.subagents.get(id);
  const live = subagents.find(({ subagentRunId }) => subagentRunId === id);
  const told = live?.status ?? facts?.status;
  const status = told === "running" && run !== "running" ? "abandoned" : told;
  const [isOpen, setOpen] = useState(true);
  return (
    <details
      className="talk-subagent"
      data-status={status}
      open={isOpen}
      onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}
    >
      <summary>
        <Icon name="agent" size={16} />
        <strong>{facts?.name ?? live?.name ?? "Subagent"}</strong>
        {facts?.description !== undefined && <span>{facts.description}</span>}
        {status !== undefined && <em>{WORDS[status]}</em>}
      </summary>
      <div className="talk-subagent-body">
        {children}
        {facts?.problem !== undefined && <p className="talk-subagent-problem">{facts.problem}</p>}
      </div>
    </details>
  );
}

/** The runs that are under way, each with a way to look at it and to stop it. */
import { useState } from "react";
import type { ReactElement } from "react";
import type { Status } from "../../server/api.ts";
import { useConnection } from "../../server/connection.tsx";
import { linkTo } from "../../route.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount, formatDuration } from "../../ui/format.ts";
import { say, sayFailure } from "../../ui/toast.tsx";
import { Panel } from "./panels.tsx";

/** The runs that are under way. */
export function RunningPanel({
  status: { runs, now },
  onStopped,
}: {
  readonly status: Status;
  readonly onStopped: () => void;
}): ReactElement {
  const hidden = runs.running - runs.list.length;
  const waiting = runs.queued === 0 ? "" : `${formatCount(runs.queued)} waiting for their turn.`;
  return (
    <Panel wide title="Running now" note={waiting}>
      {runs.list.length === 0 ? (
        <p className="health-quiet">Nothing runs at the moment.</p>
      ) : (
        <ul className="health-runs">
          {runs.list.map((run) => (
            <RunningRun key={`${run.threadId} ${run.runId}`} run={run} nowMs={Date.parse(now)} onStopped={onStopped} />
          ))}
        </ul>
      )}
      {hidden > 0 && (
        <p className="health-quiet">{formatCount(hidden)} more: of other tenants, or further down the list.</p>
      )}
    </Panel>
  );
}

function RunningRun({
  run: { threadId, runId, agent, startedAt, events },
  nowMs,
  onStopped,
}: {
  readonly run: Status["runs"]["list"][number];
  readonly nowMs: number;
  readonly onStopped: () => void;
}): ReactElement {
  const { server } = useConnection();
  const [isStopping, setStopping] = useState(false);
  const stop = async (): Promise<void> => {
    setStopping(true);
    try {
      const path = `/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}/cancel`;
      await server.json(path, { method: "POST" });
      say("The run was stopped.");
    } catch (error) {
      sayFailure(error);
      setStopping(false);
    }
    // It is listed until it has ended.
    onStopped();
  };
  return (
    <li>
      <a href={linkTo("timeline", threadId, { run: runId })} title={`${threadId}, run ${runId}`}>
        {threadId}
      </a>
      <span>{agent}</span>
      <span className="health-number">{formatDuration(Math.max(nowMs - Date.parse(startedAt), 0))}</span>
      <span className="health-number">{formatCount(events)} events</span>
      <Button small icon="stop" disabled={isStopping} aria-label={`Stop the run in ${threadId}`} onClick={stop}>
        {isStopping ? "Stopping…" : "Stop"}
      </Button>
    </li>
  );
}

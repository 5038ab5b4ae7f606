/** The page Health: how the server is now and was in the last minutes, for operators; to others, how their conversations are. */
import type { ReactElement } from "react";
import type { Status } from "../../server/api.ts";
import { useConnection } from "../../server/connection.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Loading } from "../../ui/loading.tsx";
import { formatClock, formatCount, formatDuration } from "../../ui/format.ts";
import { CommitChart } from "./commit-chart.tsx";
import { OwnView } from "./own-view.tsx";
import { ErrorsPanel, Facts, Panel, RefusalsPanel, RepairsPanel, StoragePanel } from "./panels.tsx";
import { RunningPanel } from "./running-panel.tsx";
import { Sparkline } from "./sparkline.tsx";
import { useStatus } from "./use-status.ts";
import type { StatusView } from "./use-status.ts";
import type { Sample } from "./status-history.ts";
import "./health-page.css";

/** The page. */
export function HealthPage(): ReactElement {
  const { me } = useConnection();
  const view = useStatus(me.mayOperate);
  const { status, error } = view;
  return (
    <>
      <PageHeader title="Health" text={me.mayOperate ? "This server, as it is now." : "Your conversations."}>
        {status !== undefined && <Readiness status={status} isAnswering={error === undefined} />}
      </PageHeader>
      <div className="page-body">
        {!me.mayOperate && <OwnView />}
        {me.mayOperate && status === undefined && error === undefined && (
          <Loading label="Asking the server how it is" />
        )}
        {me.mayOperate && status === undefined && error !== undefined && (
          <ErrorState title="The server does not say how it is" error={error} onRetry={view.refresh} />
        )}
        {status !== undefined && <Whole view={view} status={status} />}
      </div>
    </>
  );
}

function Readiness({
  status: { ready, version },
  isAnswering,
}: {
  readonly status: Status;
  readonly isAnswering: boolean;
}): ReactElement {
  const state = !isAnswering ? "gone" : ready ? "ready" : "unready";
  const words = { gone: "Not answering", ready: "Ready", unready: "Not ready" }[state];
  return (
    <p className="health-readiness" data-state={state} role="status">
      <Icon name={state === "ready" ? "check" : "warning"} size={16} />
      <strong>{words}</strong>
      <span>version {version}</span>
    </p>
  );
}

function Whole({ view, status }: { readonly view: StatusView; readonly status: Status }): ReactElement {
  const { samples, error, refresh } = view;
  return (
    <div className="health-panels" data-stale={error !== undefined}>
      {error !== undefined && (
        <div className="health-notice" data-wide data-kind="failure" role="alert">
          <Icon name="warning" size={16} />
          <span>
            {error.message} What is shown is from {formatClock(Date.parse(status.now))}; the page keeps asking.
          </span>
          <Button small icon="refresh" onClick={refresh}>
            Ask now
          </Button>
        </div>
      )}
      {!status.ready && (
        <p className="health-notice" data-wide data-kind="failure" role="alert">
          <Icon name="warning" size={16} />
          <span>
            The server takes no work: {status.store.status === "ok" ? "it is shutting down." : status.store.status}
          </span>
        </p>
      )}
      <Tiles status={status} samples={samples} />
      <RunningPanel status={status} onStopped={refresh} />
      <CommitsPanel commits={status.commits} />
      <StoragePanel store={status.store} />
      <ConnectionsPanel status={status} />
      <ServerPanel status={status} />
      <RepairsPanel repairs={status.repairs} />
      <RefusalsPanel rejections={status.rejections} />
      <ErrorsPanel errors={status.errors} />
    </div>
  );
}

function Tiles({ status, samples }: { readonly status: Status; readonly samples: readonly Sample[] }): ReactElement {
  const rate = samples.at(-1)?.eventsPerSecond;
  const series = (of: (sample: Sample) => number | undefined) =>
    samples.flatMap((sample) => {
      const y = of(sample);
      return y === undefined ? [] : [{ x: sample.atMs, y }];
    });
  return (
    <dl className="health-tiles" data-wide>
      <Tile
        name="Running"
        value={formatCount(status.runs.running)}
        unit={
          status.runs.queued > 0
            ? `${formatCount(status.runs.queued)} waiting`
            : status.runs.running === 1
              ? "run"
              : "runs"
        }
        points={series(({ running }) => running)}
      />
      <Tile
        name="Viewers"
        value={formatCount(status.viewers)}
        unit="watching"
        points={series(({ viewers }) => viewers)}
      />
      <Tile
        name="Events"
        value={rate === undefined ? "…" : formatCount(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate))}
        unit="a second"
        points={series(({ eventsPerSecond }) => eventsPerSecond)}
      />
    </dl>
  );
}

function Tile({
  name,
  value,
  unit,
  points,
}: {
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}): ReactElement {
  return (
    <div className="health-tile">
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong> <span>{unit}</span>
      </dd>
      <dd className="health-tile-line">
        <Sparkline points={points} />
      </dd>
    </div>
  );
}

function CommitsPanel({ commits }: { readonly commits: Status["commits"] }): ReactElement {
  const { count, p50Ms, p95Ms, p99Ms } = commits;
  return (
    <Panel title="Commits" note="How long it takes until an event is safely stored. Nobody sees it before.">
      <Facts
        facts={[
          ["Half within", count === 0 ? "–" : formatDuration(p50Ms)],
          ["95 % within", count === 0 ? "–" : formatDuration(p95Ms)],
          ["99 % within", count === 0 ? "–" : formatDuration(p99Ms)],
          ["Commits", formatCount(count)],
        ]}
      />
      <CommitChart commits={commits} />
    </Panel>
  );
}

function ConnectionsPanel({ status }: { readonly status: Status }): ReactElement {
  const { viewers, sockets, reconnects, slowestLagEvents } = status;
  return (
    <Panel title="Connections">
      <Facts
        facts={[
          ["Viewers", formatCount(viewers)],
          ["WebSockets", formatCount(sockets)],
          ["Reconnects", formatCount(reconnects)],
          ["Slowest viewer", slowestLagEvents === 0 ? "up to date" : `${formatCount(slowestLagEvents)} events behind`],
        ]}
      />
    </Panel>
  );
}

const ENDINGS: Readonly<Record<string, string>> = {
  finished: "Finished",
  interrupted: "Ended with a question",
  cancelled: "Stopped",
  failed: "Failed",
  lost: "Lost with a process",
};

function ServerPanel({ status }: { readonly status: Status }): ReactElement {
  const { startedAt, now, store, totals } = status;
  return (
    <Panel title="Since the start">
      <Facts
        facts={[
          ["Running for", formatDuration(Math.max(Date.parse(now) - Date.parse(startedAt), 0))],
          ["Store", store.status === "ok" ? store.kind : `${store.kind}: ${store.status}`],
          ["Runs started", formatCount(totals.started)],
          ...Object.entries(totals.ended).map(
            ([ending, count]) => [ENDINGS[ending] ?? ending, formatCount(count)] as const,
          ),
          ["Events", formatCount(totals.events)],
        ]}
      />
    </Panel>
  );
}

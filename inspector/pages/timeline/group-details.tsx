/** What the events of a group come to. */
import type { ReactElement } from "react";
import type { RunSummary } from "heddle/client";
import type { Event } from "heddle/protocol";
import { formatBytes, formatCount, formatDuration, formatPreciseClock } from "../../ui/format.ts";
import { JsonView } from "../../ui/json-view.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { ArgumentsView, Fact, Section } from "./event-details.tsx";
import { joinedText } from "./joined-text.ts";
import { LongText } from "./long-text.tsx";
import type { Group } from "./timeline-group.ts";
import type { TimelineIndex } from "./timeline-index.ts";
import { Problems, RUN_STATUS } from "./timeline-row.tsx";

const STATUS_WORDS = { open: "Going on", waiting: "Waits", done: "Complete", cancelled: "Stopped", failed: "Failed" };

/** What the events of a group come to. */
export function GroupDetails({
  group,
  index,
  run,
}: {
  readonly group: Group;
  readonly index: TimelineIndex;
  readonly run: RunSummary | undefined;
}): ReactElement {
  const { kind, id, status, startMs, durationMs, count, parts, textBytes, gaps } = group;
  return (
    <>
      <dl className="timeline-facts">
        <Fact name="Status">{kind === "run" ? <StatusBadge status={RUN_STATUS[status]} /> : STATUS_WORDS[status]}</Fact>
        {kind === "run" && run !== undefined && <Fact name="Agent">{run.agent}</Fact>}
        {kind !== "step" && (
          <Fact name="Id">
            <code className="timeline-id">{id}</code>
          </Fact>
        )}
        {kind !== "run" && (
          <Fact name="Run">
            {run !== undefined && `${run.agent} `}
            <code className="timeline-id">{group.runId}</code>
          </Fact>
        )}
        {startMs !== undefined && <Fact name="Began">{formatPreciseClock(startMs)}</Fact>}
        {durationMs !== undefined && <Fact name="Took">{formatDuration(durationMs)}</Fact>}
        <Fact name="Events">{formatCount(count)}</Fact>
        {parts > 0 && (
          <Fact name="Text">
            {formatCount(parts)} parts, {formatBytes(textBytes)}
          </Fact>
        )}
        {group.tokens !== undefined && <Fact name="Tokens">{formatCount(group.tokens)}</Fact>}
        {gaps.length > 0 && (
          <Fact name="Silences">
            {formatCount(gaps.length)}, the longest {formatDuration(group.longestGapMs)}
          </Fact>
        )}
        {group.hasProblems && (
          <Fact name="Problems">
            <Problems group={group} />
          </Fact>
        )}
      </dl>
      <Content group={group} index={index} />
    </>
  );
}

const ENDS: readonly Event["type"][] = ["TOOL_CALL_RESULT", "RUN_FINISHED", "RUN_ERROR"];

/** The newest event of some types that is directly in a group: notes and opaque values may come behind its end. */
function lastOf(index: TimelineIndex, { items }: Group, types: readonly Event["type"][]): Event | undefined {
  const eventOf = (item: Group | number): Event | undefined =>
    typeof item === "number" ? index.entries[item]?.event : undefined;
  const last = items.findLast((item) => types.some((type) => type === eventOf(item)?.type));
  return last === undefined ? undefined : eventOf(last);
}

function Content({ group, index }: { readonly group: Group; readonly index: TimelineIndex }): ReactElement | null {
  const first = index.entries[group.first]?.event;
  const last = lastOf(index, group, ENDS);
  switch (group.kind) {
    case "message":
    case "reasoning":
      return (
        <Section title="Text">
          <LongText after={joinedText(index, group)} />
        </Section>
      );
    case "call":
      return (
        <>
          <Section title="Arguments">
            <ArgumentsView text={joinedText(index, group)} />
          </Section>
          {last?.type === "TOOL_CALL_RESULT" && <Result event={last} />}
        </>
      );
    case "run":
      return (
        <>
          {first?.type === "RUN_STARTED" && first.input !== undefined && (
            <Section title="Input">
              <JsonView value={first.input} openTo={2} />
            </Section>
          )}
          {(last?.type === "RUN_FINISHED" || last?.type === "RUN_ERROR") && (
            <Section title="End">
              <JsonView value={last} openTo={3} />
            </Section>
          )}
        </>
      );
    case "activity":
      return first === undefined ? null : (
        <Section title="First shown as">
          <JsonView value={first} openTo={3} />
        </Section>
      );
    default:
      return null;
  }
}

function Result({ event }: { readonly event: Extract<Event, { type: "TOOL_CALL_RESULT" }> }): ReactElement {
  return (
    <Section title="Result">
      {typeof event.content === "string" ? (
        <ArgumentsView text={event.content} />
      ) : (
        <JsonView value={event.content} openTo={3} />
      )}
    </Section>
  );
}

/** What can be done with a run: make its branch the thread's own, fork, answer again, compare, note. */
import { useState } from "react";
import type { ReactElement } from "react";
import type { HeddleClient, RunSummary, ThreadDetails } from "heddle/client";
import { useHeddle } from "heddle/react";
import { linkTo } from "../../route.ts";
import { begun } from "../../runs/begun.ts";
import { ForkDialog } from "../../runs/fork-dialog.tsx";
import { READ_ONLY, useMayWrite } from "../../runs/use-may-write.ts";
import { whyNoFork } from "../../runs/why-no-fork.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { say, sayFailure } from "../../ui/toast.tsx";
import { useIsHere } from "../../ui/use-is-here.ts";
import { NoteDialog } from "./note-dialog.tsx";

/** The actions of a run. */
export function RunActions({
  threadId,
  details,
  run,
  asked,
  onSelect,
  onChanged,
}: {
  readonly threadId: string;
  readonly details: ThreadDetails;
  readonly run: RunSummary;
  readonly asked: string;
  readonly onSelect: (runId: string) => void;
  readonly onChanged: () => void;
}): ReactElement {
  const client = useHeddle();
  const mayWrite = useMayWrite(details);
  const [open, setOpen] = useState<"fork" | "note">();
  const { isBusy, attempt } = useAttempt(onChanged);
  const isHere = useIsHere();
  const isHead = run.runId === details.head;
  const why = mayWrite ? whyNoFork(run) : READ_ONLY;
  const close = (): void => setOpen(undefined);
  // The head may move meanwhile: what is written about this run stays with it.
  const ask = (what: "fork" | "note"): void => {
    onSelect(run.runId);
    setOpen(what);
  };
  const started = (runId: string): void => {
    close();
    onChanged();
    // Who looks at something else meanwhile stays there.
    if (isHere()) onSelect(runId);
    else say("The new branch runs.");
  };
  return (
    <div className="branches-actions">
      <Button
        small
        icon="check"
        disabled={!mayWrite || isHead || isBusy}
        title={mayWrite ? "The conversation goes on from here." : READ_ONLY}
        onClick={() => attempt(() => makeCurrent(client, threadId, run))}
      >
        {isHead ? "Is current" : "Make current"}
      </Button>
      <Button small icon="branches" disabled={why !== undefined} title={why} onClick={() => ask("fork")}>
        Fork
      </Button>
      <Button
        small
        icon="refresh"
        disabled={why !== undefined || isBusy}
        title={why ?? "Has the agent answer once more, on a new branch."}
        onClick={() => attempt(() => regenerate(client, threadId, run).then(started))}
      >
        Answer again
      </Button>
      <Button
        small
        icon="edit"
        disabled={!mayWrite}
        title={mayWrite ? undefined : READ_ONLY}
        onClick={() => ask("note")}
      >
        Note
      </Button>
      {details.runs.length > 1 && (
        <LinkButton small icon="compare" href={linkTo("branches", threadId, compareQuery(details, run))}>
          Compare
        </LinkButton>
      )}
      {open === "fork" && (
        <ForkDialog threadId={threadId} run={run} asked={asked} onClose={close} onStarted={started} />
      )}
      {open === "note" && <NoteDialog threadId={threadId} runId={run.runId} onClose={close} />}
    </div>
  );
}

/** Does one thing at a time. */
function useAttempt(onDone: () => void) {
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    await work().then(onDone, sayFailure);
    setBusy(false);
  };
  return { isBusy, attempt };
}

/** The branch of a run beside the thread's own; that of the thread beside the newest other one. */
function compareQuery({ head, heads }: ThreadDetails, { runId }: RunSummary): Record<string, string | undefined> {
  const other = heads.findLast((each) => each !== runId && each !== head);
  return runId === head ? { run: runId, a: runId, b: other ?? runId } : { run: runId, a: head ?? runId, b: runId };
}

async function makeCurrent(client: HeddleClient, threadId: string, { runId }: RunSummary): Promise<void> {
  await client.thread(threadId).switchTo(runId);
  say("The conversation goes on from this run.");
}

/** Has a run's message answered once more. Gives the new run, once it has begun. */
async function regenerate(client: HeddleClient, threadId: string, { agent, runId }: RunSummary): Promise<string> {
  const thread = client.thread(threadId);
  const { messages, messageRuns } = await thread.snapshotAt(runId);
  const asked = messages.findLastIndex(({ id, role }) => role === "user" && messageRuns[id] === runId);
  if (asked === -1) throw new Error("Nobody asked anything in this run. Choose the run that begins with a message.");
  const before = messages.slice(0, asked + 1).filter(({ role }) => role !== "activity");
  const run = thread.run(agent, { messages: before }, { parent: runId });
  await begun(run);
  return run.runId;
}

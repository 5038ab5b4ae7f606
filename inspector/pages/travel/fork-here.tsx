/** Goes on from the run that is looked at, with something else than what followed. */
import { useState } from "react";
import type { ReactElement } from "react";
import type { RunSummary, ThreadDetails } from "heddle/client";
import { go, linkTo } from "../../route.ts";
import { ForkDialog } from "../../runs/fork-dialog.tsx";
import { useMayWrite } from "../../runs/use-may-write.ts";
import { whyNoFork } from "../../runs/why-no-fork.ts";
import { Button } from "../../ui/button.tsx";
import { say } from "../../ui/toast.tsx";

/** A button that asks for a message; absent where one may only watch. */
export function ForkHere({
  threadId,
  details,
  run,
  asked,
}: {
  readonly threadId: string;
  readonly details: ThreadDetails;
  readonly run: RunSummary;
  readonly asked: string;
}): ReactElement | null {
  // What is looked at may follow the newest event: the fork is of the run that it was asked for.
  const [forked, setForked] = useState<{ readonly run: RunSummary; readonly asked: string }>();
  const mayWrite = useMayWrite(details);
  if (!mayWrite) return null;
  const why = whyNoFork(run);
  const started = (head: string): void => {
    setForked(undefined);
    say("The new branch runs.");
    go(linkTo("travel", threadId, { head }));
  };
  return (
    <>
      <Button
        icon="branches"
        disabled={why !== undefined}
        title={why ?? "Go on from the end of this event's run with another message."}
        onClick={() => setForked({ run, asked })}
      >
        Fork from here
      </Button>
      {forked !== undefined && (
        <ForkDialog threadId={threadId} {...forked} onClose={() => setForked(undefined)} onStarted={started} />
      )}
    </>
  );
}

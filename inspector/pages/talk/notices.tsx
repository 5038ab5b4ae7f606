/** What is not as it should be: a run that failed, something that was refused, a lost connection, an agent that is gone. */
import type { ReactElement } from "react";
import { useThread } from "heddle/react";
import { NEW_THREAD } from "../../route.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useTalk } from "./talk-context.ts";
import "../../ui/banner.css";
import "./notices.css";

/** Whether the thread was deleted while it was looked at. */
export function useIsGone(threadId?: string): boolean {
  const { connection, thread } = useThread(threadId);
  return connection === "ended" && Object(thread.error).code === "thread-unknown";
}

/** A line across the page while the connection is lost. */
export function ConnectionNotice(): ReactElement | null {
  const { connection, thread } = useThread();
  const isGone = useIsGone();
  if (connection === "reconnecting") {
    return (
      <p className="banner" role="status">
        <Icon name="refresh" size={16} /> The connection is lost. It comes back by itself; runs go on meanwhile.
        <Button small onClick={() => thread.reconnect()}>
          Try now
        </Button>
      </p>
    );
  }
  if (isGone) {
    return (
      <p className="banner" role="alert" data-failure="">
        <Icon name="trash" size={16} /> This conversation was deleted. What you see is what was here before.
        <LinkButton small href={NEW_THREAD}>
          Start another
        </LinkButton>
      </p>
    );
  }
  const { error } = thread;
  // A token that holds no more is told of above every page.
  if (connection !== "ended" || error === undefined || Object(error).code === "unauthenticated") return null;
  return (
    <p className="banner" role="alert" data-failure="">
      <Icon name="warning" size={16} /> This conversation is followed no more: {error.message}
      <Button small onClick={() => location.reload()}>
        Load it again
      </Button>
    </p>
  );
}

/** An agent that was meant and is not there. */
export function MissingAgentNotice({
  missing,
  instead,
}: {
  readonly missing: string;
  readonly instead: string | undefined;
}): ReactElement {
  return (
    <p className="banner" role="status">
      <Icon name="info" size={16} />
      {instead === undefined
        ? `This server has no agent “${missing}”. Choose another below.`
        : `“${missing}”, which was talked to here, is not on this server any more. “${instead}” answers now.`}
    </p>
  );
}

/** How the newest run ended, where that is not the usual way; or why something was refused. */
export function RunNotice(): ReactElement | null {
  const { error, newest, status, isStarting, connection, regenerate, thread } = useThread();
  const { readOnly, agent } = useTalk();
  if (connection === "ended") return null;
  if (error === undefined) {
    return status === "cancelled" ? <p className="talk-ended">Stopped.</p> : null;
  }
  // Whoever waited for the run is told of its end too, as an error of its own.
  const isRun = newest.status === "failed" && (error === newest.error || error.message === newest.error?.message);
  const hasQuestion = thread.messages.some(({ role }) => role === "user");
  return (
    <div className="talk-failure" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{isRun ? "The run failed" : "That did not work"}</strong>
        <p>{error.message}</p>
        {error.code !== undefined && <code>{error.code}</code>}
      </div>
      {isRun && hasQuestion && readOnly === undefined && agent !== undefined && (
        <Button small icon="refresh" disabled={isStarting} onClick={() => regenerate()}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** What the run is at: its open steps, or that it has begun; or that it was asked for. */
export function RunProgress(): ReactElement | null {
  const { status, isStarting, steps } = useThread();
  const isRunning = status === "running";
  if (!isRunning && !isStarting) return null;
  const words = isRunning ? steps.map(({ name }) => name).join(" · ") : "Sending";
  return (
    <p className="talk-progress-line" role="status">
      <span className="talk-dots" aria-hidden="true">
        <span />
        <span />
        <span />
      </span>
      {words === "" ? "Working" : words}
    </p>
  );
}

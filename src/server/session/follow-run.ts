/**
 * A run as the events of a session, from its first to its last, whoever executes it. An attachment that is cut in between
 * (a role has changed) is made anew behind the last event, by whoever may still make it.
 */
import { projectToSession } from "../../protocol/session/index.ts";
import type { SessionEvent } from "../../protocol/session/index.ts";
import type { Conversations } from "../index.ts";

/** Which run, and how it is told. */
export interface FollowedRun {
  /** The session, which is the thread. */
  readonly sessionId: string;
  /** The run. */
  readonly runId: string;
  /** Whether it may still wait for its turn. */
  readonly queued: boolean;
  /** Whether reasoning is told. */
  readonly reasoning: boolean;
  /** Aborts when nobody listens any more. */
  readonly signal: AbortSignal | undefined;
  /** Whether the server is going away, so that there is nothing more to come. */
  readonly isClosing: () => boolean;
}

/** The events. Throws what attaching does. */
export async function* followRun(heddle: Conversations, followed: FollowedRun): AsyncGenerator<SessionEvent> {
  const { sessionId, runId, queued, reasoning, signal, isClosing } = followed;
  const project = projectToSession({ sessionId, reasoning, messageIdFallback: runId });
  let after: string | undefined;
  for (let hasEnded = false; !hasEnded && !isOver(signal, isClosing);) {
    const attachment = await heddle.attach(sessionId, { runId, queued, after, reasoning, signal });
    for await (const { cursor, event } of attachment.events) {
      after = cursor ?? after;
      hasEnded ||= event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
      yield* project(event);
    }
  }
}

const isOver = (signal: AbortSignal | undefined, isClosing: () => boolean): boolean =>
  signal?.aborted === true || isClosing();

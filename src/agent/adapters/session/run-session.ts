/**
 * One run on a server of the session dialect: a socket is opened, the request follows the server's greeting, and its
 * events are yielded as AG-UI's until the run has ended.
 *
 * Whatever ends the generator closes the socket: the end of the run, its signal, a timeout, or a reader who leaves.
 */
import { HeddleError } from "../../../protocol/index.ts";
import type { Event, RunAgentInput, Warning } from "../../../protocol/index.ts";
import {
  decodeForeignSessionEvent,
  encodeSessionRunInput,
  projectFromSession,
  runInputToSessionInput,
} from "../../../protocol/session/index.ts";
import type { SessionEvent } from "../../../protocol/session/index.ts";
import { mintId } from "../../mint-id.ts";
import { noAnswer, secretsOf, tooManyEvents } from "../ag-ui/failures.ts";
import type { Remote } from "../ag-ui/failures.ts";
import { badEvent } from "./failures.ts";
import type { SessionAgentOptions } from "./session-agent.ts";
import { openSessionSocket } from "./session-socket.ts";
import type { SessionSocket } from "./session-socket.ts";

/** What one run needs: the options, with address and headers checked. */
export interface SessionRun extends Omit<SessionAgentOptions, "headers"> {
  /** Address of the endpoint. */
  readonly url: URL;
  /** Headers of this run. */
  readonly headers: Headers;
}

const ignore = (): void => {};

/** Runs an agent behind a WebSocket. */
export async function* runSession(
  run: SessionRun,
  input: RunAgentInput,
  signal: AbortSignal,
): AsyncGenerator<Event, void, undefined> {
  const { name, url, headers, onWarning = ignore } = run;
  const { responseTimeoutMs = 120_000, closeTimeoutMs = 1_000, maxFrameBytes = 10 * 1024 * 1024 } = run;
  const { value, warnings } = runInputToSessionInput(input, run.sessionId?.(input));
  for (const warning of warnings) onWarning(warning);
  const request = encodeSessionRunInput(value);
  const remote = { name, url, secrets: secretsOf(url, headers) };

  const late = new AbortController();
  const stopping = AbortSignal.any([signal, late.signal]);
  const timer = setTimeout(() => late.abort(noAnswer(remote, responseTimeoutMs)), responseTimeoutMs);
  let socket: SessionSocket | undefined;
  try {
    socket = await openSessionSocket({ remote, headers, maxFrameBytes, closeTimeoutMs, signal: stopping });
    yield* converse(run, remote, input, socket, (open) => {
      clearTimeout(timer);
      open.send(request);
    });
  } finally {
    clearTimeout(timer);
    socket?.close();
  }
}

/** Yields what the server says; asks as soon as it has greeted. */
async function* converse(
  { idleTimeoutMs = 120_000, maxEvents = 1_000_000, maxFrameBytes, onWarning = ignore }: SessionRun,
  remote: Remote,
  { threadId, runId, messages }: RunAgentInput,
  socket: SessionSocket,
  ask: (socket: SessionSocket) => void,
): AsyncGenerator<Event, void, undefined> {
  const takenIds = messages.map(({ id }) => id);
  const projection = projectFromSession({ threadId, runId, newId: () => mintId("msg"), takenIds });
  let hasAsked = false;
  for (let count = 1; !projection.isOver; count++) {
    // Until the server has greeted, the time for its answer counts.
    const text = await socket.next(hasAsked ? idleTimeoutMs : undefined);
    // What is dropped here is seen by nobody else: an endless stream of it would never be noticed.
    if (count > maxEvents) throw tooManyEvents(maxEvents, count);
    const event = read(remote, text, maxFrameBytes, onWarning);
    if (event === undefined) continue;
    yield* projection.step(event);
    if (hasAsked || projection.isOver) continue;
    hasAsked = true;
    ask(socket);
  }
}

function read(
  remote: Remote,
  text: string,
  maxBytes: number | undefined,
  onWarning: (warning: Warning) => void,
): SessionEvent | undefined {
  try {
    const event = decodeForeignSessionEvent(text, maxBytes === undefined ? {} : { maxBytes });
    if (event !== undefined) return event;
  } catch (error) {
    if (error instanceof HeddleError) throw badEvent(remote, error);
    throw error;
  }
  onWarning({
    code: "unknown-event",
    path: "/type",
    message: "Dropped an event that the session dialect does not know.",
  });
  return undefined;
}

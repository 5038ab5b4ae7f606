/**
 * One run of a remote agent: the input is posted as the peer can read it, and the events of the answer are yielded.
 *
 * Whatever ends the generator ends the request: the end of the answer, the run's signal, a timeout, or a reader who
 * leaves.
 */
import { PROTOCOL_VERSION, SSE_MEDIA_TYPE, parseRunInput } from "../../../protocol/index.ts";
import type { Event, RunAgentInput, Warning } from "../../../protocol/index.ts";
import { BINARY_MEDIA_TYPE } from "../../../protocol/binary/index.ts";
import { projectRunInput } from "../../../protocol/dialects/index.ts";
import type { Peer } from "../../../protocol/dialects/index.ts";
import { noAnswer, secretsOf } from "./failures.ts";
import { readEvents } from "./read-events.ts";
import type { RemoteAgentOptions } from "./remote-agent.ts";
import { requestRun } from "./request-run.ts";

/** What one run needs: the options, with address and headers checked. */
export interface RemoteRun extends Omit<RemoteAgentOptions, "headers"> {
  /** Address of the endpoint. */
  readonly url: URL;
  /** Headers of this run. */
  readonly headers: Headers;
}

const ignore = (): void => {};

/** Runs an agent elsewhere. */
export async function* runRemotely(
  run: RemoteRun,
  input: RunAgentInput,
  signal: AbortSignal,
): AsyncGenerator<Event, void, undefined> {
  const { name, url, fetch = globalThis.fetch, peer = {}, onWarning = ignore, onFrame = ignore } = run;
  const { responseTimeoutMs = 120_000, idleTimeoutMs = 120_000, closeTimeoutMs = 1_000 } = run;
  const { maxFrameBytes = 10 * 1024 * 1024, maxEvents = 1_000_000 } = run;
  const { body, isCurrent } = bodyFor(input, peer, onWarning);
  const remote = { name, url, secrets: secretsOf(url, run.headers) };
  const headers = new Headers(run.headers);
  headers.set("content-type", "application/json");
  // A connection that was kept may be closed by the agent just when it is used, and a run cannot be posted twice. Whoever brings
  // a fetch has its own connections, on which the header may not even be allowed.
  if (run.fetch === undefined) headers.set("connection", "close");
  // Protobuf of before 1.0 cannot carry every event.
  headers.set("accept", isCurrent ? `${SSE_MEDIA_TYPE}, ${BINARY_MEDIA_TYPE}` : SSE_MEDIA_TYPE);

  const late = new AbortController();
  const stopping = AbortSignal.any([signal, late.signal]);
  const timer = setTimeout(() => late.abort(noAnswer(remote, responseTimeoutMs)), responseTimeoutMs);
  try {
    const response = await requestRun({ remote, fetch, headers, body, signal: stopping });
    clearTimeout(timer);
    const limits = { idleTimeoutMs, closeTimeoutMs, maxFrameBytes, maxEvents };
    yield* readEvents(response, { remote, signal: stopping, ...limits, onWarning, onFrame });
  } finally {
    clearTimeout(timer);
  }
}

/** The input as the peer reads it, and whether the peer is one that knows versions. */
function bodyFor(
  input: RunAgentInput,
  peer: Peer,
  onWarning: (warning: Warning) => void,
): { readonly body: string; readonly isCurrent: boolean } {
  const judged = parseRunInput({ ...input, protocolVersion: PROTOCOL_VERSION });
  const projected = projectRunInput(judged.value, peer);
  for (const warning of [...judged.warnings, ...projected.warnings]) onWarning(warning);
  return { body: JSON.stringify(projected.value), isCurrent: "protocolVersion" in projected.value };
}

/**
 * Tries an agent at an address on the spot: posts it one message, as a gateway would, and says what is wrong with its answer.
 *
 * Nothing is kept and nothing repeated but what is listed in `AgentCheck`: no header of the answer but its content type, and of a
 * body that is no event stream nothing at all. Only the address that is given is called; a redirect is followed within its
 * origin only. Whoever lets others call this lets them have requests made from here: that is theirs to judge.
 */
import { remoteAgent } from "../agent/adapters/ag-ui/index.ts";
import { runAgent } from "../agent/index.ts";
import { HeddleError } from "../protocol/index.ts";
import type { RunAgentInput } from "../protocol/index.ts";
import { AnswerJudge } from "./check-answer.ts";
import type { CheckFinding } from "./check-answer.ts";
import { checkTarget } from "./check-target.ts";
import { explain } from "./explain-check.ts";

/** How an agent is tried. */
export interface CheckOptions {
  /** Headers to send, such as `Authorization`. They are used for this call only. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What the user says. Default `Hello`. */
  readonly message?: string | undefined;
  /** Aborts the check, which then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long it may take in all. Default 20,000. */
  readonly timeoutMs?: number;
  /** Most events that are read. Default 10,000. */
  readonly maxEvents?: number;
  /** Most bytes that are read. Default 4 MiB. */
  readonly maxBytes?: number;
}

/** What came of it. */
export interface AgentCheck {
  /** Whether any client can use the agent: a whole run, in order, that did not fail. */
  readonly ok: boolean;
  /** Whether anything answered at the address. */
  readonly reached: boolean;
  /** What came of it, and what to do, in one sentence. */
  readonly sentence: string;
  /** The address as it was given. */
  readonly url: string;
  /** HTTP status of the answer. */
  readonly status?: number;
  /** Content type of the answer. */
  readonly contentType?: string;
  /** When the first event came. */
  readonly firstEventMs?: number;
  /** How long all of it took. */
  readonly totalMs: number;
  /** How many events came. */
  readonly events: number;
  /** How many of each type. */
  readonly types: Readonly<Record<string, number>>;
  /** How the run ended: `success`, `interrupt`, `cancelled` or `error`. */
  readonly outcome?: string;
  /** What the agent said as text, its beginning. */
  readonly text: string;
  /** What is wrong, in the order in which it came. */
  readonly findings: readonly CheckFinding[];
  /** The first events, as they came. */
  readonly sample: readonly unknown[];
}

/** What an answer is known by before it is read. */
interface Heard {
  status?: number;
  contentType?: string;
}

/** Longest content type that is told. */
const MAX_TYPE_CHARS = 200;

/** Tries an agent. Throws `input-invalid` where the address or the headers cannot be used, or the signal's reason. */
export async function checkAgent(url: string, options: CheckOptions = {}): Promise<AgentCheck> {
  const { headers = {}, message = "Hello", signal, timeoutMs = 20_000 } = options;
  const { maxEvents = 10_000, maxBytes = 4 * 1024 * 1024 } = options;
  checkTarget(url, headers);
  signal?.throwIfAborted();
  const input = inputOf(message);
  const startMs = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - startMs);
  const judge = new AnswerJudge(input.messages, elapsedMs);
  const heard: Heard = {};
  const stop = new AbortController();
  const agent = remoteAgent({
    name: "checked",
    url,
    headers,
    fetch: listening(heard, maxBytes, (limit) => stop.abort(limit)),
    maxEvents,
    maxFrameBytes: maxBytes,
    onFrame: (value) => judge.take(value),
    onWarning: (warning) => judge.warn(warning),
  });
  const timer = setTimeout(() => stop.abort(tooSlow(timeoutMs)), timeoutMs);
  const stopping = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  let failure: unknown;
  try {
    const onError = (error: unknown): void => void (failure ??= error);
    // What comes out is what a gateway would show; the judge has seen what came in.
    for await (const _ of runAgent(agent, input, { signal: stopping, graceMs: 100, onError }));
  } finally {
    clearTimeout(timer);
  }
  signal?.throwIfAborted();
  const totalMs = elapsedMs();
  const told = judge.end();
  const reached = heard.status !== undefined;
  const cause = stop.signal.aborted ? stop.signal.reason : failure;
  const { ok, sentence, findings } = explain({ ...told, ...heard, reached, totalMs }, cause);
  return { ok, reached, sentence, url, ...heard, ...told, totalMs, findings };
}

/** A whole input, since agents of before 1.0 ask for every field. */
function inputOf(content: string): RunAgentInput {
  const id = crypto.randomUUID();
  const messages = [{ id: `check-message-${id}`, role: "user", content } as const];
  const ids = { threadId: `check-${id}`, runId: `check-run-${id}` };
  return { ...ids, messages, tools: [], context: [], state: {}, forwardedProps: {} };
}

/** The global `fetch`, listened to, that gives up where an answer goes on for too long. */
function listening(heard: Heard, maxBytes: number, onTooLong: (error: HeddleError) => void): typeof fetch {
  return async (address, init) => {
    const response = await fetch(address, init);
    heard.status = response.status;
    const contentType = response.headers.get("content-type");
    if (contentType !== null) heard.contentType = contentType.slice(0, MAX_TYPE_CHARS);
    if (!response.ok || response.body === null) return response;
    let bytes = 0;
    const counted = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.length;
          if (bytes > maxBytes) onTooLong(tooLong(maxBytes, bytes));
          else controller.enqueue(chunk);
        },
      }),
    );
    return new Response(counted, { status: response.status, headers: response.headers });
  };
}

function tooSlow(allowed: number): HeddleError {
  const message = `The run had not ended after ${allowed / 1000} seconds, so the check was stopped.`;
  return new HeddleError("limit-exceeded", message, { limit: "milliseconds of a check", allowed, actual: allowed });
}

function tooLong(allowed: number, actual: number): HeddleError {
  const message = `The answer is longer than ${allowed} bytes, so the check was stopped.`;
  return new HeddleError("limit-exceeded", message, { limit: "bytes of an answer", allowed, actual });
}

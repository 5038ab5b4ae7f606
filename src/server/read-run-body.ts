/** What a client posts, judged before anything is done with it: older forms translated, the rest enforced. */
import { HeddleError, parseRunInput } from "../protocol/index.ts";
import type { RunAgentInput, Warning } from "../protocol/index.ts";
import { UNDECLARED_PEER, normaliseRunInput } from "../protocol/dialects/index.ts";
import type { Peer } from "../protocol/dialects/index.ts";

/** A body that asks for a run. */
export interface RunBody {
  /** The input. */
  readonly input: RunAgentInput;
  /** Who posted it: without a version, a peer from before there were versions. */
  readonly peer: Peer;
  /** What was translated or taken out. */
  readonly warnings: readonly Warning[];
}

/** Judges a body that asks for a run. Throws `input-invalid`. */
export function readRunBody(body: unknown): RunBody {
  const normalised = normaliseRunInput(body);
  const { value: input, warnings: removed } = parseRunInput(normalised.value);
  checkId("/threadId", input.threadId);
  checkId("/runId", input.runId);
  const { protocolVersion: version } = input;
  const peer = version === undefined ? UNDECLARED_PEER : { version };
  return { input, peer, warnings: [...normalised.warnings, ...removed] };
}

/** Judges a body that names a thread, and may say anything else that a run's does. Throws `input-invalid`. */
export function readThreadId(body: unknown): {
  readonly threadId: string;
  readonly held: readonly string[];
  readonly peer: Peer;
} {
  const { value } = normaliseRunInput(body);
  const whole = typeof value === "object" && value !== null ? { runId: "connect", messages: [], ...value } : value;
  const { input, peer } = readRunBody(whole);
  return { threadId: input.threadId, held: input.messages.map(({ id }) => id), peer };
}

/** Longest thread or run id. */
const MAX_ID_CHARS = 256;

/** Ids stand in paths and headers: what could not be named there again is refused before a run has it. */
function checkId(path: string, id: string): void {
  if (id !== "" && id !== "." && id !== ".." && id.length <= MAX_ID_CHARS && id.isWellFormed()) return;
  const expected = `1 to ${MAX_ID_CHARS} characters of well-formed text, and not "." or ".."`;
  const received = id.length > 60 ? `${id.length} characters` : JSON.stringify(id);
  throw new HeddleError("input-invalid", `Expected ${expected} at ${path}, received ${received}.`, {
    path,
    expected,
    received,
  });
}

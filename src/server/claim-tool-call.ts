/**
 * A frontend call is executed by one tab or device: whoever claims it first has a while for it. After that another may, so
 * a tab that was closed holds nothing up. The answer comes with the next run, and counts once.
 */
import { HeddleError } from "../protocol/index.ts";
import { foldBranch } from "../store/index.ts";
import type { Store, ThreadKey } from "../store/index.ts";
import { unansweredCalls } from "./known-branch.ts";
import { knownThread } from "./known-thread.ts";
import { view } from "../stream/index.ts";

/** A claim that was given. */
export interface ToolCallClaimed {
  /** The call. */
  readonly toolCallId: string;
  /** Who may execute it. */
  readonly holder: string;
  /** Until when. */
  readonly untilMs: number;
}

const DEFAULT_LEASE_MS = 30_000;
const MAX_LEASE_MS = 3_600_000;
const MAX_HOLDER_CHARS = 256;

/**
 * Claims a call, from a body that nobody has judged yet: `holder`, a name that the tab keeps, and `leaseMs`, where 0 lets go.
 * The same holder again renews it. Throws `input-invalid`, `thread-unknown`, `tool-call-closed` and `tool-call-taken`.
 */
export async function claimToolCall(
  store: Store,
  key: ThreadKey,
  toolCallId: string,
  body: unknown,
): Promise<ToolCallClaimed> {
  const { holder, leaseMs } = readBody(body);
  const { threadId } = key;
  const { head } = await knownThread(store, key);
  const open = head === undefined ? [] : unansweredCalls(await messagesOf(store, key, head));
  if (!open.includes(toolCallId)) {
    const message = "The tool call waits for nobody: it was answered, or is not of this branch.";
    throw new HeddleError("tool-call-closed", message, { threadId, toolCallId });
  }
  const { type, untilMs } = await store.claimToolCall({ ...key, toolCallId, holder, leaseMs });
  if (type === "held") return { toolCallId, holder, untilMs };
  const until = new Date(untilMs).toISOString();
  const message = `Another tab or device executes the tool call until ${until}: wait for its answer.`;
  throw new HeddleError("tool-call-taken", message, { threadId, toolCallId, until });
}

async function messagesOf(store: Store, key: ThreadKey, runId: string) {
  return view((await foldBranch(store, { ...key, runId })).state.reduce).messages;
}

function readBody(body: unknown): { readonly holder: string; readonly leaseMs: number } {
  const { holder, leaseMs = DEFAULT_LEASE_MS }: { holder?: unknown; leaseMs?: unknown } = Object(body);
  if (typeof holder !== "string" || holder === "" || holder.length > MAX_HOLDER_CHARS || !holder.isWellFormed()) {
    throw refused("/holder", `a name of 1 to ${MAX_HOLDER_CHARS} characters that the tab keeps`, typeof holder);
  }
  if (typeof leaseMs !== "number" || !Number.isInteger(leaseMs) || leaseMs < 0 || leaseMs > MAX_LEASE_MS) {
    throw refused("/leaseMs", `a whole number of milliseconds up to ${MAX_LEASE_MS}`, String(leaseMs));
  }
  return { holder, leaseMs };
}

function refused(path: string, expected: string, received: string): HeddleError {
  const message = `${path} of the claim is ${received}: expected ${expected}.`;
  return new HeddleError("input-invalid", message, { path, expected, received });
}

/**
 * What a client posted, against the branch it hangs on: the table of DESIGN 9 as one function.
 *
 * The log owns the history. Messages are matched by id and the log's version of a known one counts; a client adds user
 * messages and answers to pending tool calls, wherever they stand in its list, and can neither forge nor shorten the
 * rest. What it leaves off or rewrites means a fork, never a loss. Every posted message ends up in the result, is known
 * already, or is listed as dropped with the reason.
 */
import type { Interrupt, Message, RunAgentInput } from "../../protocol/index.ts";
import { isContainer } from "../json-value.ts";
import { isInstruction, isOptional } from "./match-by-position.ts";
import { reconcileState } from "./reconcile-state.ts";
import type { KnownRun, StateDecision, StateSight } from "./reconcile-state.ts";
import { sameMessage } from "./same-message.ts";

/** A branch as its server knows it. */
export interface KnownBranch {
  /** Its runs, from the root to the head. */
  readonly runs: readonly KnownRun[];
  /** Its messages in order, each id once, and the run that brought each. */
  readonly messages: readonly KnownMessage[];
  /** Its state now. */
  readonly state?: unknown;
  /** Tool calls that wait for the client's answer. */
  readonly pendingToolCallIds?: readonly string[];
  /** Interrupts that wait for an answer. */
  readonly interrupts?: readonly Interrupt[];
}

/** A message of a branch. */
export interface KnownMessage {
  /** The message, in the log's version. */
  readonly message: Message;
  /** The run that brought it. */
  readonly runId: string;
}

/** Options of `reconcile`. */
export interface ReconcileOptions {
  /** Where new messages go that follow a shorter list: on a fork (default), or behind the branch. */
  readonly onStale?: "fork" | "append";
  /** Whether system and developer messages are taken on a thread that exists. Default false. */
  readonly acceptInstructions?: boolean;
  /** How whoever posts sees the state. Default: all of it. */
  readonly sight?: StateSight | undefined;
}

/** What the client means. A fork hangs on `forkAt`, the last run that it keeps; undefined is the root. */
export type Verdict =
  | { readonly verdict: "restore" | "run" | "continue" | "new-thread" }
  | { readonly verdict: "regenerate" | "edit"; readonly forkAt: string | undefined };

/** Reasons to drop a posted message, each with its sentence. */
export const DROP_REASONS = {
  activity: "Activities are not part of a run's input.",
  "altered-message": "The log's version of this message counts.",
  "duplicate-answer": "The first answer to a tool call counts.",
  "duplicate-id": "The first message of an id counts.",
  instructions: "System and developer messages are only taken when a thread begins.",
  superseded: "The message lies behind the point where the new branch begins.",
  "unknown-message": "The log does not hold this message, and it answers no pending tool call.",
} as const;

/** Why a posted message was dropped. */
export type DropCode = keyof typeof DROP_REASONS;

/** A posted message that does not count. */
export interface Dropped {
  /** Why. */
  readonly code: DropCode;
  /** Id of the message. */
  readonly messageId: string;
  /** JSON Pointer to it in the posted input. */
  readonly path: string;
  /** Why, in one sentence. */
  readonly message: string;
}

/** What a post comes to. */
export type Reconciled = Verdict & {
  /** How many messages of the branch, from its beginning, stay. */
  readonly keep: number;
  /** The messages that the run brings to the branch: for `RUN_STARTED.input`. */
  readonly added: readonly Message[];
  /** All messages: the branch up to the fork, and what is added. An agent gets them without the activities. */
  readonly messages: readonly Message[];
  /** What does not count, and why. */
  readonly dropped: readonly Dropped[];
  /** Whether the client holds something else, so that the run opens with `MESSAGES_SNAPSHOT`. */
  readonly differs: boolean;
  /** The state that the run starts from. */
  readonly state: StateDecision;
  /** What this post leaves open on its branch: a server refuses to run on while something is. */
  readonly unanswered: { readonly interrupts: readonly Interrupt[]; readonly toolCallIds: readonly string[] };
};

/** What becomes of a posted message, before it is known where the run hangs. */
type Fate = "known" | "edited" | "new" | "answer" | DropCode;

interface Posted {
  readonly message: Message;
  readonly fate: Fate;
  /** Where the branch holds a message of this id; -1 for nowhere. */
  readonly at: number;
  /** The message that counts where this one does: the log's for a known one. */
  readonly counts: Message;
}

/** Judges what a client posted. `branch` is undefined where the thread does not exist. */
export function reconcile(
  input: RunAgentInput,
  branch: KnownBranch | undefined,
  options: ReconcileOptions = {},
): Reconciled {
  const { runs = [], messages: known = [], interrupts = [], pendingToolCallIds = [] } = branch ?? {};
  const order = new Map(runs.map(({ runId }, index) => [runId, index]));
  const runIndex = ({ runId }: KnownMessage): number => order.get(runId) ?? 0;
  const isOver = (message: KnownMessage): boolean => runs[runIndex(message)]?.ended === true;
  const posted = sort(input.messages, branch, options);
  const { verdict, keep } = branch ? judge(input, posted, known, isOver, options) : NEW_THREAD;
  const kept = known.slice(0, keep);
  // The first run that loses a message: the fork leaves it behind with all that came after.
  const fork = known.slice(keep).reduce((first, message) => Math.min(first, runIndex(message)), Infinity);
  const isFork = fork < Infinity;
  const keptIf = (test: (message: KnownMessage) => boolean): readonly Message[] =>
    kept.filter(test).map(({ message }) => message);
  const hasCall = (id: string): boolean => !isFork || kept.some(({ message }) => callsOf(message).includes(id));
  const { taken, dropped } = settle(posted, keep, hasCall);
  const added = isFork ? [...keptIf((message) => runIndex(message) >= fork), ...taken] : taken;
  const messages = [...keptIf((message) => !isFork || runIndex(message) < fork), ...added];
  return {
    ...(verdict === "edit" || verdict === "regenerate" ? { verdict, forkAt: runs[fork - 1]?.runId } : { verdict }),
    keep,
    added,
    messages,
    dropped,
    differs: holdsOther(posted, messages),
    state: reconcileState(
      verdict === "restore" ? {} : input.state,
      runs,
      branch?.state,
      isFork ? fork : undefined,
      options.sight,
    ),
    unanswered: {
      interrupts: interrupts.filter(
        ({ id }) => !isFork && !input.resume?.some(({ interruptId }) => interruptId === id),
      ),
      toolCallIds: pendingToolCallIds.filter((id) => hasCall(id) && !taken.some((message) => answers(message, id))),
    },
  };
}

const NEW_THREAD = { verdict: "new-thread", keep: 0 } as const;

/** What each posted message is to the branch. */
function sort(
  messages: readonly Message[],
  branch: KnownBranch | undefined,
  { acceptInstructions = false }: ReconcileOptions,
): readonly Posted[] {
  const positions = new Map(branch?.messages.map(({ message }, position) => [message.id, position]));
  const pending = new Set(branch?.pendingToolCallIds);
  const ids = new Set<string>();
  return messages.map((message) => {
    const at = positions.get(message.id) ?? -1;
    if (ids.has(message.id)) return { message, at, fate: "duplicate-id", counts: message };
    const known = branch?.messages[at]?.message;
    const fate = known === undefined ? fateOfUnknown(message) : fateOfKnown(message, known);
    if (isWanted(fate)) ids.add(message.id);
    return { message, at, fate, counts: fate === "known" && known !== undefined ? known : message };
  });

  function fateOfUnknown(message: Message): Fate {
    if (message.role === "activity") return "activity";
    if (branch === undefined || message.role === "user") return "new";
    if (isInstruction(message)) return acceptInstructions ? "new" : "instructions";
    if (message.role !== "tool" || !branch.pendingToolCallIds?.includes(message.toolCallId)) return "unknown-message";
    return pending.delete(message.toolCallId) ? "answer" : "duplicate-answer";
  }
}

/** Whether a message of this fate adds something. */
const isWanted = (fate: Fate): fate is "edited" | "new" | "answer" =>
  fate === "edited" || fate === "new" || fate === "answer";

function fateOfKnown(message: Message, known: Message): Fate {
  if (sameMessage(message, known)) return "known";
  return message.role === "user" && known.role === "user" ? "edited" : "altered-message";
}

/** What the client means, and how many messages of the branch stay. */
function judge(
  { resume = [], forwardedProps }: RunAgentInput,
  posted: readonly Posted[],
  known: readonly KnownMessage[],
  isOver: (message: KnownMessage) => boolean,
  { onStale = "fork" }: ReconcileOptions,
): { readonly verdict: Verdict["verdict"]; readonly keep: number } {
  const edited = posted.reduce((first, { fate, at }) => (fate === "edited" ? Math.min(first, at) : first), Infinity);
  if (edited < Infinity) return { verdict: "edit", keep: edited };
  const has = (...fates: readonly Fate[]): boolean => posted.some(({ fate }) => fates.includes(fate));
  // Instructions and activities are no sign of what a client has seen: it may send the first with every new message.
  const last = posted.reduce((newest, { at }) => (isSaid(known[at]) ? Math.max(newest, at) : newest), -1);
  // Answers belong to the head: what the client lacks of it, then, is only what it has not received yet.
  const isBehind =
    last >= 0 &&
    resume.length === 0 &&
    !has("answer") &&
    known.some((item, index) => index > last && isSaid(item) && !isOptional(item.message) && isOver(item));
  const asks = posted.some(({ message, fate }) => fate === "new" && message.role === "user");
  if (isBehind && asks && onStale === "fork") return { verdict: "edit", keep: endOfTurn(known, last) };
  if (isBehind && !asks && known[last]?.message.role === "user") {
    return { verdict: "regenerate", keep: endOfTurn(known, last) };
  }
  const keep = known.length;
  if (has("new", "answer")) return { verdict: "continue", keep };
  const isBare =
    resume.length === 0 && posted.every(({ at }) => (known[at]?.message.role ?? "activity") === "activity");
  return { verdict: isBare && isNothing(forwardedProps) ? "restore" : "run", keep };
}

/** Whether there is a message that is part of what was said, and not an instruction or an activity. */
function isSaid(known: KnownMessage | undefined): boolean {
  return known !== undefined && !isInstruction(known.message) && known.message.role !== "activity";
}

/** The position behind a message and the instructions that came with it. */
function endOfTurn(known: readonly KnownMessage[], last: number): number {
  const next = known.findIndex(({ message }, index) => index > last && !isInstruction(message));
  return next === -1 ? known.length : next;
}

/** Which posted messages the run takes, and which not, now that it is known how much of the branch stays. */
function settle(
  posted: readonly Posted[],
  keep: number,
  hasCall: (toolCallId: string) => boolean,
): { readonly taken: readonly Message[]; readonly dropped: readonly Dropped[] } {
  const taken: Message[] = [];
  const dropped: Dropped[] = [];
  posted.forEach(({ message, fate, at }, index) => {
    const isOrphan = fate === "answer" && message.role === "tool" && !hasCall(message.toolCallId);
    if (fate === "known" && at < keep) return;
    if (isWanted(fate) && !isOrphan) {
      taken.push(message);
      return;
    }
    const code = fate === "known" ? "superseded" : isWanted(fate) ? "unknown-message" : fate;
    dropped.push({ code, messageId: message.id, path: `/messages/${index}`, message: DROP_REASONS[code] });
  });
  return { taken, dropped };
}

/** Whether a client that posted this list holds other messages than these, or in another order. It may never get instructions. */
function holdsOther(posted: readonly Posted[], messages: readonly Message[]): boolean {
  const held = posted.filter(({ message }) => message.role !== "activity");
  let next = 0;
  for (const message of messages) {
    if (held[next]?.counts === message) next++;
    else if (!isOptional(message) && !isInstruction(message)) return true;
  }
  return next < held.length;
}

const callsOf = (message: Message): readonly string[] =>
  message.role === "assistant" ? (message.toolCalls?.map(({ id }) => id) ?? []) : [];

const answers = (message: Message, toolCallId: string): boolean =>
  message.role === "tool" && message.toolCallId === toolCallId;

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || (isContainer(value) && Object.keys(value).length === 0);

/**
 * The one way out of a run: whatever an agent says passes here, and what leaves always verifies.
 *
 * Everything goes through `repair`, which knows what has been said. What an author says by `emit` is refused with the
 * rule that it breaks, and nothing goes out; what comes from elsewhere (a generator, a model, another agent) is put
 * right, and the log hears of it. Deltas, which are nearly all there is, are only verified: a delta changes nothing
 * that `repair` remembers.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event, RunAgentInput, RunStartedEvent } from "../protocol/index.ts";
import { ADVICE, RULES, verify } from "../stream/index.ts";
import { REPAIRS, createRepairState, repair } from "../stream/repair/index.ts";
import type { Repair, RepairState } from "../stream/repair/index.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Log } from "./log.ts";
import { OpenItems } from "./open-items.ts";
import type { SubagentCloser } from "./open-items.ts";
import { UsageTally } from "./usage-tally.ts";

/** Text that is added to something open. */
export type Delta = Extract<
  Event,
  { readonly type: "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" | "TOOL_CALL_ARGS" }
>;

/** What one run says. */
export class Channel {
  /** Tokens spent so far. */
  readonly usage = new UsageTally();
  /** Told what is put right. */
  readonly log: Log;
  readonly #queue: EventQueue;
  readonly #said: RepairState;
  readonly #open = new OpenItems();
  readonly #answered = new Set<string>();

  constructor(queue: EventQueue, input: RunAgentInput, started: RunStartedEvent, log: Log) {
    const { threadId, runId, messages, state } = input;
    this.log = log;
    this.#queue = queue;
    this.#said = createRepairState({ threadId, runId, messages, ...(state === undefined ? {} : { state }) });
    repair(this.#said, started);
  }

  /** Whether events are taken. */
  get accepts(): boolean {
    return this.#queue.accepts;
  }

  /** Resolves when there is room for more, and rejects where events are not taken any more. */
  room(): Promise<void> {
    return this.#queue.room();
  }

  /** Why events are not taken any more, as a rejection; undefined while they are. */
  refusal(): Promise<never> | undefined {
    return this.#queue.refusal();
  }

  /** The shared state as the run has made it so far. */
  get state(): unknown {
    const { document } = this.#said;
    return document === undefined ? {} : document;
  }

  /** The content of an activity; undefined where there is none. */
  activity(messageId: string): unknown {
    return this.#said.activities.get(messageId);
  }

  /** Whether a tool call is open. */
  hasOpenCall(toolCallId: string): boolean {
    return this.#open.hasCall(toolCallId);
  }

  /** Whether this run has sent a result for the call. */
  hasAnswered(toolCallId: string): boolean {
    return this.#answered.has(toolCallId);
  }

  /** Throws `sequence-violation` where a subagent of this id has been in the run. */
  refuseSubagent(subagentRunId: string): void {
    if (!this.#said.verified.subagents.has(subagentRunId)) return;
    const message = `The id ${subagentRunId} was another invocation in this run: give each its own.`;
    throw refusal({ rule: "subagent-reused", message });
  }

  /** Calls that the run started and did not answer, in order. */
  pendingCalls(): readonly string[] {
    return [...this.#said.verified.answered].flatMap(([id, answered]) => (answered ? [] : [id]));
  }

  /** Sends a delta of the author's. Throws `sequence-violation` where what it adds to is not open. */
  sendDelta(event: Delta): Promise<void> {
    if (!this.#queue.accepts) return this.#queue.room();
    verify(this.#said.verified, event);
    return this.#queue.push(event);
  }

  /** Sends an event of the author's. Throws `sequence-violation` where it may not stand here; then nothing is sent. */
  send(event: Event): Promise<void> {
    if (!this.#queue.accepts) return this.#queue.room();
    const { events, repairs } = repair(this.#said, event);
    const [first] = repairs;
    if (events.length === 0 && first !== undefined) throw refusal(first);
    this.#report(repairs);
    for (const each of events) this.#push(each);
    return this.#queue.room();
  }

  /** Sends an event that comes from elsewhere, put right where it has to be. Returns what went out in its place. */
  forward(event: Event): readonly Event[] {
    if (!this.#queue.accepts) return [];
    const { events, repairs } = repair(this.#said, event);
    this.#report(repairs);
    for (const each of events) this.#push(each);
    return events;
  }

  /** Closes everything that belongs to a subagent. */
  closeWithin(subagentRunId: string, closeSubagent: SubagentCloser): void {
    for (const event of this.#open.closingWithin(subagentRunId, closeSubagent)) this.forward(event);
  }

  /** Ends the run by these events, with everything closed before them. Whoever writes later gets the reason. */
  end(last: readonly Event[], closeSubagent: SubagentCloser, reason: unknown): void {
    const events = [...this.#open.closing(closeSubagent), ...last];
    this.#queue.end(
      events.flatMap((event) => repair(this.#said, event).events),
      reason,
    );
  }

  #push(event: Event): void {
    this.#open.note(event);
    if (event.type === "TOOL_CALL_RESULT") this.#answered.add(event.toolCallId);
    void this.#queue.push(event);
  }

  #report(repairs: readonly Repair[]): void {
    for (const { rule, message } of repairs) this.log.warn(message, { rule });
  }
}

function refusal({ rule, message, event }: Repair): HeddleError {
  const clause: Readonly<Record<string, string>> = { ...RULES, ...ADVICE, ...REPAIRS };
  const details = { rule, clause: clause[rule] ?? "", ...(event === undefined ? {} : { event }) };
  return new HeddleError("sequence-violation", message, details);
}

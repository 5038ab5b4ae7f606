/**
 * Tool calls and results of a run, grouped into rounds as the session dialect wants them.
 *
 * A round is the calls that one message makes, one after the other or at once, and then their results:
 *
 *     tool-call-chunk … tool-call-complete   tool-result-chunk … tool-result-complete
 *
 * A call is sent when its arguments are whole. AG-UI never says which call is the last, so the round's calls are
 * complete when all of them have ended and the agent goes on to something else: a result, text, a step, the end.
 * The results are complete when every call has one, at the latest when the run ends.
 */
import type {
  ToolCallArgsEvent,
  ToolCallEndEvent,
  ToolCallResultEvent,
  ToolCallStartEvent,
} from "../generated/model.ts";
import { parseArguments } from "./parse-arguments.ts";
import { inLane, inMessage } from "./session-event-draft.ts";
import type { SessionEventDraft } from "./session-event-draft.ts";
import { toToolResult } from "./to-tool-result.ts";

interface Call {
  readonly id: string;
  readonly name: string;
  readonly round: Round;
  text: string;
  isOpen: boolean;
  isAnswered: boolean;
}

interface Round {
  readonly lane: string | undefined;
  readonly messageId: string | undefined;
  /** The calls, in the order in which they began. */
  readonly calls: string[];
  /** How many calls still get arguments. */
  open: number;
  /** How many calls have no result. */
  unanswered: number;
  /** Whether `tool-call-complete` was sent. */
  isComplete: boolean;
  /** Results that no `tool-result-complete` covers yet. */
  answered: string[];
  /** The message of the latest result. */
  resultMessageId: string | undefined;
}

/** The rounds of one run. */
export class ToolRounds {
  readonly #calls = new Map<string, Call>();
  readonly #rounds = new Set<Round>();
  /** The round that a further call may still join, by lane. */
  readonly #current = new Map<string | undefined, Round>();

  /** A call begins. A call that is opened again goes on where it was. */
  start(event: ToolCallStartEvent): readonly SessionEventDraft[] {
    const { toolCallId: id, subagentRunId: lane, parentMessageId: messageId } = event;
    const current = this.#current.get(lane);
    const joins = current !== undefined && !current.isComplete && current.messageId === messageId;
    const settled = joins ? [] : this.settle(lane);
    const round = joins ? current : this.#open(lane, messageId);
    const known = this.#calls.get(id);
    if (known?.isOpen) close(known);
    if (known?.round === round) {
      known.isOpen = true;
    } else {
      const name = event.toolCallName === "" ? (known?.name ?? "") : event.toolCallName;
      this.#calls.set(id, { id, name, round, text: known?.text ?? "", isOpen: true, isAnswered: false });
      round.calls.push(id);
      round.unanswered++;
    }
    round.open++;
    return settled;
  }

  /** Arguments go on. */
  args(event: ToolCallArgsEvent): void {
    const call = this.#calls.get(event.toolCallId);
    if (call?.isOpen) call.text += event.delta;
  }

  /** The arguments of a call are whole: the call is sent. */
  end(event: ToolCallEndEvent): readonly SessionEventDraft[] {
    const call = this.#calls.get(event.toolCallId);
    if (!call?.isOpen) return [];
    close(call);
    const { round } = call;
    const data = { toolCallId: call.id, toolName: call.name, ...parseArguments(call.text) };
    const chunk: SessionEventDraft = {
      type: "tool-call-chunk",
      ...inMessage(round.messageId),
      data: { ...data, isComplete: false, ...inLane(round.lane) },
    };
    // Nothing can join a round that another one has followed.
    return this.#current.get(round.lane) === round ? [chunk] : [chunk, ...completeCalls(round)];
  }

  /** A call is answered. */
  result(event: ToolCallResultEvent): readonly SessionEventDraft[] {
    const { messageId, toolCallId, subagentRunId: lane } = event;
    const call = this.#calls.get(toolCallId);
    const chunk: SessionEventDraft = {
      type: "tool-result-chunk",
      messageId,
      data: { ...toToolResult(event), isComplete: false, ...inLane(lane) },
    };
    if (call === undefined) return [chunk, resultsComplete([toolCallId], messageId, lane)];
    const { round } = call;
    if (!call.isAnswered) round.unanswered--;
    call.isAnswered = true;
    round.answered.push(toolCallId);
    round.resultMessageId = messageId;
    const settled = completeCalls(round);
    return [...settled, chunk, ...(round.isComplete && round.unanswered === 0 ? completeResults(round) : [])];
  }

  /** The agent goes on to something else in this lane. */
  settle(lane: string | undefined): readonly SessionEventDraft[] {
    const round = this.#current.get(lane);
    return round === undefined ? [] : completeCalls(round);
  }

  /** The run is over: completes what can be, and forgets everything. Calls whose arguments never ended are no calls. */
  finish(): readonly SessionEventDraft[] {
    const drafts = [...this.#rounds].flatMap((round) => [...completeCalls(round), ...completeResults(round)]);
    this.#calls.clear();
    this.#rounds.clear();
    this.#current.clear();
    return drafts;
  }

  #open(lane: string | undefined, messageId: string | undefined): Round {
    const nothing = { open: 0, unanswered: 0, isComplete: false, resultMessageId: undefined };
    const round: Round = { lane, messageId, calls: [], answered: [], ...nothing };
    this.#rounds.add(round);
    this.#current.set(lane, round);
    return round;
  }
}

function close(call: Call): void {
  call.isOpen = false;
  call.round.open--;
}

function completeCalls(round: Round): readonly SessionEventDraft[] {
  if (round.isComplete || round.open > 0) return [];
  round.isComplete = true;
  const data = { toolCallIds: [...round.calls], isComplete: true, ...inLane(round.lane) } as const;
  return [{ type: "tool-call-complete", ...inMessage(round.messageId), data }];
}

function completeResults(round: Round): readonly SessionEventDraft[] {
  const { answered, resultMessageId, lane } = round;
  if (answered.length === 0) return [];
  round.answered = [];
  return [resultsComplete(answered, resultMessageId, lane)];
}

function resultsComplete(
  toolCallIds: readonly string[],
  messageId: string | undefined,
  lane: string | undefined,
): SessionEventDraft {
  return {
    type: "tool-result-complete",
    ...inMessage(messageId),
    data: { toolCallIds, isComplete: true, ...inLane(lane) },
  };
}

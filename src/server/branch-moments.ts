/**
 * When the things of a branch happened: by the timestamps that the events themselves carry, so a source that gives none
 * leaves things without a time.
 *
 * A run that is settled is read in its compacted form, which keeps the timestamps and costs what its messages cost; only
 * one that still goes on is read event by event. Nothing is kept: it is worked out for whoever asks.
 */
import { METADATA_KEY } from "../protocol/index.ts";
import type { Event, Message, Metadata } from "../protocol/index.ts";
import type { RunInfo, Store } from "../store/index.ts";
import { runTexts } from "./run-texts.ts";

/** What is known of one tool call from its events. */
export interface CallMoments {
  /** When it began. */
  readonly startedAtMs: number | undefined;
  /** When its result came, or its run ended without one. */
  endedAtMs?: number | undefined;
  /** Why it failed, where it did. */
  error?: string | undefined;
  /** Whether a result came. */
  answered: boolean;
}

/** When things happened. */
export interface Moments {
  /** When each message was first heard of, by its id. */
  readonly messages: ReadonlyMap<string, number>;
  /** The run in which each message was first heard of, by its id. */
  readonly runs: ReadonlyMap<string, string>;
  /** Tool calls that were made, by their ids. */
  readonly calls: ReadonlyMap<string, CallMoments>;
}

/** The events that say so, as they stand in the text of an event: most others are not even read. */
const TELLING =
  /"(?:RUN_STARTED|RUN_FINISHED|RUN_ERROR|TEXT_MESSAGE_START|REASONING_MESSAGE_START|ACTIVITY_SNAPSHOT|MESSAGES_SNAPSHOT|TOOL_CALL_START|TOOL_CALL_RESULT)"/;

/** The moments of a branch, from its root to a run, up to a seq. */
export async function branchMoments(store: Store, branch: readonly RunInfo[], throughSeq: number): Promise<Moments> {
  const fold = new MomentsFold();
  for (const run of branch) {
    fold.runId = run.runId;
    for await (const json of runTexts(store, run, throughSeq)) if (TELLING.test(json)) fold.take(JSON.parse(json));
  }
  return fold;
}

class MomentsFold implements Moments {
  readonly messages = new Map<string, number>();
  readonly runs = new Map<string, string>();
  /** The run whose events come. */
  runId = "";
  readonly calls = new Map<string, CallMoments>();
  /** Calls that the run made. */
  #ofRun: CallMoments[] = [];

  take(event: Event): void {
    const { timestamp } = event;
    switch (event.type) {
      case "RUN_STARTED":
        this.#ofRun = [];
        this.#hold(event.input?.messages ?? [], timestamp);
        break;
      case "MESSAGES_SNAPSHOT":
        this.#hold(event.messages, timestamp);
        break;
      case "TOOL_CALL_START":
        this.#said(event.parentMessageId ?? event.toolCallId, timestamp);
        this.#start(event.toolCallId, timestamp);
        break;
      case "TOOL_CALL_RESULT":
        this.#said(event.messageId, timestamp);
        this.#answer(event.toolCallId, timestamp, failureIn(event.metadata));
        break;
      case "RUN_FINISHED":
        if (event.outcome?.type === "cancelled")
          this.#giveUp("The run was stopped before the call had returned.", timestamp);
        break;
      case "RUN_ERROR":
        this.#giveUp(event.message, timestamp);
        break;
      default:
        if ("messageId" in event && event.messageId !== undefined) this.#said(event.messageId, timestamp);
    }
  }

  #said(messageId: string, atMs: number | undefined): void {
    if (!this.runs.has(messageId)) this.runs.set(messageId, this.runId);
    if (atMs !== undefined && !this.messages.has(messageId)) this.messages.set(messageId, atMs);
  }

  #hold(messages: readonly Message[], atMs: number | undefined): void {
    for (const message of messages) {
      this.#said(message.id, atMs);
      if (message.role === "tool") {
        this.#answer(message.toolCallId, atMs, message.error ?? failureIn(message.metadata));
      }
    }
  }

  #start(toolCallId: string, startedAtMs: number | undefined): void {
    if (this.calls.has(toolCallId)) return;
    const call: CallMoments = { startedAtMs, answered: false };
    this.calls.set(toolCallId, call);
    this.#ofRun.push(call);
  }

  /** The first answer counts: what restates it later is not when it came. */
  #answer(toolCallId: string, endedAtMs: number | undefined, error: string | undefined): void {
    const call = this.calls.get(toolCallId);
    if (call === undefined || call.answered) return;
    Object.assign(call, { endedAtMs, error, answered: true });
  }

  /** The run ended in a way that leaves its calls to nobody; an answer in a later run still counts. */
  #giveUp(error: string, endedAtMs: number | undefined): void {
    for (const call of this.#ofRun) if (!call.answered) Object.assign(call, { endedAtMs, error });
  }
}

/** Why a call failed, where its result says so. */
export function failureIn(metadata: Metadata | undefined): string | undefined {
  const ours: unknown = metadata?.[METADATA_KEY];
  const isFailure = typeof ours === "object" && ours !== null && "error" in ours && typeof ours.error === "string";
  return isFailure ? String(ours.error) : undefined;
}

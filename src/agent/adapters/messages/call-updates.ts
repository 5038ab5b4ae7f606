/**
 * Which call each update is about. The first update of a call names it; later ones may have its index, or nothing.
 *
 * Whoever follows a stream shows every message to `resolve`: an answer ends the round, so that the next round may use
 * the same indexes for other calls.
 */
import type { FunctionCallUpdate, StreamMessage } from "./stream-message.ts";

/** An update with the call that it is about. */
export interface ResolvedUpdate {
  /** Id of the call; made where the source gave none. */
  readonly callId: string;
  /** Name of the function; empty until the source has said it. */
  readonly functionName: string;
  /** The next piece of the argument text; may be empty. */
  readonly functionArgs: string;
  /** The update as it came. */
  readonly update: FunctionCallUpdate;
}

/** Follows the updates of one stream. */
export class CallUpdates {
  readonly #mintId: () => string;
  readonly #names = new Map<string, string>();
  readonly #byIndex = new Map<number, string>();
  #generationId: string | undefined;
  #latest: string | undefined;

  /** `mintId` names calls that the source gives no id. */
  constructor(mintId: () => string) {
    this.#mintId = mintId;
  }

  /** The updates of a message, each with its call. None for a message that is no update. */
  resolve(message: StreamMessage): readonly ResolvedUpdate[] {
    if (message.type === "tools-call-result" || message.type === "tools-call-aggregate") this.#endRound();
    if (message.type !== "tools-call-update") return [];
    if (message.generationId !== this.#generationId) this.#endRound();
    this.#generationId = message.generationId;
    return message.toolCallUpdates.map((update) => this.#resolveUpdate(update));
  }

  #resolveUpdate(update: FunctionCallUpdate): ResolvedUpdate {
    const { index, functionArgs = "" } = update;
    const callId = this.#callOf(update);
    if (index !== undefined) this.#byIndex.set(index, callId);
    this.#latest = callId;
    const functionName = update.functionName ?? this.#names.get(callId) ?? "";
    this.#names.set(callId, functionName);
    return { callId, functionName, functionArgs, update };
  }

  #callOf({ callId, functionName, index }: FunctionCallUpdate): string {
    if (callId !== undefined) return callId;
    const known =
      index === undefined ? (functionName === undefined ? this.#latest : undefined) : this.#byIndex.get(index);
    return known ?? this.#mintId();
  }

  #endRound(): void {
    this.#byIndex.clear();
    this.#names.clear();
    this.#latest = undefined;
  }
}

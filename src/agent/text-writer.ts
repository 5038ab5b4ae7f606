/** Text messages, written piece by piece. The hot path of every agent: one event, one check, one push. */
import { textMessageContent, textMessageEnd, textMessageStart } from "../protocol/index.ts";
import type { TextMessageRole } from "../protocol/index.ts";
import { mintId } from "./mint-id.ts";
import { over } from "./scope.ts";
import type { Scope } from "./scope.ts";

/** What a text message may be told beforehand. */
export interface TextOptions {
  /** Its id. Default: a new one. That of a closed message adds to it. */
  readonly id?: string;
  /** Who speaks. Default: the assistant. */
  readonly role?: TextMessageRole;
  /** A name to show for the speaker. */
  readonly name?: string;
}

/** Writes one text message, piece by piece. */
export interface TextWriter {
  /** Id of the message. */
  readonly id: string;
  /**
   * Adds text; an empty string adds nothing. The promise resolves when there is room for more: await it wherever
   * the source can wait. Not awaiting is fine for a source that is slower than the log; one that is faster fails
   * its run (`limit-exceeded`) once 16 MiB wait. After the end the promise rejects, and the text goes nowhere.
   */
  write(text: string): Promise<void>;
  /** Closes the message; nothing where it was never written to. Not needed at the end of a run. */
  end(): Promise<void>;
}

/** A writer of one text message. Nothing is sent before its first write. */
export function createTextWriter(scope: Scope, { id = mintId("msg"), role = "assistant", name }: TextOptions) {
  const messageId = id;
  const { channel } = scope.run;
  const { subagentRunId } = scope;
  const start = textMessageStart({ messageId, role, ...(name === undefined ? {} : { name }) });
  let phase: "new" | "open" | "ended" = "new";

  const writer: TextWriter = {
    id,
    write(delta) {
      // The factory refuses whatever is no text, before anything is sent.
      if (typeof delta !== "string") textMessageContent({ messageId, delta });
      if (phase === "ended") return over(`The message ${messageId}`);
      if (scope.ended) return scope.refusal();
      if (delta === "" || !channel.accepts) return channel.room();
      if (phase === "new") {
        void channel.send({ ...start, ...scope.stamp() });
        phase = "open";
      }
      const timestamp = Date.now();
      return channel.sendDelta(
        subagentRunId === undefined
          ? { type: "TEXT_MESSAGE_CONTENT", messageId, delta, timestamp }
          : { type: "TEXT_MESSAGE_CONTENT", messageId, delta, timestamp, subagentRunId },
      );
    },
    end() {
      const wasOpen = phase === "open" && !scope.ended;
      phase = "ended";
      return wasOpen ? channel.send(textMessageEnd({ messageId, ...scope.stamp() })) : channel.room();
    },
  };
  return writer;
}

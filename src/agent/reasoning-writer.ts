/** Reasoning: a span with one message in it, opened together and closed together. */
import {
  reasoningEncryptedValue,
  reasoningEnd,
  reasoningMessageContent,
  reasoningMessageEnd,
  reasoningMessageStart,
  reasoningStart,
} from "../protocol/index.ts";
import { mintId } from "./mint-id.ts";
import { over } from "./scope.ts";
import type { Scope } from "./scope.ts";

/** What reasoning may be told beforehand. */
export interface ReasoningOptions {
  /** Id of its message. Default: a new one. */
  readonly id?: string;
}

/** Writes what an agent thinks, piece by piece. */
export interface ReasoningWriter {
  /** Id of the message. */
  readonly id: string;
  /** Adds text; an empty string adds nothing. Resolves when there is room for more. */
  write(text: string): Promise<void>;
  /** Gives the message an opaque value that clients keep and send back, such as a provider's signature. */
  encrypted(value: string, type?: string): Promise<void>;
  /** Closes the reasoning; nothing where it was never written to. Not needed at the end of a run. */
  end(): Promise<void>;
}

/** A writer of reasoning. Nothing is sent before its first write or value. */
export function createReasoningWriter(scope: Scope, { id = mintId("rsn") }: ReasoningOptions): ReasoningWriter {
  const messageId = id;
  const { channel } = scope.run;
  const span = reasoningStart({ messageId });
  let phase: "new" | "open" | "ended" = "new";

  /** Why nothing may be written, or undefined. */
  function refusal(): Promise<void> | undefined {
    if (phase === "ended") return over(`The reasoning ${messageId}`);
    if (scope.ended) return scope.refusal();
    return channel.accepts ? undefined : channel.room();
  }

  function open(): void {
    if (phase !== "new") return;
    void channel.send({ ...span, ...scope.stamp() });
    phase = "open";
    void channel.send(reasoningMessageStart({ messageId, role: "reasoning", ...scope.stamp() }));
  }

  return {
    id,
    write(delta) {
      const content = reasoningMessageContent({ messageId, delta, ...scope.stamp() });
      const refused = refusal();
      if (refused !== undefined || delta === "") return refused ?? channel.room();
      open();
      return channel.sendDelta(content);
    },
    encrypted(encryptedValue, encryptedValueType) {
      const value = reasoningEncryptedValue({
        subtype: "message",
        entityId: messageId,
        encryptedValue,
        ...(encryptedValueType === undefined ? {} : { encryptedValueType }),
        ...scope.stamp(),
      });
      const refused = refusal();
      if (refused !== undefined) return refused;
      open();
      return channel.send(value);
    },
    end() {
      const wasOpen = phase === "open" && !scope.ended;
      phase = "ended";
      if (!wasOpen) return channel.room();
      void channel.send(reasoningMessageEnd({ messageId, ...scope.stamp() }));
      return channel.send(reasoningEnd({ messageId, ...scope.stamp() }));
    },
  };
}

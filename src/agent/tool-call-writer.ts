/** Tool calls whose arguments come piece by piece, and the results of tool calls. */
import {
  METADATA_KEY,
  reasoningEncryptedValue,
  toolCallArgs,
  toolCallEnd,
  toolCallResult,
  toolCallStart,
} from "../protocol/index.ts";
import type { ContentPart, Event, Metadata } from "../protocol/index.ts";
import { mintId } from "./mint-id.ts";
import { over } from "./scope.ts";
import type { Scope } from "./scope.ts";

/** What a tool call may be told beforehand. */
export interface ToolCallOptions {
  /** Its id. Default: a new one. */
  readonly id?: string;
  /** The assistant message that it belongs to. Default: one of its own. */
  readonly parentMessageId?: string;
}

/** Writes one tool call. */
export interface ToolCallWriter {
  /** Id of the call. */
  readonly id: string;
  /** Adds to the argument text, which is JSON once it is complete. Resolves when there is room for more. */
  args(text: string): Promise<void>;
  /** Gives the call an opaque value that clients keep and send back. */
  encrypted(value: string, type?: string): Promise<void>;
  /** Closes the call: its arguments are complete. Not needed before its result or at the end of a run. */
  end(): Promise<void>;
}

/** What a tool result may say beside its content. */
export interface ToolResultOptions {
  /** Id of the tool message. Default: a new one. */
  readonly id?: string;
  /** Why the call failed; readers find it in `metadata.heddle.error`. The content should tell the model. */
  readonly error?: string;
  /** What kind of failure it was, for programs. */
  readonly code?: string;
  /** Extra information, open by key. */
  readonly metadata?: Metadata;
}

/** A writer of one tool call, which is opened at once. */
export function createToolCallWriter(scope: Scope, name: string, options: ToolCallOptions): ToolCallWriter {
  const { id: toolCallId = mintId("call"), parentMessageId } = options;
  const { channel } = scope.run;
  const parent = parentMessageId === undefined ? {} : { parentMessageId };
  void channel.send(toolCallStart({ toolCallId, toolCallName: name, ...parent, ...scope.stamp() }));
  let ended = false;

  /** Why nothing may be written, or undefined. */
  function refusal(): Promise<void> | undefined {
    if (scope.ended) return scope.refusal();
    if (!channel.accepts) return channel.room();
    return ended || !channel.hasOpenCall(toolCallId) ? over(`The tool call ${toolCallId}`) : undefined;
  }

  return {
    id: toolCallId,
    args(delta) {
      const event = toolCallArgs({ toolCallId, delta, ...scope.stamp() });
      const refused = refusal();
      if (refused !== undefined || delta === "") return refused ?? channel.room();
      return channel.sendDelta(event);
    },
    encrypted(encryptedValue, encryptedValueType) {
      const type = encryptedValueType === undefined ? {} : { encryptedValueType };
      const fields = { subtype: "tool-call", entityId: toolCallId, encryptedValue, ...type, ...scope.stamp() } as const;
      const event = reasoningEncryptedValue(fields);
      if (scope.ended) return scope.refusal();
      return channel.send(event);
    },
    end() {
      const isOpen = !ended && !scope.ended && channel.hasOpenCall(toolCallId);
      ended = true;
      return isOpen ? channel.send(toolCallEnd({ toolCallId, ...scope.stamp() })) : channel.room();
    },
  };
}

/** Sends the result of a call, which is closed first if it is still open. */
export function sendToolResult(
  scope: Scope,
  toolCallId: string,
  content: string | readonly ContentPart[],
  options: ToolResultOptions,
): Promise<void> {
  const { channel } = scope.run;
  const result = toolResultOf(scope, toolCallId, content, options);
  if (scope.ended) return scope.refusal();
  if (channel.accepts && channel.hasOpenCall(toolCallId)) {
    void channel.send(toolCallEnd({ toolCallId, ...scope.stamp() }));
  }
  return channel.send(result);
}

/** The result of a call as an event. */
export function toolResultOf(
  scope: Scope,
  toolCallId: string,
  content: string | readonly ContentPart[],
  { id = mintId("msg"), error, code, metadata = {} }: ToolResultOptions,
): Event {
  const own = metadata[METADATA_KEY];
  const failure = error === undefined ? {} : { error, ...(code === undefined ? {} : { code }) };
  const kept = { ...(typeof own === "object" ? own : {}), ...failure };
  const all = Object.keys(kept).length === 0 ? metadata : { ...metadata, [METADATA_KEY]: kept };
  return toolCallResult({
    messageId: id,
    toolCallId,
    content,
    role: "tool",
    ...(Object.keys(all).length === 0 ? {} : { metadata: all }),
    ...scope.stamp(),
  });
}

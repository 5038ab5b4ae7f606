/** Middleware that says of each piece of a call's arguments what it means as JSON, while the model still writes. */
import { CallUpdates } from "./call-updates.ts";
import { JsonFragmentParser } from "./json-fragment-parser.ts";
import { mintId } from "./mint-id.ts";
import type { Middleware } from "./streaming-agent.ts";
import type { StreamMessage } from "./stream-message.ts";

/** Middleware: adds `jsonFragments` to the updates of calls. */
export function jsonFragments(): Middleware {
  return async function* readFragments({ messages, options }, agent) {
    const updates = new CallUpdates(() => mintId("call"));
    const parsers = new Map<string, JsonFragmentParser>();
    for await (const message of agent.generateReplyStreaming(messages, options)) {
      yield withFragments(message, updates, parsers);
    }
  };
}

function withFragments(
  message: StreamMessage,
  updates: CallUpdates,
  parsers: Map<string, JsonFragmentParser>,
): StreamMessage {
  const resolved = updates.resolve(message);
  if (message.type !== "tools-call-update") {
    if (message.type === "tools-call-result" || message.type === "tools-call-aggregate") parsers.clear();
    return message;
  }
  const toolCallUpdates = resolved.map(({ callId, functionArgs, update }) => {
    const parser = parsers.get(callId) ?? new JsonFragmentParser();
    parsers.set(callId, parser);
    return { ...update, jsonFragments: parser.push(functionArgs) };
  });
  return { ...message, toolCallUpdates };
}

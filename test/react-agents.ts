/** Agents for tests of pages: one that never ends by itself, and one that uses a tool of the page. */
import { once } from "node:events";
import { defineAgent, toolLoop } from "heddle/agent";
import type { Model } from "heddle/agent";

/** Says a few words, and no more until it is stopped. */
export const endless = defineAgent({
  name: "endless",
  async run({ emit, signal }) {
    const reply = emit.text();
    for (const word of ["I ", "never ", "stop "]) await reply.write(word);
    await once(signal, "abort");
  },
});

/** Has the page take the colour that was asked for, and says what the page answered. */
export const colours = defineAgent({
  name: "colours",
  run: (context) => toolLoop({ ...context, model: scripted }),
});

const scripted: Model = async function* ({ messages }) {
  const last = messages.at(-1);
  const messageId = `said-${crypto.randomUUID()}`;
  if (last?.role === "tool") {
    yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta: `The page answered ${String(last.content)}.` };
    return;
  }
  const toolCallId = `call-${crypto.randomUUID()}`;
  yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta: "I ask the page. " };
  yield { type: "TOOL_CALL_START", toolCallId, toolCallName: "set_colour", parentMessageId: messageId };
  yield { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify({ colour: last?.content }) };
  yield { type: "TOOL_CALL_END", toolCallId };
};

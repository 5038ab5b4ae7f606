/**
 * Agents that tell what they were given, in a CUSTOM event `given`: `historian` thinks, says, looks something up and says
 * what it found, and restates the conversation at its end as frameworks do, without thoughts and activities. `guarded` asks
 * before it acts; its act passes the gate `<thread> acted` at the address in ACCEPTANCE_GATES, which counts it.
 */
import { defineAgent, defineTool, toolLoop } from "heddle/agent";
import type { Model } from "heddle/agent";
import type { Message } from "heddle/protocol";

/** Answers with text, a call and text. */
export const historian = defineAgent<{ readonly turn: number }>({
  name: "historian",
  async run({ input, emit }) {
    const { runId, messages } = input;
    await emit.custom("given", messages);
    await emit.reasoning({ id: `think-${runId}` }).write("I look it up.");
    const begin = emit.text({ id: `look-${runId}` });
    await begin.write("Let me look. ");
    const call = emit.toolCall("look", { id: `call-${runId}`, parentMessageId: begin.id });
    await call.args('{"at":"the loom"}');
    await call.end();
    await begin.end();
    await emit.toolResult(call.id, `found by ${runId}`, { id: `found-${runId}` });
    emit.activity("PROGRESS", { done: true }, { id: `progress-${runId}` });
    await emit.state.set({ turn: messages.filter(({ role }) => role === "user").length });
    const end = emit.text({ id: `say-${runId}` });
    await end.write(`That is all about ${messages.at(-1)?.id}.`);
    await end.end();
    await emit.messages([...messages.filter(({ role }) => role !== "reasoning"), ...answerOf(runId, messages)]);
  },
});

/** What the historian says in a run, as messages. */
export function answerOf(runId: string, messages: readonly { readonly id: string }[]): readonly Message[] {
  const look = { name: "look", arguments: '{"at":"the loom"}' };
  const calls = [{ id: `call-${runId}`, type: "function", function: look } as const];
  return [
    { id: `look-${runId}`, role: "assistant", content: "Let me look. ", toolCalls: calls },
    { id: `found-${runId}`, role: "tool", toolCallId: `call-${runId}`, content: `found by ${runId}` },
    { id: `say-${runId}`, role: "assistant", content: `That is all about ${messages.at(-1)?.id}.` },
  ];
}

/** In place of a model: calls the guarded tool, and tells what came of it. */
const careful: Model = async function* ({ messages }) {
  const result = messages.findLast(({ role }) => role === "tool")?.content;
  if (result !== undefined) {
    yield { type: "TEXT_MESSAGE_CHUNK", messageId: "done", delta: `So it is: ${String(result)}` };
    return;
  }
  yield { type: "TEXT_MESSAGE_CHUNK", messageId: "asking", delta: "May I? " };
  yield { type: "TOOL_CALL_START", toolCallId: "act", toolCallName: "act", parentMessageId: "asking" };
  yield { type: "TOOL_CALL_END", toolCallId: "act" };
};

/** Acts once it may. */
export const guarded = defineAgent({
  name: "guarded",
  run: (context) => {
    const { threadId } = context.input;
    const act = defineTool({
      name: "act",
      description: "Acts.",
      parameters: { type: "object" },
      needsApproval: true,
      async execute(_, { signal }) {
        await fetch(`${process.env["ACCEPTANCE_GATES"]}/${encodeURIComponent(`${threadId} acted`)}`, { signal });
        return `done at ${performance.timeOrigin + performance.now()}`;
      },
    });
    return toolLoop({ ...context, tools: [act], model: careful });
  },
});

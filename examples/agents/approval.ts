/**
 * The agent `approval` asks people: before it deletes a file, and for what only they know.
 *
 * Say "Delete /tmp/report.txt": the tool call waits until you approve it, deny it, or approve it for another path. Say
 * "Sign in": it asks for a name. Either way the run ends with the question, and the answer starts a new one, which may
 * be after a restart: nothing but the messages is needed to go on. (No file is touched.)
 */
import { defineAgent, defineTool, toolLoop } from "heddle/agent";
import type { Model } from "heddle/agent";

const deleteFile = defineTool({
  name: "delete_file",
  description: "Deletes a file.",
  parameters: {
    type: "object",
    properties: { path: { type: "string", minLength: 1 } },
    required: ["path"],
    additionalProperties: false,
  },
  needsApproval: true,
  execute: ({ path }) => `Deleted ${String(path)}.`,
});

/** Asks before it acts. */
export const approval = defineAgent({
  name: "approval",
  description: "Asks before it deletes a file, and for what only people know.",
  capabilities: {
    humanInTheLoop: { supported: true, approvals: true, interrupts: true, approveWithEdits: true },
    custom: { examples: ["Delete /tmp/report.txt", "Sign in"] },
  },
  tools: [deleteFile],
  async run(context) {
    const { input, emit } = context;
    const question = input.messages.findLast(({ role }) => role === "user")?.content;
    if (typeof question !== "string" || !/sign in/i.test(question)) return toolLoop({ ...context, model: scripted });
    const answer = await emit.interrupt<{ readonly response: string }>({
      id: "user-name",
      reason: "input_required",
      message: "What is your name?",
      responseSchema: {
        type: "object",
        properties: { response: { type: "string", minLength: 1, title: "Name" } },
        required: ["response"],
      },
    });
    const reply = emit.text();
    if (answer.status === "cancelled") return reply.write("All right, I will not sign you in.");
    return reply.write(`You are signed in as ${answer.payload.response}.`);
  },
});

/** In place of a model: calls the tool for the path that was named, and tells what came of it. */
const scripted: Model = async function* ({ messages }) {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const answer = messages.slice(asked + 1).findLast(({ role }) => role === "tool")?.content;
  const messageId = `said-${crypto.randomUUID()}`;
  if (typeof answer === "string") {
    const delta = answer.startsWith("Error") ? "All right, I leave it alone." : `${answer} Anything else?`;
    yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta };
    return;
  }
  const question = messages[asked]?.content;
  const path = typeof question === "string" ? /delete\s+(\S+)/i.exec(question)?.[1] : undefined;
  if (path === undefined) {
    yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta: "Say “Delete /tmp/report.txt”, or “Sign in”." };
    return;
  }
  const toolCallId = `call-${crypto.randomUUID()}`;
  yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta: `I am going to delete ${path}.` };
  yield { type: "TOOL_CALL_START", toolCallId, toolCallName: "delete_file", parentMessageId: messageId };
  yield { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify({ path }) };
  yield { type: "TOOL_CALL_END", toolCallId };
};

/**
 * Agents for the tests with stock clients: one that says everything there is, event by event, each when the test lets
 * it; and one that calls a tool of the frontend.
 */
import { defineAgent, toolLoop } from "heddle/agent";
import type { Model } from "heddle/agent";
import type { Event } from "heddle/protocol";

/** What the answer of `stepped` says. */
export const ANSWER = "Hello wörld 🧵, twice.";

/** Everything that a run can say, with much of it open at the same time. */
export function everything(id: string): readonly Event[] {
  const [span, thought, text, note] = [`span-${id}`, `thought-${id}`, `text-${id}`, `note-${id}`];
  const [plan, call, asked] = [`plan-${id}`, `call-${id}`, `asked-${id}`];
  const outer = { subagentRunId: `outer-${id}` };
  const inner = { subagentRunId: `inner-${id}` };
  const innerThought = `inner-thought-${id}`;
  return [
    { type: "STEP_STARTED", stepName: "tools" },
    { type: "REASONING_START", messageId: span },
    { type: "REASONING_MESSAGE_START", messageId: thought, role: "reasoning" },
    { type: "REASONING_MESSAGE_CONTENT", messageId: thought, delta: "I " },
    { type: "REASONING_MESSAGE_CONTENT", messageId: thought, delta: "wonder." },
    { type: "REASONING_MESSAGE_END", messageId: thought },
    { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: thought, encryptedValue: "c2VjcmV0" },
    { type: "REASONING_END", messageId: span },
    { type: "STATE_SNAPSHOT", snapshot: { id, items: ["a"] } },
    { type: "STATE_DELTA", delta: [{ op: "add", path: "/items/-", value: "b" }] },
    { type: "ACTIVITY_SNAPSHOT", messageId: plan, activityType: "PLAN", content: { done: 0 } },
    { type: "TEXT_MESSAGE_START", messageId: text, role: "assistant", metadata: { shade: "blue" } },
    { type: "TEXT_MESSAGE_CONTENT", messageId: text, delta: "Hello " },
    {
      type: "ACTIVITY_DELTA",
      messageId: plan,
      activityType: "PLAN",
      patch: [{ op: "replace", path: "/done", value: 1 }],
    },
    { type: "SUBAGENT_STARTED", name: "outer", ...outer },
    { type: "SUBAGENT_STARTED", name: "inner", parentSubagentRunId: outer.subagentRunId, ...inner },
    { type: "TEXT_MESSAGE_START", messageId: note, role: "assistant", name: "scribe", ...outer },
    { type: "TEXT_MESSAGE_CONTENT", messageId: note, delta: "Noted", ...outer },
    { type: "TEXT_MESSAGE_CONTENT", messageId: text, delta: "wörld 🧵" },
    { type: "STEP_STARTED", stepName: "tools", ...inner },
    { type: "TOOL_CALL_START", toolCallId: call, toolCallName: "look", parentMessageId: text },
    { type: "TOOL_CALL_ARGS", toolCallId: call, delta: '{"at"' },
    { type: "TOOL_CALL_START", toolCallId: asked, toolCallName: "ask", ...inner },
    { type: "TOOL_CALL_ARGS", toolCallId: asked, delta: "{}", ...inner },
    { type: "TOOL_CALL_ARGS", toolCallId: call, delta: ':"it"}' },
    { type: "TEXT_MESSAGE_CONTENT", messageId: text, delta: ", twice." },
    { type: "TEXT_MESSAGE_END", messageId: text },
    { type: "TOOL_CALL_END", toolCallId: call },
    { type: "TOOL_CALL_RESULT", messageId: `result-${id}`, toolCallId: call, content: "a loom", role: "tool" },
    { type: "TOOL_CALL_END", toolCallId: asked, ...inner },
    { type: "REASONING_ENCRYPTED_VALUE", subtype: "tool-call", entityId: call, encryptedValue: "bW9yZQ==" },
    { type: "REASONING_START", messageId: innerThought, ...inner },
    { type: "REASONING_MESSAGE_START", messageId: innerThought, role: "reasoning", ...inner },
    { type: "REASONING_MESSAGE_CONTENT", messageId: innerThought, delta: "So?", ...inner },
    { type: "TEXT_MESSAGE_CONTENT", messageId: note, delta: ".", ...outer },
    { type: "REASONING_MESSAGE_END", messageId: innerThought, ...inner },
    { type: "REASONING_END", messageId: innerThought, ...inner },
    { type: "ACTIVITY_SNAPSHOT", messageId: `search-${id}`, activityType: "SEARCH", content: { hits: 2 }, ...inner },
    { type: "STEP_FINISHED", stepName: "tools", ...inner },
    { type: "SUBAGENT_ERROR", message: "The inner one failed.", ...inner },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/items", value: [] }] },
    { type: "TEXT_MESSAGE_END", messageId: note, metadata: { words: 1 }, ...outer },
    { type: "SUBAGENT_FINISHED", ...outer },
    { type: "ACTIVITY_SNAPSHOT", messageId: plan, activityType: "PLAN", content: { done: 2 }, replace: true },
    { type: "CUSTOM", name: "note", value: { any: 1 } },
    { type: "STEP_FINISHED", stepName: "tools" },
    { type: "TOOL_CALL_RESULT", messageId: `answer-${id}`, toolCallId: asked, content: "yes", role: "tool" },
  ];
}

/** A text among the forwarded properties. */
function textIn(props: unknown, name: string): string | undefined {
  const value: unknown = typeof props === "object" && props !== null ? Reflect.get(props, name) : undefined;
  return typeof value === "string" ? value : undefined;
}

/**
 * Says everything. Forwarded properties `{"gates": url, "key": key}` hold it at gate `<key> 1` before its first event, at
 * `<key> 2` before its second, and at one more before its end; `<key> started` is passed once, on the way in.
 */
export const stepped = defineAgent({
  name: "stepped",
  async *run({ input: { runId, forwardedProps }, signal }) {
    const [gates, key] = [textIn(forwardedProps, "gates"), textIn(forwardedProps, "key")];
    const pass = async (name: string | number): Promise<void> => {
      if (gates !== undefined) await fetch(`${gates}/${encodeURIComponent(`${key} ${name}`)}`, { signal });
    };
    await pass("started");
    const events = everything(runId);
    for (const [index, event] of events.entries()) {
      await pass(index + 1);
      yield event;
    }
    await pass(events.length + 1);
  },
});

/** Calls the frontend's tool `pick_colour`, and tells what it answered. */
const scripted: Model = async function* ({ messages }) {
  const answer = messages.findLast(({ role }) => role === "tool")?.content;
  const messageId = `said-${crypto.randomUUID()}`;
  if (typeof answer === "string") {
    yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta: `You picked ${answer}.` };
    return;
  }
  const toolCallId = `call-${crypto.randomUUID()}`;
  yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta: "Pick one." };
  yield { type: "TOOL_CALL_START", toolCallId, toolCallName: "pick_colour", parentMessageId: messageId };
  yield { type: "TOOL_CALL_ARGS", toolCallId, delta: '{"of":["red","blue"]}' };
  yield { type: "TOOL_CALL_END", toolCallId };
};

/** Lets people pick a colour. */
export const frontend = defineAgent({
  name: "frontend",
  run: (context) => toolLoop({ ...context, model: scripted }),
});

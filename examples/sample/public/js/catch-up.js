/**
 * What became of an answer while the connection was away, as the events that would have told it.
 *
 * An answer that is still under way is told again by the server; one that has ended meanwhile is not, but it is in the
 * server's log. Nothing is given where there is nothing to tell, or no log to ask: a server of another kind has none.
 */
export async function catchUp(sessionId, messageId) {
  const base = new URL(`/threads/${encodeURIComponent(sessionId)}`, location.href);
  const snapshot = await read(`${base}/snapshot`);
  const run = await read(`${base}/runs/${encodeURIComponent(snapshot.runId)}`);
  const asked = snapshot.messages.findIndex(({ id }) => id === messageId);
  if (asked === -1 || run.status === "running" || run.status === "queued") return [];
  const calls = new Map(snapshot.toolCalls.map((call) => [call.id, call]));
  const told = snapshot.messages.slice(asked + 1).flatMap((message) => eventsOf(message, calls));
  const figures = (run.usage ?? []).map(({ model, inputTokens, outputTokens }) => ({
    type: "metadata-update",
    data: { model, usage: { promptTokens: inputTokens, completionTokens: outputTokens } },
  }));
  const end =
    run.status === "failed"
      ? { type: "agent-error", data: { error: run.error } }
      : { type: "agent-response-complete", data: { outcome: run.status } };
  return [...told, ...figures, end];
}

async function read(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  return answer.json();
}

function eventsOf({ id: messageId, role, content, toolCalls = [] }, calls) {
  const text = typeof content === "string" ? content : "";
  if (role === "reasoning") {
    return [
      { type: "thought-chunk", messageId, data: { thought: text } },
      { type: "thought-complete", messageId },
    ];
  }
  if (role !== "assistant") return [];
  const said = { type: "text-chunk", messageId, data: { text, role } };
  return [
    ...(text === "" ? [] : [said, { type: "text-message-complete", messageId }]),
    ...toolCalls.flatMap((call) => callEvents(calls.get(call.id))),
  ];
}

function callEvents({ id: toolCallId, name, arguments: argumentsText, status, startedAt, endedAt, result, error }) {
  const call = { toolCallId, toolName: name, argumentsText };
  const came = { toolCallId, result: result ?? "", isError: status === "failed", error };
  return [
    { type: "tool-call-chunk", timestamp: startedAt, data: call },
    ...(status === "pending" ? [] : [{ type: "tool-result-chunk", timestamp: endedAt, data: came }]),
  ];
}

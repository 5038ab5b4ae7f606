/** The kinds of events, as the page groups and colours them, and what each event says in a few words. */

/** Kinds in the order of the filter, with the name that people read. */
export const KINDS = {
  sent: "Sent",
  session: "Session",
  text: "Text",
  tools: "Tools",
  thoughts: "Thoughts",
  status: "Status",
  done: "Done",
  details: "Details",
  errors: "Errors",
};

const KIND_OF_TYPE = {
  "run-agent": "sent",
  "session-started": "session",
  "session-ended": "session",
  "session-error": "errors",
  "text-chunk": "text",
  "text-message-complete": "text",
  "tool-call-chunk": "tools",
  "tool-call-complete": "tools",
  "tool-result-chunk": "tools",
  "tool-result-complete": "tools",
  "thought-chunk": "thoughts",
  "thought-complete": "thoughts",
  "status-update": "status",
  "progress-update": "status",
  "agent-response-complete": "done",
  "agent-error": "errors",
  "metadata-update": "details",
};

/** The kind of an event. */
export const kindOf = ({ type }) => KIND_OF_TYPE[type] ?? "details";

/** What an event says, in a few words. */
export function summaryOf({ type, data = {} }) {
  switch (type) {
    case "run-agent":
      return data.messages?.at(-1)?.content ?? "";
    case "session-started":
      return data.isResumed ? "Goes on" : "New session";
    case "session-ended":
      return data.reason ?? "";
    case "text-chunk":
      return data.text;
    case "thought-chunk":
      return data.thought;
    case "tool-call-chunk":
      return `${data.toolName} ${JSON.stringify(data.arguments)}`;
    case "tool-result-chunk":
      return data.isError ? data.error : data.result;
    case "status-update":
      return [data.name ?? data.subject, data.status].join(" ");
    case "progress-update":
      return data.content?.title ?? data.patch?.map(({ path, value }) => `${path.slice(1)} ${value}`).join(", ") ?? "";
    case "agent-response-complete":
      return data.outcome;
    case "agent-error":
    case "session-error":
      return data.error?.message ?? "";
    case "metadata-update":
      return data.custom?.name ?? (data.usage ? `${data.usage.totalTokens ?? "?"} tokens` : "");
    default:
      return "";
  }
}

/**
 * What the wire cannot carry, by name.
 *
 * These are properties of the format: `@ag-ui/proto` loses the same, and a reader cannot tell that something was lost.
 * A test pins each of them. Everything else that has no form on the wire is refused, not lost.
 */
export const LOSSES = {
  "patch-members": "Members of a patch operation beside op, path, from and value; a from that is no text where unused.",
  "unknown-members": "Members that AG-UI does not describe, on anything but open JSON.",
  "optional-null": "Null in an optional field reads as absent.",
  "empty-lists": "Empty toolCalls, usage, pendingToolCallIds and interruptIds read as absent.",
  "run-input-lists": "Absent tools, context and resume of a run input read as empty lists.",
  "lone-surrogates": "Half of a surrogate pair reads as U+FFFD: UTF-8 has no form for it.",
} as const;

/** The name of something that the wire cannot carry. */
export type Loss = keyof typeof LOSSES;

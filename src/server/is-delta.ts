/**
 * Whether the text of an event is that of a delta: text, thoughts or arguments that go on. Nearly all events are, and who
 * looks for anything else is done with them after a glance at their beginning. One that begins otherwise is just no
 * delta here: whoever asks reads it then.
 */
const DELTAS = [
  '{"type":"TEXT_MESSAGE_CONTENT",',
  '{"type":"TOOL_CALL_ARGS",',
  '{"type":"REASONING_MESSAGE_CONTENT",',
] as const;

/** Whether this is certainly a delta. */
export const isDelta = (json: string): boolean =>
  json.startsWith(DELTAS[0]) || json.startsWith(DELTAS[1]) || json.startsWith(DELTAS[2]);

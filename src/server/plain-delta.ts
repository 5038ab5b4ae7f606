/**
 * A delta that says nothing but text, as a value of its own: nearly every event of a run.
 *
 * What an agent's `emit` makes was judged there, and what comes from elsewhere by ingest; but whoever made an event may
 * still hold it. So the few members that a plain delta has are looked at and copied, once, and nothing else of it counts.
 * Whatever is not plainly that is not taken here, and goes the long way.
 */
import type { Event } from "../protocol/index.ts";

/** Longer ones go the long way: below, no text of so many characters can pass the least limit that makes sense. */
const MAX_CHARS = 1024;

/** Smallest limit of an event's size at which nothing of that length has to be weighed: JSON needs 6 bytes for a character. */
const WEIGHED_BELOW_BYTES = 4 * 6 * MAX_CHARS;

/** A copy of a plain delta; undefined for every other event. */
export function plainDelta(event: Event, maxBytes: number): Event | undefined {
  if (maxBytes < WEIGHED_BELOW_BYTES || "toJSON" in event) return undefined;
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CONTENT": {
      const { type, messageId, delta, timestamp, metadata, rawEvent, subagentRunId } = event;
      if (metadata !== undefined || rawEvent !== undefined || subagentRunId !== undefined) return undefined;
      if (!isText(messageId) || !isText(delta) || !isTime(timestamp)) return undefined;
      return { type, messageId, delta, timestamp };
    }
    case "TOOL_CALL_ARGS": {
      const { type, toolCallId, delta, timestamp, metadata, rawEvent, subagentRunId } = event;
      if (metadata !== undefined || rawEvent !== undefined || subagentRunId !== undefined) return undefined;
      if (!isText(toolCallId) || !isText(delta) || !isTime(timestamp)) return undefined;
      return { type, toolCallId, delta, timestamp };
    }
    default:
      return undefined;
  }
}

const isText = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= MAX_CHARS;

const isTime = (value: unknown): value is number => Number.isSafeInteger(value);

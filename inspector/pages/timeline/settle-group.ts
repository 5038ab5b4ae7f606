/** What one event changes about the group that it is in: its text so far, how it stands, what it spent. */
import type { Event } from "heddle/protocol";
import type { Group, GroupStatus } from "./timeline-group.ts";

const PREVIEW_LENGTH = 200;

/** The text that an event adds to what it is a part of. */
export function deltaOf(event: Event): string | undefined {
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
    case "TEXT_MESSAGE_CHUNK":
    case "REASONING_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CHUNK":
    case "TOOL_CALL_ARGS":
    case "TOOL_CALL_CHUNK":
      return event.delta;
    default:
      return undefined;
  }
}

const RUN_OUTCOMES: Readonly<Record<string, GroupStatus>> = { interrupt: "waiting", cancelled: "cancelled" };

/** Takes one more event of a group into account. */
export function settle(group: Group, event: Event): void {
  const delta = deltaOf(event);
  if (delta !== undefined) addText(group, delta);
  switch (event.type) {
    case "RUN_FINISHED":
      group.status = RUN_OUTCOMES[event.outcome?.type ?? ""] ?? "done";
      group.tokens = tokensOf(event.usage);
      return;
    case "RUN_ERROR":
      group.status = "failed";
      group.tokens = tokensOf(event.usage);
      return;
    case "SUBAGENT_FINISHED":
      group.status = event.outcome?.type === "suspended" ? "waiting" : "done";
      return;
    case "SUBAGENT_ERROR":
      group.status = "failed";
      return;
    case "TOOL_CALL_END":
      group.status = "waiting";
      return;
    case "STEP_FINISHED":
    case "TEXT_MESSAGE_END":
    case "REASONING_END":
    case "REASONING_MESSAGE_END":
    case "TOOL_CALL_RESULT":
      group.status = "done";
      return;
    case "ACTIVITY_SNAPSHOT":
      group.status = "done";
      if (group.preview === "") group.preview = JSON.stringify(event.content).slice(0, PREVIEW_LENGTH);
      return;
    default:
  }
}

function addText(group: Group, delta: string): void {
  group.parts += 1;
  group.textBytes += bytesOf(delta);
  if (group.preview.length < PREVIEW_LENGTH) group.preview += delta.slice(0, PREVIEW_LENGTH - group.preview.length);
}

/** How long a text is as UTF-8. */
function bytesOf(text: string): number {
  let bytes = text.length;
  for (let place = 0; place < text.length; place++) {
    const code = text.charCodeAt(place);
    // Each half of a pair is one of four bytes in two.
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  return bytes;
}

type Usage = NonNullable<Extract<Event, { type: "RUN_FINISHED" }>["usage"]>;

function tokensOf(usage: Usage | undefined): number | undefined {
  return usage?.reduce(
    (sum, { totalTokens, inputTokens = 0, outputTokens = 0 }) => sum + (totalTokens ?? inputTokens + outputTokens),
    0,
  );
}

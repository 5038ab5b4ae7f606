/**
 * What a run of a crash test says, as a function of its ids alone: the process that writes it and the one that checks the
 * log afterwards make the same events without a word between them.
 *
 * Whatever is in the log of a run must be a beginning of its script; only a reaper adds to it.
 */
import { createHash } from "node:crypto";
import type { Event } from "../../src/protocol/index.ts";
import { Random } from "../../src/testing/store-contract/random.ts";

/** Whose threads they are. */
export const TENANT = "acme";

/** Which run. */
export interface ScriptKey {
  readonly threadId: string;
  readonly runId: string;
}

const WORDS = ["warp ", "weft ", "né ", "\u{1f9f5} ", "'; -- ", "\u2028", '"\\', "a\nb ", "\u0000"] as const;

/** All events of a run, from RUN_STARTED to its terminal event. */
export function scriptOf({ threadId, runId }: ScriptKey): readonly [Event, ...Event[]] {
  const random = new Random(
    createHash("sha256")
      .update(JSON.stringify([threadId, runId]))
      .digest()
      .readUInt32LE(),
  );
  const text = (): string =>
    random.chance(5) ? random.one(WORDS).repeat(1000) : `${random.one(WORDS)}${random.below(1000)} `;
  const asked = { id: `${runId}-user`, role: "user", content: text() } as const;
  const started: Event = { type: "RUN_STARTED", threadId, runId, input: { threadId, runId, messages: [asked] } };
  const parts = Array.from({ length: 2 + random.below(5) }, (_, index) =>
    partOf(`${runId}-${index}`, random.below(6), random, text),
  );
  return [started, ...parts.flat(), ending({ threadId, runId }, random)];
}

function partOf(id: string, kind: number, random: Random, text: () => string): readonly Event[] {
  const times = <T>(make: () => T): readonly T[] => Array.from({ length: 1 + random.below(8) }, make);
  switch (kind) {
    case 0:
      return [
        { type: "REASONING_START", messageId: `${id}-span` },
        { type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning" },
        ...times((): Event => ({ type: "REASONING_MESSAGE_CONTENT", messageId: id, delta: text() })),
        { type: "REASONING_MESSAGE_END", messageId: id },
        { type: "REASONING_END", messageId: `${id}-span` },
      ];
    case 1:
      return [
        { type: "TOOL_CALL_START", toolCallId: `${id}-call`, toolCallName: "weave" },
        ...times((): Event => ({ type: "TOOL_CALL_ARGS", toolCallId: `${id}-call`, delta: text() })),
        { type: "TOOL_CALL_END", toolCallId: `${id}-call` },
        { type: "TOOL_CALL_RESULT", messageId: `${id}-result`, toolCallId: `${id}-call`, content: text() },
      ];
    case 2:
      return [
        { type: "STATE_SNAPSHOT", snapshot: { of: id, list: [] } },
        ...times((): Event => ({ type: "STATE_DELTA", delta: [{ op: "add", path: "/list/-", value: text() }] })),
      ];
    case 3:
      return [
        { type: "STEP_STARTED", stepName: id },
        { type: "ACTIVITY_SNAPSHOT", messageId: id, activityType: "loom", content: { text: text() } },
        { type: "CUSTOM", name: id, value: text() },
        { type: "STEP_FINISHED", stepName: id },
      ];
    default:
      return [
        { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
        ...times((): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: text() })),
        { type: "TEXT_MESSAGE_END", messageId: id },
      ];
  }
}

function ending({ threadId, runId }: ScriptKey, random: Random): Event {
  switch (random.below(6)) {
    case 0:
      return { type: "RUN_ERROR", message: "The thread broke.", code: "broken" };
    case 1:
      return { type: "RUN_FINISHED", threadId, runId, outcome: { type: "cancelled" } };
    default:
      return { type: "RUN_FINISHED", threadId, runId, result: random.below(1000) };
  }
}

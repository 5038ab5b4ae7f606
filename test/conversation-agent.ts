/**
 * The agent of the generated conversations: does what the script in its context says, and first tells what it was given.
 * What it says follows from its run's id and its script alone, so that a model can tell it beforehand.
 */
import { defineAgent } from "heddle/agent";
import type { Agent } from "heddle/agent";
import type { Event, Interrupt, Message, RunAgentInput } from "heddle/protocol";

/** What a run is to do. */
export interface Script {
  /** How many messages it says. */
  readonly says: number;
  /** How many calls it leaves to the client. */
  readonly calls: number;
  /** The questions that it ends with. */
  readonly asks: readonly ("anything" | "boolean" | "expired")[];
  /** The state that it sets. */
  readonly sets?: number | undefined;
  /** Whether it fails in the end. */
  readonly fails: boolean;
  /** Whether it waits after its first message until it is let go. */
  readonly holds: boolean;
}

/** The messages that a run says before it waits. */
export const saidFirst = (runId: string, { says }: Script): readonly Message[] => spoken(runId, Math.min(says, 1));

/** The messages that a run says. */
export const saidInAll = (runId: string, { says, calls }: Script): readonly Message[] => [
  ...spoken(runId, says),
  ...(calls === 0 ? [] : [callingMessage(runId, calls)]),
];

/** Ids of the calls that it leaves to the client. */
export const callIdsOf = (runId: string, { calls }: Script): readonly string[] =>
  Array.from({ length: calls }, (_, index) => `${runId}-call${index}`);

/** The questions that it ends with. */
export const questionsOf = (runId: string, { asks }: Script): readonly Interrupt[] =>
  asks.map((kind, index) => ({
    id: `${runId}-ask${index}`,
    reason: "confirmation",
    ...(kind === "boolean" && { responseSchema: { type: "boolean" } }),
    ...(kind === "expired" && { expiresAt: "2020-01-01T00:00:00Z" }),
  }));

const spoken = (runId: string, count: number): readonly Message[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `${runId}-says${index}`,
    role: "assistant",
    content: `${runId} says ${index}`,
  }));

const callingMessage = (runId: string, calls: number): Message => ({
  id: `${runId}-calls`,
  role: "assistant",
  toolCalls: Array.from({ length: calls }, (_, index) => ({
    id: `${runId}-call${index}`,
    type: "function",
    function: { name: "look", arguments: `{"at":${index}}` },
  })),
});

const custom = (name: string, value: unknown): Event => ({ type: "CUSTOM", name, value });

function scriptOf({ context = [] }: RunAgentInput): Script {
  return JSON.parse(context.find(({ description }) => description === "script")?.value ?? "null");
}

/** An agent. `wait` resolves when a run may go on. */
export const conversationAgent = (
  name: string,
  wait: (runId: string, signal: AbortSignal) => Promise<unknown>,
): Agent =>
  defineAgent({
    name,
    async *run({ input, signal }): AsyncGenerator<Event> {
      const { runId, threadId, messages, state, resume } = input;
      const script = scriptOf(input);
      yield custom("given", { messages, state, resume });
      for (const [index, { id, content }] of spoken(runId, script.says).entries()) {
        yield { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" };
        yield { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: String(content) };
        yield { type: "TEXT_MESSAGE_END", messageId: id };
        if (script.holds && index === 0) {
          yield custom("holds", runId);
          await wait(runId, signal);
        }
      }
      if (script.holds && script.says === 0) {
        yield custom("holds", runId);
        await wait(runId, signal);
      }
      if (script.sets !== undefined) yield { type: "STATE_SNAPSHOT", snapshot: { n: script.sets } };
      for (const [index, toolCallId] of callIdsOf(runId, script).entries()) {
        yield { type: "TOOL_CALL_START", toolCallId, toolCallName: "look", parentMessageId: `${runId}-calls` };
        yield { type: "TOOL_CALL_ARGS", toolCallId, delta: `{"at":${index}}` };
        yield { type: "TOOL_CALL_END", toolCallId };
      }
      if (script.fails) throw new Error("as the script says");
      const interrupts = questionsOf(runId, script);
      yield {
        type: "RUN_FINISHED",
        threadId,
        runId,
        ...(interrupts.length > 0 && { outcome: { type: "interrupt", interrupts } }),
      };
    },
  });

/** The same in a process of its own, which asks the gates of the test. */
export const conversing = conversationAgent("conversing", (runId, signal) =>
  fetch(`${process.env["HEDDLE_TEST_GATES"]}/${encodeURIComponent(runId)}`, { signal }),
);

/**
 * Want 13. An agent that floods, as bridges of some frameworks do: everything that it says comes with the framework's own
 * events, which hold the result and the prompt again and again, and in the end it restates the conversation, prompt
 * included. What the model is told is kept, and shown to nobody who did not ask.
 */
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { startServer } from "../server-process.ts";
import { postRun } from "../sse-client.ts";
import { connectTo } from "./thread-log.ts";

const RESULT = "0123456789abcdef\n".repeat(2000);
const RESULT_BYTES = Buffer.byteLength(RESULT);
const PROMPTS = {
  posted: "POSTED-PROMPT",
  house: "HOUSE-RULES",
  agent: "AGENT-PROMPT",
  native: "NATIVE-PROMPT",
} as const;

const MESSAGES = [
  { id: "s1", role: "system", content: PROMPTS.posted },
  { id: "d1", role: "developer", content: PROMPTS.house },
  { id: "u1", role: "user", content: "Look it up" },
];
const CALL = { id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } };
const rawEvent = { prompt: PROMPTS.native, result: RESULT };

/** What an agent says that floods. */
const FLOOD = [
  ...Array.from({ length: 12 }, () => ({ type: "RAW", event: rawEvent, source: "framework" })),
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "look_up", parentMessageId: "a1", rawEvent },
  { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "{}", rawEvent },
  { type: "TOOL_CALL_END", toolCallId: "c1", rawEvent },
  { type: "TOOL_CALL_RESULT", toolCallId: "c1", messageId: "t1", content: RESULT, rawEvent },
  { type: "TEXT_MESSAGE_START", messageId: "a2", role: "assistant", rawEvent },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a2", delta: "Found.", rawEvent },
  { type: "TEXT_MESSAGE_END", messageId: "a2", rawEvent },
  {
    type: "MESSAGES_SNAPSHOT",
    messages: [
      { id: "s2", role: "system", content: PROMPTS.agent },
      ...MESSAGES,
      { id: "a1", role: "assistant", toolCalls: [CALL] },
      { id: "t1", role: "tool", toolCallId: "c1", content: RESULT },
      { id: "a2", role: "assistant", content: "Found." },
    ],
    rawEvent,
  },
];

const promptsIn = (body: string): readonly string[] => Object.values(PROMPTS).filter((prompt) => body.includes(prompt));

test("Payload. With a 34 KB tool result the bytes sent to the browser stay under three times that, and no system prompt appears in any frame unless I opted in.", async () => {
  const { url } = await startServer({ files: ["test/acceptance/scripted-agents.ts"] });
  const first = { threadId: "t", runId: "r1", messages: MESSAGES, forwardedProps: { script: FLOOD } };
  const read = async (path: string): Promise<string> => (await fetch(`${url}/threads/t/events${path}`)).text();
  const answers = {
    posted: await (await postRun(url, "scripted", first)).text(),
    postedAgain: await (await postRun(url, "scripted", first)).text(),
    connected: await (await connectTo(url, "scripted", "t")).text(),
    attached: await read("?run=r1"),
    older: await read("?run=r1&protocol=0.0.57"),
    whole: await read("?all=true&follow=false"),
  };
  for (const [way, body] of Object.entries(answers)) {
    const whole = ["Found.", "RUN_FINISHED"].filter((text) => body.includes(text));
    expect([way, whole, promptsIn(body)]).toEqual([way, ["Found.", "RUN_FINISHED"], []]);
    expect(Buffer.byteLength(body)).toBeGreaterThan(RESULT_BYTES);
    expect(Buffer.byteLength(body)).toBeLessThan(3 * RESULT_BYTES);
  }
  // Who asks gets it all. What stands in for the stream has no native events in it.
  expect(promptsIn(await read("?run=r1&raw=true"))).toEqual(Object.values(PROMPTS));
  const asked = await (await postRun(url, "scripted?raw=true", first)).text();
  expect(promptsIn(asked)).toEqual([PROMPTS.posted, PROMPTS.house, PROMPTS.agent]);

  // A client that was never shown them goes on with what it has, and the model is told what it was told before.
  const second = { threadId: "t", runId: "r2", messages: [{ id: "u2", role: "user", content: "And now?" }] };
  const said = await (await postRun(url, "roles", second)).text();
  expect(said).toContain('system developer user assistant tool assistant system user"');
  expect(promptsIn(said)).toEqual([]);
});

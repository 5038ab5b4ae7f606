/** What we write for older peers is read by the clients of that age, over a real socket. */
import { HttpAgent as Agent39 } from "@ag-ui/client-0.0.39";
import { HttpAgent as Agent45 } from "@ag-ui/client-0.0.45";
import { HttpAgent as Agent57 } from "@ag-ui/client-0.0.57";
import { HttpAgent as Agent59 } from "@ag-ui/client-0.0.59";
import type { Event, RunFinishedEvent } from "heddle/protocol";
import { projectEvent } from "heddle/protocol/dialects";
import { describe, expect, it } from "vitest";
import { scriptedAgent } from "./scripted-agent.ts";

interface Client {
  messages: readonly unknown[];
  state: unknown;
  runAgent(parameters: object, subscriber?: object): Promise<unknown>;
}

const CLIENTS: Readonly<Record<string, (url: string) => Client>> = {
  "0.0.39": (url) => new Agent39({ url, threadId: "t1" }) as unknown as Client,
  "0.0.45": (url) => new Agent45({ url, threadId: "t1" }) as unknown as Client,
  "0.0.57": (url) => new Agent57({ url, threadId: "t1" }) as unknown as Client,
  "0.0.59": (url) => new Agent59({ url, threadId: "t1" }) as unknown as Client,
};

/** Everything that 1.0 has and some older peer lacks, in one run. */
const BODY: readonly Event[] = [
  { type: "STATE_SNAPSHOT", snapshot: { count: 1 } },
  { type: "SUBAGENT_STARTED", subagentRunId: "s1", name: "helper" },
  { type: "REASONING_START", messageId: "span" },
  { type: "REASONING_MESSAGE_START", messageId: "r1", role: "reasoning", subagentRunId: "s1" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "r1", delta: "hm" },
  { type: "REASONING_MESSAGE_END", messageId: "r1" },
  { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "r1", encryptedValue: "e" },
  { type: "REASONING_END", messageId: "span" },
  { type: "SUBAGENT_FINISHED", subagentRunId: "s1" },
  { type: "ACTIVITY_SNAPSHOT", messageId: "a1", activityType: "PLAN", content: { done: false } },
  {
    type: "ACTIVITY_DELTA",
    messageId: "a1",
    activityType: "PLAN",
    patch: [{ op: "replace", path: "/done", value: true }],
  },
  { type: "TEXT_MESSAGE_START", messageId: "m1" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Hello" },
  { type: "TEXT_MESSAGE_END", messageId: "m1" },
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "look", parentMessageId: "m1" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "{}" },
  { type: "TOOL_CALL_END", toolCallId: "c1" },
  {
    type: "TOOL_CALL_RESULT",
    messageId: "m2",
    toolCallId: "c1",
    content: [
      { type: "text", text: "a cat" },
      { type: "image", source: { type: "file", value: "f" } },
    ],
  },
  { type: "META", metaType: "note", payload: {} },
];

const SNAPSHOT: Event = {
  type: "MESSAGES_SNAPSHOT",
  messages: [
    {
      id: "u1",
      role: "user",
      content: [
        { type: "text", text: "Look" },
        { type: "image", source: { type: "url", value: "u", mimeType: "image/png" } },
      ],
      subagentRunId: "s",
    },
    { id: "x1", role: "reasoning", content: "hm" },
    { id: "y1", role: "activity", activityType: "PLAN", content: {} },
    {
      id: "z1",
      role: "assistant",
      toolCalls: [{ id: "c", type: "function", function: { name: "n", arguments: "{}" } }],
    },
    { id: "z2", role: "tool", toolCallId: "c", content: [{ type: "text", text: "ok" }] },
  ],
};

async function read(version: string, body: readonly Event[], outcome?: RunFinishedEvent["outcome"]) {
  await using agent = await scriptedAgent(({ threadId, runId }) =>
    [
      {
        type: "RUN_STARTED",
        threadId,
        runId,
        protocolVersion: "1.0",
        input: { threadId, runId, messages: [{ id: "q", role: "user", content: "Hi" }] },
      } satisfies Event,
      ...body,
      { type: "RUN_FINISHED", threadId, runId, ...(outcome === undefined ? {} : { outcome }) } satisfies Event,
    ].flatMap((event: Event) => projectEvent(event, { version }, { runOpen: true }).value ?? []),
  );
  const client = CLIENTS[version]?.(agent.url);
  if (client === undefined) throw new Error(`There is no client ${version}.`);
  const seen: string[] = [];
  const errors: unknown[] = [];
  await client.runAgent(
    {},
    {
      onEvent: ({ event }: { event: { type: string } }) => void seen.push(event.type),
      onRunErrorEvent: ({ event }: { event: unknown }) => void errors.push(event),
    },
  );
  return { client, seen, errors };
}

describe.each(Object.keys(CLIENTS))("a client of %s", (version) => {
  it("takes a run with everything in it", async () => {
    const { client, seen } = await read(version, BODY, { type: "success", pendingToolCallIds: ["c9"] });
    expect(seen.at(-1)).toBe("RUN_FINISHED");
    expect(seen).not.toContain("META");
    expect(client.state).toEqual({ count: 1 });
    expect(client.messages).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: "m1", content: "Hello" }),
        expect.objectContaining({ id: "m2", role: "tool", content: "a cat" }),
      ]),
    );
  });

  it("takes restated messages of every role", async () => {
    const { client } = await read(version, [SNAPSHOT]);
    expect(client.messages).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: "u1" }),
        expect.objectContaining({ id: "z2", content: "ok" }),
      ]),
    );
  });

  it("sees a stop as a stop, not as success", async () => {
    const { seen, errors } = await read(version, [], { type: "cancelled" });
    expect(seen).toEqual(["RUN_STARTED", "RUN_ERROR"]);
    expect(errors).toMatchObject([{ code: "abort" }]);
  });
});

it.each(["0.0.57", "0.0.59"])("a client of %s takes a question", async (version) => {
  const { seen } = await read(version, [], {
    type: "interrupt",
    interrupts: [{ id: "i", reason: "confirmation", subagentRunId: "s" }],
  });
  expect(seen).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
});

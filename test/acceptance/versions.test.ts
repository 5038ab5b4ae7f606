/**
 * Want 18. Clients of all ages post the same run: whoever comes first starts it, the others join it in the middle, and all
 * see it end. It holds what the older ones never heard of. Three are the published packages; two speak for themselves:
 * one that declares an older minor version than the server's, and one from the future, with an input to match.
 */
import { HttpAgent as Agent100 } from "@ag-ui/client";
import { HttpAgent as Agent57 } from "@ag-ui/client-0.0.57";
import { HttpAgent as Agent59 } from "@ag-ui/client-0.0.59";
import { parseEvent } from "heddle/protocol";
import { reduceAll } from "heddle/stream";
import { expect, test, vi } from "vitest";
import { startGates } from "../gate.ts";
import { startServer } from "../server-process.ts";
import { framesOf, postRun } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";

/** What a client shows when its run is over. */
interface Seen {
  readonly events: readonly Frame["event"][];
  readonly messages: readonly unknown[];
  readonly state: unknown;
}

/** A run as every client asks for it. */
interface Asked {
  readonly url: string;
  readonly threadId: string;
  readonly runId: string;
  readonly forwardedProps: object;
}

/** Runs to the end. `onEvent` is told when something has come. Rejects where the client throws. */
type Client = (asked: Asked, onEvent: (type: string) => void) => Promise<Seen>;

const USER = { id: "u1", role: "user", content: "Compare" } as const;

/** As much of a published client as is used here; they differ in what their types say, not in this. */
interface Published {
  readonly messages: readonly unknown[];
  readonly state: unknown;
  runAgent(parameters: object, subscriber: object): Promise<unknown>;
}

const published =
  (make: (options: { url: string; threadId: string; initialMessages: (typeof USER)[] }) => Published): Client =>
  async ({ url, threadId, runId, forwardedProps }, onEvent) => {
    const client = make({ url: `${url}/agents/scripted`, threadId, initialMessages: [USER] });
    const events: Frame["event"][] = [];
    const subscriber = {
      onEvent({ event }: { event: Frame["event"] }) {
        events.push(event);
        onEvent(event.type);
      },
    };
    await client.runAgent({ runId, forwardedProps }, subscriber);
    return { events, messages: client.messages, state: client.state };
  };

const declaring =
  (more: object): Client =>
  async ({ url, ...asked }, onEvent) => {
    const answer = await postRun(url, "scripted", { messages: [USER], ...asked, ...more });
    expect(answer.status).toBe(200);
    const events: Frame["event"][] = [];
    for await (const { event } of framesOf(answer)) {
      events.push(event);
      onEvent(event.type);
    }
    const { messages, state } = reduceAll(events.flatMap((event) => parseEvent(event).value ?? []));
    return { events, messages, state };
  };

const FUTURE_INPUT = {
  protocolVersion: "1.7",
  telepathy: { channel: 3 },
  tools: [{ name: "t", description: "d", parameters: {}, colour: "red" }],
  messages: [
    { ...USER, mood: "curious" },
    { id: "x1", role: "oracle", content: "?" },
  ],
};

const CLIENTS: Readonly<Record<string, Client>> = {
  "0.0.57": published((options) => new Agent57(options)),
  "0.0.59": published((options) => new Agent59(options)),
  "1.0.0": published((options) => new Agent100(options)),
  "an older minor": declaring({ protocolVersion: "0.9" }),
  "a newer minor": declaring(FUTURE_INPUT),
};
const BEFORE_1_0 = ["0.0.57", "0.0.59", "an older minor"];
/** They declare nothing, so each is taken for the older of the two, which has no subagents. */
const UNDECLARED = ["0.0.57", "0.0.59"];

const IMAGE = { type: "image", source: { type: "file", value: "f1" } };

/** What follows after everybody has come. */
const REST = [
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a1", delta: "is better." },
  { type: "HOLOGRAM_STARTED", hologramId: "h1", depth: 3 },
  { type: "TEXT_MESSAGE_END", messageId: "a1", glow: true },
  { type: "SUBAGENT_STARTED", subagentRunId: "s2", name: "checker" },
  { type: "TEXT_MESSAGE_START", messageId: "a2", role: "assistant", subagentRunId: "s2" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a2", delta: "Checked." },
  { type: "TEXT_MESSAGE_END", messageId: "a2" },
  { type: "SUBAGENT_FINISHED", subagentRunId: "s2" },
  { type: "TOOL_CALL_START", toolCallId: "c2", toolCallName: "draw", parentMessageId: "a1" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c2", delta: "{}" },
  { type: "TOOL_CALL_END", toolCallId: "c2" },
  { type: "TOOL_CALL_RESULT", toolCallId: "c2", messageId: "t2", content: [{ type: "text", text: "drawn" }, IMAGE] },
  { type: "META", metaType: "note", payload: { by: "agent" } },
  { type: "STATE_DELTA", delta: [{ op: "add", path: "/done", value: true }] },
];

/** A run with everything that somebody does not know, and a gate in the middle of it. */
const scriptWith = (gate: string): readonly object[] => [
  { type: "STATE_SNAPSHOT", snapshot: { topic: "looms" } },
  { type: "META", metaType: "note", payload: {} },
  { type: "SUBAGENT_STARTED", subagentRunId: "s1", name: "researcher" },
  { type: "REASONING_START", messageId: "span" },
  { type: "REASONING_MESSAGE_START", messageId: "r1", role: "reasoning", subagentRunId: "s1" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "r1", delta: "hm" },
  { type: "REASONING_MESSAGE_END", messageId: "r1" },
  { type: "REASONING_END", messageId: "span" },
  { type: "SUBAGENT_FINISHED", subagentRunId: "s1" },
  { type: "ACTIVITY_SNAPSHOT", messageId: "p1", activityType: "PLAN", content: { steps: 2 } },
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "look" },
  { type: "TOOL_CALL_END", toolCallId: "c1" },
  { type: "TOOL_CALL_RESULT", toolCallId: "c1", messageId: "t1", content: [{ type: "text", text: "a loom" }, IMAGE] },
  { type: "QUANTUM_LEAP", to: "1.9" },
  { type: "TEXT_MESSAGE_START", messageId: "a1", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a1", delta: "The second " },
  { gate },
  ...REST,
];

test("Versions. A 0.0.5x client, a 1.0 client and a client one minor older than the server all finish the same run, with warnings and no throw, and an unknown event type does not end the stream.", async () => {
  // What they warn of is theirs.
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const gates = await startGates();
  const { url } = await startServer({ files: ["test/acceptance/scripted-agents.ts"] });

  /** Every client on one run: the named one starts it. */
  async function together(
    first: string,
    gate: string,
  ): Promise<{
    readonly came: Promise<unknown>;
    readonly views: Promise<readonly (readonly [string, Seen])[]>;
  }> {
    const forwardedProps = { script: scriptWith(`${gates.url}/${gate}`) };
    const asked = { url, threadId: gate, runId: "r1", forwardedProps };
    const names = Object.keys(CLIENTS);
    const arrivals = new Map(names.map((name) => [name, Promise.withResolvers<void>()]));
    const join = async (name: string): Promise<readonly [string, Seen]> => {
      const client = CLIENTS[name];
      if (client === undefined) throw new Error(`There is no client ${name}.`);
      const seen = await client(asked, (type) => {
        if (type === "RUN_STARTED") arrivals.get(name)?.resolve();
      });
      return [name, seen];
    };
    const starter = join(first);
    await Promise.race([gates.reached(gate), starter]);
    const others = names.filter((name) => name !== first).map((name) => join(name));
    const came = Promise.all([...arrivals.values()].map(({ promise }) => promise));
    return { came, views: Promise.all([starter, ...others]) };
  }

  for (const first of Object.keys(CLIENTS)) {
    const gate = `finish-${first}`;
    const { came, views } = await together(first, gate);
    await Promise.race([came, views]);
    gates.open(gate);
    for (const [name, { events, messages, state }] of await views) {
      const types = events.map(({ type }) => type);
      const result = BEFORE_1_0.includes(name) ? "a loom" : [{ type: "text", text: "a loom" }, IMAGE];
      const end = [first, name, types.at(-1), types.includes("SUBAGENT_STARTED"), state];
      expect(end).toEqual([first, name, "RUN_FINISHED", !UNDECLARED.includes(name), { topic: "looms", done: true }]);
      expect(messages).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ id: "a1", content: "The second is better." }),
          expect.objectContaining({ id: "a2", content: "Checked." }),
          expect.objectContaining({ id: "t1", role: "tool", content: result }),
          expect.objectContaining({ id: "p1", role: "activity" }),
        ]),
      );
      expect(new Set(messages.map((message) => Object(message).id)).size).toBe(messages.length);
      for (const unknown of ["META", "HOLOGRAM_STARTED", "QUANTUM_LEAP"]) expect(types).not.toContain(unknown);
    }
    expect(gates.visits(gate)).toBe(1);
  }

  // The same, stopped: for the younger ones a run that was cancelled, for the older ones their word for it.
  const { came, views } = await together("1.0.0", "stop");
  await Promise.race([came, views]);
  await fetch(`${url}/threads/stop/runs/r1/cancel`, { method: "POST" });
  for (const [name, { events, messages }] of await views) {
    const end = BEFORE_1_0.includes(name)
      ? { type: "RUN_ERROR", code: "abort" }
      : { type: "RUN_FINISHED", outcome: { type: "cancelled" } };
    expect({ name, end: events.at(-1) }).toMatchObject({ name, end });
    expect(messages).toContainEqual(expect.objectContaining({ id: "a1", content: "The second " }));
  }
});

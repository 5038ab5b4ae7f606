/** Seed 003, the dialect of its WebSockets, end to end: real sockets, real runs. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineAgent } from "../src/agent/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import type { Served } from "../src/server/fastify/index.ts";
import { openSession } from "./session-client.ts";

const talker = defineAgent({
  name: "talker",
  run: ({ input, emit }) => void emit.text().write(`${input.messages.length} messages`),
});
let server: Served;
beforeAll(async () => {
  server = await serve({ agents: [talker], port: 0 });
});
afterAll(() => server.close());

describe("003 ws", () => {
  test("first", async () => {
    const client = await openSession(server.url, "/api/ag-ui/talker");
    const events = await client.ask("hello");
    expect(events.map(({ type }) => type)).toEqual(["text-chunk", "text-message-complete", "agent-response-complete"]);
    const more = await client.ask("hello");
    expect(more[0]?.data.text).toBe("3 messages");
    await client.close();
  });
});

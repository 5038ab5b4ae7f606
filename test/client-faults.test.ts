import { afterAll, beforeAll, expect, test } from "vitest";
import { defineAgent } from "../src/agent/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import type { Served } from "../src/server/fastify/index.ts";
import { connect } from "../src/client/index.ts";
import { faultyProxy } from "./faulty-proxy.ts";
import type { FaultyProxy } from "./faulty-proxy.ts";

const WORDS = "one two three four five six seven eight".split(" ");

const teller = defineAgent({
  name: "teller",
  run: async ({ emit }) => {
    const text = emit.text();
    for (const word of WORDS) {
      text.write(`${word} `);
      await new Promise((resolve) => setImmediate(resolve));
    }
  },
});

let server: Served;
let proxy: FaultyProxy;
beforeAll(async () => {
  server = await serve({ agents: [teller], port: 0, hosts: ["127.0.0.1"] });
  proxy = await faultyProxy(server.url);
});
afterAll(async () => {
  await proxy.close();
  await server.close();
});

const TRANSPORTS = ["sse", "websocket"] as const;
const QUICK = { firstMs: 1, mostMs: 20 };

test.each(TRANSPORTS)("a connection that is cut after any number of bytes changes nothing (%s)", async (transport) => {
  const whole = connect(proxy.url, { transport, retry: QUICK });
  for (let bytes = 0; bytes < 3500; bytes += 97) {
    const thread = whole.thread(`${transport}-${bytes}`);
    const client = connect(proxy.url, { transport, retry: QUICK });
    const cut = client.thread(thread.id);
    proxy.cutAfterBytes = bytes;
    const run = cut.run("teller", "Count");
    const seen: string[] = [];
    for await (const event of run) seen.push(event.type);
    proxy.cutAfterBytes = undefined;
    expect((await run.finished).status, `cut after ${bytes}`).toBe("finished");
    const log: string[] = [];
    for await (const { event } of thread.history()) log.push(event.type);
    expect(cut.messages.at(-1)?.content, `cut after ${bytes}`).toBe(`${WORDS.join(" ")} `);
    expect(seen, `cut after ${bytes}`).toEqual(log);
    expect((await thread.details()).runs).toHaveLength(1);
    client.close();
  }
  whole.close();
});

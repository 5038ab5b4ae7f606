/**
 * A server in a process of its own, whose sockets are maltreated. Run with --expose-gc; talks to its parent by messages: it
 * says where it answers, answers "handles" with those that are open and "measure" with the bytes that are in use, and lets
 * its agent `clock` say the next number for each "tick". Only for "beat" the time of its intervals goes on, so that nobody is
 * taken for dead who is merely as slow as the machine.
 */
import { mock } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { defineAgent } from "../src/agent/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import { memoryStore } from "../src/store/index.ts";

const KEEP_ALIVE_MS = 10_000;
mock.timers.enable({ apis: ["setInterval"] });

const store = memoryStore();
let ticks = 0;
let ticked = Promise.withResolvers<void>();

/** Counts as it is told to. Its run never ends by itself. */
const clock = defineAgent({
  name: "clock",
  async run({ emit }) {
    const reply = emit.text();
    for (let said = 0; ;) {
      if (said < ticks) await reply.write(`${said++} `);
      else await ticked.promise;
    }
  },
});

/** Says more than the buffers of a connection hold. Its run does not end either. */
const lots = defineAgent({
  name: "lots",
  async run({ emit }) {
    const reply = emit.text();
    for (let index = 0; index < 400; index++) await reply.write("x".repeat(20_000));
    await reply.write("enough");
    await new Promise(() => undefined);
  },
});

/** Says one word. */
const brief = defineAgent({ name: "brief", run: ({ emit }) => void emit.text().write("so") });

const server = await serve({
  agents: [clock, lots, brief],
  store,
  port: 0,
  host: "127.0.0.1",
  logLevel: "silent",
  keepAliveMs: KEEP_ALIVE_MS,
  stallMs: 300,
  // Nothing renews a lease meanwhile.
  leaseMs: 600_000,
  maxBodyBytes: 64 * 1024,
});
process.send?.({ url: server.url });

process.on("message", (message) => {
  if (message === "tick") {
    ticks += 1;
    ticked.resolve();
    ticked = Promise.withResolvers();
  }
  if (message === "beat") mock.timers.tick(KEEP_ALIVE_MS);
  if (message === "handles") process.send?.({ handles: handles() });
  if (message === "measure") void measure();
});
process.on("disconnect", () => process.exit());

async function measure(): Promise<void> {
  // What has ended is settled on the side; two do not end.
  while ((await store.unsettled()).length > 2) await nextTurn();
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.();
    for (let turn = 0; turn < 20; turn++) await nextTurn();
  }
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ usedBytes: heapUsed + external });
}

/** What keeps the process going, by kind. */
function handles(): string {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return Array.from(counts, ([name, count]) => `${count} ${name}`)
    .toSorted()
    .join(", ");
}

/**
 * A server in a process of its own, whose memory is measured. Run with --expose-gc; talks to its parent by messages:
 * it says where it answers, and answers "measure" with the bytes that are in use, and "open" by letting its agent speak.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { defineAgent } from "../src/agent/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import { memoryStore } from "../src/store/index.ts";

const gate = Promise.withResolvers<void>();
const store = memoryStore();

/** Says so many words of such a size; with `gated`, after "open". */
const words = defineAgent({
  name: "words",
  async run({ emit, input }) {
    const asked: unknown = input.forwardedProps;
    const [count, size, gated] = Array.isArray(asked) ? asked : [1, 1, false];
    if (gated === true) await gate.promise;
    const reply = emit.text();
    for (let index = 0; index < count; index++) await reply.write(`${index} `.padEnd(size, "x"));
  },
});

const server = await serve({ agents: [words], store, port: 0, host: "127.0.0.1", stallMs: 600_000 });
process.send?.({ url: server.url });

process.on("message", (message) => {
  if (message === "open") gate.resolve();
  if (message === "measure") void measure();
});
process.on("disconnect", () => process.exit());

async function measure(): Promise<void> {
  // What has ended is settled on the side.
  while ((await store.unsettled()).length > 0) await nextTurn();
  for (let round = 0; round < 8; round++) {
    globalThis.gc?.();
    for (let turn = 0; turn < 50; turn++) await nextTurn();
  }
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ usedBytes: heapUsed + external });
}

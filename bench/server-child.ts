/**
 * Our server in a process of its own: `server-child.ts <memory | file> [lingerMs]`. Its agent says so many words as the
 * run's forwarded properties order, 16 a turn unless they set another pace.
 */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { defineAgent } from "heddle/agent";
import { serve } from "heddle/server/fastify";
import { memoryStore } from "heddle/store";
import type { Store } from "heddle/store";
import { sqliteStore } from "heddle/store/sqlite";
import { answerParent, heldBytes } from "./answer-parent.ts";
import { PER_TURN, orderOf, word } from "./workloads.ts";

const [, , file = "memory", lingerMs = "10"] = process.argv;
const inner = file === "memory" ? memoryStore() : sqliteStore(file);
let gate = Promise.withResolvers<void>();
let committed = Promise.withResolvers<void>();
let commits = 0;

const store: Store = {
  ...inner,
  async append(batches) {
    const answers = await inner.append(batches);
    commits += 1;
    committed.resolve();
    committed = Promise.withResolvers();
    return answers;
  },
};

const words = defineAgent({
  name: "words",
  async run({ emit, input }) {
    const { deltas, wordChars, gated, oneWrite } = orderOf(input.forwardedProps);
    if (gated) await gate.promise;
    const reply = emit.text();
    for (let index = 0; index < deltas; index++) {
      const room = reply.write(word(index).padEnd(wordChars, "x"));
      if (index % PER_TURN < PER_TURN - 1) continue;
      await room;
      await (oneWrite ? committed.promise : nextTurn());
    }
  },
});

/** Resolves when what has ended is settled, which happens on the side, and tidied up, which waits for a pause. */
async function settled(): Promise<void> {
  while ((await store.unsettled()).length > 0) await pause(1);
  await pause(15);
}

const options = { agents: [words], store, port: 0, host: "127.0.0.1", lingerMs: Number(lingerMs) };
const { url } = await serve({ ...options, stallMs: 3_600_000 });
answerParent(url, {
  settled,
  commits: () => commits,
  heldBytes: async () => {
    await settled();
    return heldBytes();
  },
  open: () => {
    gate.resolve();
    gate = Promise.withResolvers();
  },
});

/**
 * An instance on PostgreSQL in a process of its own: `scale-child.ts <url>`. Its agent says so many words as the run's
 * forwarded properties order: as fast as it can, 16 a turn, or one every `everyMs`, as models do.
 */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { defineAgent } from "heddle/agent";
import { serve } from "heddle/server/fastify";
import { postgresStore } from "heddle/store/postgres";
import { answerParent } from "./answer-parent.ts";
import { PER_TURN, orderOf, word } from "./workloads.ts";

const [, , postgres = ""] = process.argv;

const words = defineAgent({
  name: "words",
  async run({ emit, input }) {
    const { deltas } = orderOf(input.forwardedProps);
    const { everyMs = 0 }: { everyMs?: number } = Object(input.forwardedProps);
    const reply = emit.text();
    for (let index = 0; index < deltas; index++) {
      const room = reply.write(word(index));
      if (everyMs > 0) await pause(everyMs);
      else if (index % PER_TURN === PER_TURN - 1) {
        await room;
        await nextTurn();
      }
    }
  },
});

const { url } = await serve({ agents: [words], store: postgresStore(postgres), port: 0, host: "127.0.0.1" });
answerParent(url, {});

/** Agents for tests that take the server or its database away under them. */
import { setTimeout as pause } from "node:timers/promises";
import { defineAgent } from "heddle/agent";
import { scriptOf } from "./store-children/run-script.ts";

/** Says what its ids tell it to, slowly enough to be met in the middle; slower where forwarded properties say `paceMs`. */
export const scripted = defineAgent({
  name: "scripted",
  async *run({ input, signal }) {
    const { paceMs = 2 }: { paceMs?: number } = Object(input.forwardedProps);
    for (const event of scriptOf(input)) {
      yield event;
      await pause(paceMs, undefined, { signal });
    }
  },
});

/** Counts until the gate of its run's name is opened, which forwarded properties say where to find. */
export const counts = defineAgent({
  name: "counts",
  async run({ input, emit, signal }) {
    const gates: unknown = Object(input.forwardedProps)["gates"];
    const stopped = new AbortController();
    const stop = async (): Promise<void> => {
      await fetch(`${String(gates)}/${input.runId}`, { signal });
      stopped.abort();
    };
    const speak = async (): Promise<void> => {
      const reply = emit.text();
      for (let number = 0; !stopped.signal.aborted; number++) {
        await reply.write(`${number} `);
        await pause(2, undefined, { signal });
      }
    };
    await Promise.all([stop(), speak()]);
  },
});

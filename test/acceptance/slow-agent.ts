/** An agent that takes thirty seconds, ten of them in a tool that says nothing, as models and their tools do. */
import { setTimeout as pause } from "node:timers/promises";
import { defineAgent } from "heddle/agent";

/** Tokens before and after the tool, and how long each takes. */
const TOKENS = 20;
const TOKEN_MS = 500;
const SILENCE_MS = 10_000;

/** Says its first token, waits until that was seen, and takes its time for the rest. */
export const slow = defineAgent({
  name: "slow",
  async run({ input, emit, signal }) {
    const gate: string = Reflect.get(Object(input.forwardedProps), "gate");
    const before = emit.text();
    await before.write("first ");
    await fetch(`${gate}/first-seen`, { signal });
    for (let token = 1; token <= TOKENS; token++) {
      await pause(TOKEN_MS, undefined, { signal });
      await before.write(`${token} `);
    }
    await before.end();
    const call = emit.toolCall("search");
    await call.end();
    await pause(SILENCE_MS, undefined, { signal });
    await emit.toolResult(call.id, "found");
    const after = emit.text();
    for (let token = 1; token <= TOKENS; token++) {
      await pause(TOKEN_MS, undefined, { signal });
      await after.write(`${token} `);
    }
  },
});

/**
 * The agent `load` says as many numbered words as it is asked for: `t1 t2 t3 …`.
 *
 * It needs no model, so it shows the shape of an agent and is what load and reconnect tests run.
 * Ask by forwarded properties: `{"tokens": 500, "intervalMs": 20}`. Without `tokens` it says 20, 50 ms apart;
 * with `tokens` and no interval it is as fast as its run can be logged. `{"failAt": 100}` fails in place of that word.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent } from "heddle/agent";
import { HeddleError } from "heddle/protocol";

const MAX_TOKENS = 1_000_000;
const MAX_INTERVAL_MS = 60_000;

/** Says numbered words. */
export const load = defineAgent({
  name: "load",
  async run({ input, emit, signal }) {
    const tokens = numberOf(input.forwardedProps, "tokens", MAX_TOKENS);
    const intervalMs = numberOf(input.forwardedProps, "intervalMs", MAX_INTERVAL_MS) ?? (tokens === undefined ? 50 : 0);
    const failAt = numberOf(input.forwardedProps, "failAt", MAX_TOKENS);
    const reply = emit.text();
    for (let token = 1; token <= (tokens ?? 20); token++) {
      if (token > 1 && intervalMs > 0) await sleep(intervalMs, undefined, { signal });
      if (token === failAt) throw new Error(`Failed at word ${token}, as asked.`);
      await reply.write(token === 1 ? "t1" : ` t${token}`);
    }
  },
});

/** A whole number among the forwarded properties, or undefined. */
function numberOf(props: unknown, name: string, max: number): number | undefined {
  if (props === undefined || props === null) return undefined;
  if (typeof props !== "object") throw refuse("/forwardedProps", "an object", props);
  const value: unknown = Reflect.get(props, name);
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw refuse(`/forwardedProps/${name}`, `a whole number from 0 to ${max}`, value);
}

function refuse(path: string, expected: string, value: unknown): HeddleError {
  const received = JSON.stringify(value).slice(0, 60);
  const message = `Expected ${expected} at ${path}, received ${received}.`;
  return new HeddleError("input-invalid", message, { path, expected, received });
}

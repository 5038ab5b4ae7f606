/**
 * A server that is measured, in a process of its own: says where it answers, then answers what its parent asks, and ends with
 * it. Run with --expose-gc.
 */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Starts to listen on this machine, and gives the URL. */
export async function listening(server: Server): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

/** Tells the parent the URL, and answers it from then on. */
export function answerParent(url: string, answers: Readonly<Record<string, () => unknown>>): void {
  const all: Readonly<Record<string, () => unknown>> = { cpuMs, ...answers };
  process.on("message", async (name) => process.send?.({ [String(name)]: (await all[String(name)]?.()) ?? null }));
  process.on("disconnect", () => process.exit());
  process.send?.({ url });
}

/** Time that the process has spent on a processor. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Bytes that the process holds, in the heap and outside of it, after everything is collected that can be. */
export async function heldBytes(): Promise<number> {
  for (let round = 0; round < 8; round++) {
    globalThis.gc?.();
    for (let turn = 0; turn < 50; turn++) await nextTurn();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

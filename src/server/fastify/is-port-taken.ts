/**
 * Whether a port is in use on any address of a host.
 *
 * `localhost` is two addresses on most machines. A server that gets one of them while somebody else has the other
 * looks fine and answers half of its callers, so both have to be free.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer } from "node:net";

/** True where somebody listens on the port of one of the host's addresses. Other obstacles are not judged here. */
export async function isPortTaken(host: string, port: number): Promise<boolean> {
  for (const address of await addressesOf(host)) if (await isTaken(address, port)) return true;
  return false;
}

/** A host that cannot be resolved has no addresses; listening on it says why. */
async function addressesOf(host: string): Promise<readonly string[]> {
  try {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => address);
  } catch {
    return [];
  }
}

async function isTaken(host: string, port: number): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen({ host, port, exclusive: true });
    await once(probe, "listening");
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  }
  probe.close();
  await once(probe, "close");
  return false;
}

/**
 * A proxy of TCP that misbehaves as networks do: it cuts connections after so many bytes, holds bytes back without a word,
 * or lets nobody through. It knows nothing of what it carries.
 */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** What the proxy does, changed by tests while it runs. */
export interface FaultyProxy {
  /** Where clients connect. */
  readonly url: string;
  /** How many connections were made so far. */
  readonly connections: number;
  /** Cuts the next connection that has carried so many bytes to the client; it is forgotten once that happened. */
  cutAfterBytes: number | undefined;
  /** Cuts each connection at this age, and each that was silent for so long. */
  limits: { readonly ageMs?: number; readonly idleMs?: number };
  /** True carries nothing any more, in either direction, without closing anything. */
  isStuck: boolean;
  /** True refuses new connections. */
  isDown: boolean;
  /** Cuts all connections. */
  cut(): void;
  /** Ends it. */
  close(): Promise<void>;
}

/** Starts a proxy in front of a server. */
export async function faultyProxy(target: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((client) => {
    proxy.connections += 1;
    if (proxy.isDown) return void client.destroy();
    const upstream = connect(Number(port), hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const { ageMs, idleMs } = proxy.limits;
    let carried = 0;
    const end = (): void => {
      pairs.delete(pair);
      clearTimeout(age);
      for (const socket of pair) socket.destroy();
    };
    const age = ageMs === undefined ? undefined : setTimeout(end, ageMs);
    if (idleMs !== undefined) client.setTimeout(idleMs, end);
    client.on("data", (bytes) => proxy.isStuck || upstream.write(bytes));
    upstream.on("data", (bytes) => {
      if (proxy.isStuck) return;
      const limit = proxy.cutAfterBytes;
      carried += bytes.length;
      if (limit === undefined || carried <= limit) return void client.write(bytes);
      proxy.cutAfterBytes = undefined;
      client.write(bytes.subarray(0, bytes.length - (carried - limit)), end);
    });
    for (const socket of pair) socket.on("close", end).on("error", end);
  });
  const proxy = {
    url: "",
    connections: 0,
    cutAfterBytes: undefined as number | undefined,
    limits: {} as FaultyProxy["limits"],
    isStuck: false,
    isDown: false,
    cut(): void {
      for (const [client, upstream] of pairs) {
        client.destroy();
        upstream.destroy();
      }
    },
    async close(): Promise<void> {
      proxy.cut();
      server.close();
      await once(server, "close");
    },
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  proxy.url = `http://127.0.0.1:${address.port}`;
  return proxy;
}

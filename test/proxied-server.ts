/** A server behind a network that tests may spoil, and the clients that came to it, for one test file: all closed behind it. */
import { afterAll, afterEach, beforeAll } from "vitest";
import type { HeddleClient } from "../src/client/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import type { ServeOptions, Served } from "../src/server/fastify/index.ts";
import { faultyProxy } from "./faulty-proxy.ts";
import type { FaultyProxy } from "./faulty-proxy.ts";

/** A server, the proxy before it, and who is connected. */
export interface ProxiedServer {
  /** The proxy; there once the tests begin. */
  readonly proxy: FaultyProxy;
  /** Where the server itself answers. */
  readonly serverUrl: string;
  /** Closes a client when the test has ended. */
  keep(client: HeddleClient): HeddleClient;
}

/** Starts both before the tests of a file, and mends the network behind each. */
export function proxiedServer(options: ServeOptions): ProxiedServer {
  const clients: HeddleClient[] = [];
  let open: { readonly proxy: FaultyProxy; readonly server: Served } | undefined;
  const begun = (): NonNullable<typeof open> => {
    if (open === undefined) throw new Error("the tests have not begun");
    return open;
  };
  beforeAll(async () => {
    const server = await serve({ port: 0, shutdownGraceMs: 10, ...options });
    open = { proxy: await faultyProxy(server.url), server };
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    Object.assign(open?.proxy ?? {}, { limits: {}, isStuck: false, isDown: false, cutAfterBytes: undefined });
  });
  afterAll(async () => {
    await open?.proxy.close();
    await open?.server.close();
  });
  return {
    get proxy() {
      return begun().proxy;
    },
    get serverUrl() {
      return begun().server.url;
    },
    keep(client) {
      clients.push(client);
      return client;
    },
  };
}

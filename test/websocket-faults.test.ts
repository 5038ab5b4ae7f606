/**
 * What clients that break, stall, flood and lie cost the server: nothing that stays, and nobody else. The server is a process
 * of its own; everything goes over real sockets. Two who behave watch a run all the while, over WebSocket and over SSE.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Witnesses } from "./clock-witnesses.ts";
import { FaultsServer, startRun } from "./faults-server.ts";
import { FAULTS, together } from "./socket-faults.ts";
import type { Fault } from "./socket-faults.ts";
import { SOCKET_KINDS } from "./socket-kinds.ts";

const HELD_BYTES = 5_000_000;

const FAULTS_ALONE = Object.entries(FAULTS).map(([name, fault]) => [name, fault, 1] as const);

describe.each(Object.entries(SOCKET_KINDS))("a socket of %s", (_, kind) => {
  let server: FaultsServer;
  let witnesses: Witnesses;
  let handles: string;
  let usedBytes: number;

  /** Until the server has let go of everything; only then what is still held at this end. */
  const commit = async (fault: Fault, part: number): Promise<void> => {
    witnesses.watch();
    const rest = await fault(server.url, kind, part);
    const letGo = async (): Promise<void> => {
      server.beat();
      await witnesses.answer();
      expect(await server.handles()).toBe(handles);
    };
    await vi.waitFor(letGo, { timeout: 20_000, interval: 100 });
    await witnesses.check();
    for (const { socket } of rest) socket.destroy();
  };

  beforeAll(async () => {
    server = await FaultsServer.start();
    await startRun(server.url, "brief", "so");
    await startRun(server.url, "lots", "enough");
    witnesses = await Witnesses.start(server);
    witnesses.watch();
    await witnesses.check();
    handles = await server.handles();
    // The same before, so that code and caches are there.
    await commit(together, 0.2);
    usedBytes = await server.usedBytes();
  });
  afterAll(() => {
    witnesses.end();
    server.kill();
  });

  test.each([...FAULTS_ALONE, ["all together", together, 0.2] as const])(
    "%s: costs nothing that stays, and nobody else",
    async (_name, fault, part) => {
      await commit(fault, part);
      const after = await server.usedBytes();
      expect(after - usedBytes).toBeLessThan(HELD_BYTES);
      // The least that there ever was: what the server lets go of later must hide nothing.
      usedBytes = Math.min(usedBytes, after);
    },
  );
});

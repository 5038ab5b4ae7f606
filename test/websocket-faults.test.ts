/**
 * What clients that break, stall, flood and lie cost the server: nothing that stays, and nobody else. The server is a process
 * of its own; everything goes over real sockets. Two who behave watch a run all the while, over WebSocket and over SSE.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { clientFrame, openRawSocket } from "./raw-socket.ts";
import type { RawSocket } from "./raw-socket.ts";
import { SOCKET_KINDS } from "./socket-kinds.ts";
import type { SocketKind } from "./socket-kinds.ts";
import { attachTo, framesOf } from "./sse-client.ts";
import { openSocket } from "./ws-client.ts";
import type { TestSocket } from "./ws-client.ts";

const IDLE = 1000;
const MALFORMED = 10_000;
const FLOOD = 10_000;
const HELD_BYTES = 5_000_000;

/** The server, and what it says about itself. */
class FaultsServer {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(): Promise<FaultsServer> {
    const child = fork("test/websocket-faults-child.ts", { execArgv: ["--expose-gc"] });
    const [message]: unknown[] = await once(child, "message");
    return new FaultsServer(child, String(Reflect.get(Object(message), "url")));
  }

  async #ask(question: string): Promise<object> {
    const answer = once(this.#child, "message");
    this.#child.send(question);
    const [message]: unknown[] = await answer;
    return Object(message);
  }

  /** Bytes that are in use, after everything is collected that can be. */
  async usedBytes(): Promise<number> {
    return Number(Reflect.get(await this.#ask("measure"), "usedBytes"));
  }

  /** What is open there, by kind. */
  async handles(): Promise<string> {
    return String(Reflect.get(await this.#ask("handles"), "handles"));
  }

  /** As much time goes by as clients have to answer. */
  beat(): void {
    this.#child.send("beat");
  }

  tick(): void {
    this.#child.send("tick");
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

/** A run in a thread of its agent's name. */
async function runToEnd(url: string, agent: string): Promise<void> {
  const { socket, closed, ask, next } = await openSocket(url);
  await ask({ type: "run", agent, input: { threadId: agent, runId: "r", messages: [] } });
  await next(({ type }) => type === "ended");
  socket.close();
  await closed;
}

/** Two who watch the clock, which ticks all the while. */
class Witnesses {
  readonly #server: FaultsServer;
  readonly #socket: TestSocket;
  readonly #streamed: { id: string | undefined; event: unknown }[] = [];
  readonly #left = new AbortController();
  readonly #broken: Promise<unknown>;
  #ticks = 0;
  #timer: NodeJS.Timeout | undefined;

  private constructor(server: FaultsServer, socket: TestSocket, answer: Response) {
    this.#server = server;
    this.#socket = socket;
    const stream = async (): Promise<void> => {
      for await (const { id, event } of framesOf(answer)) this.#streamed.push({ id, event });
    };
    this.#broken = Promise.race([stream(), socket.closed]);
    this.#broken.catch(() => undefined);
  }

  static async start(server: FaultsServer): Promise<Witnesses> {
    const socket = await openSocket(server.url);
    await socket.ask({ type: "run", agent: "clock", input: { threadId: "clock", runId: "r", messages: [] } });
    return new Witnesses(server, socket, await attachTo(server.url, "clock", "r"));
  }

  watch(): void {
    const tick = (): void => {
      this.#ticks += 1;
      this.#server.tick();
    };
    tick();
    this.#timer = setInterval(tick, 25);
  }

  /** Stops the clock. Rejects where one of them was cut; else both have seen every tick once and in order. */
  async check(): Promise<void> {
    clearInterval(this.#timer);
    const said = Array.from({ length: this.#ticks }, (_, index) => `${index} `).join("");
    const all = vi.waitFor(() => expect([textOf(this.#seen()), textOf(this.#streamed)]).toEqual([said, said]), 10_000);
    const cut = this.#broken.then(() => Promise.reject(new Error("A witness was cut.")));
    await Promise.race([all, cut]);
    cut.catch(() => undefined);
    expect(this.#seen()).toEqual(this.#streamed);
    expect(seqsOf(this.#streamed)).toEqual(this.#streamed.map((_, index) => index + 1));
  }

  #seen(): readonly { id: string | undefined; event: unknown }[] {
    const events = this.#socket.frames.filter(({ type }) => type === "event");
    return events.map(({ id, event }) => ({ id: String(id), event }));
  }

  /** One who is there says so. */
  async answer(): Promise<void> {
    expect(await this.#socket.ask({ type: "ping" })).toMatchObject({ type: "pong" });
  }

  end(): void {
    clearInterval(this.#timer);
    this.#left.abort();
    this.#socket.socket.terminate();
  }
}

const textOf = (seen: readonly { event: unknown }[]): string =>
  seen.map(({ event }) => String(Object(event).delta ?? "")).join("");
const seqsOf = (seen: readonly { id: string | undefined }[]): readonly number[] =>
  seen.map(({ id }) => Number(id?.split("_")[1]));

/** What a fault leaves open at our end, to be closed when the server has closed its own. */
type Rest = readonly RawSocket[];
type Fault = (url: string, kind: SocketKind) => Promise<Rest>;

const openMany = (
  count: number,
  url: string,
  { path, protocol }: SocketKind,
  options: { readonly reads?: boolean } = {},
): Promise<RawSocket[]> =>
  Promise.all(Array.from({ length: count }, () => openRawSocket(url, path, { protocol, ...options })));

/** Somebody with a proper client, who counts what fits. */
class Counting {
  readonly #socket: WebSocket;
  readonly #closed: Promise<number>;
  #counted = 0;
  #onCount: (() => void) | undefined;

  constructor(url: string, { path, protocol }: SocketKind, fits: (text: string) => boolean = () => true) {
    this.#socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, protocol);
    this.#socket.on("error", () => undefined);
    this.#closed = new Promise((resolve) => this.#socket.once("close", resolve));
    this.#socket.on("message", (data) => {
      if (fits(String(data))) this.#counted += 1;
      this.#onCount?.();
    });
  }

  /** Rejects where the socket is closed meanwhile. */
  async #unlessClosed(wanted: Promise<unknown>): Promise<void> {
    const closed = this.#closed.then((code) => {
      throw new Error(`A socket that behaved was closed with ${code}.`);
    });
    await Promise.race([wanted, closed]);
    closed.catch(() => undefined);
  }

  opened(): Promise<void> {
    return this.#unlessClosed(once(this.#socket, "open"));
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  /** Waits for so many, and leaves. There have to be exactly so many. */
  async countTo(count: number): Promise<void> {
    const counted = new Promise<void>((resolve) => {
      this.#onCount = () => (this.#counted >= count ? resolve() : undefined);
      this.#onCount();
    });
    await this.#unlessClosed(counted);
    await this.leave();
    expect(this.#counted).toBe(count);
  }

  /** Leaves as one should, and has to be there until then. */
  async leave(): Promise<void> {
    this.#socket.close(1000, "bye");
    expect(await this.#closed).toBe(1000);
  }

  /** Leaves without a word. */
  vanish(): void {
    expect(this.#socket.readyState).toBe(WebSocket.OPEN);
    this.#socket.terminate();
  }
}

const json = (value: object): Buffer => clientFrame(JSON.stringify(value));

/** Frames that break the protocol below JSON, and the code that each is closed with. */
const BROKEN: readonly (readonly [Buffer, number])[] = [
  [clientFrame("{}", { bare: true }), 1002],
  [clientFrame("{}", { first: 0x83 }), 1002],
  [clientFrame("{}", { first: 0xc1 }), 1002],
  [clientFrame("{}", { first: 0x80 }), 1002],
  [clientFrame("x".repeat(126), { first: 0x89 }), 1002],
  [clientFrame(Uint8Array.of(0x22, 0xff, 0x22)), 1007],
  [clientFrame(Uint8Array.of(0x03, 0xec), { first: 0x88 }), 1002],
];

const FAULTS: Readonly<Record<string, Fault>> = {
  /** Connections that are gone without a word, in the middle of whatever they asked for. */
  async cut(url, kind) {
    const sockets = await openMany(100, url, kind);
    for (const [index, { socket, write }] of sockets.entries()) {
      await write(json(index % 2 === 0 ? kind.watches : kind.wantsLots));
      socket.resetAndDestroy();
    }
    const seen = await openMany(20, url, kind);
    for (const { write } of seen) await write(json(kind.watches));
    await Promise.all(seen.map(({ received }) => received(3)));
    for (const { socket } of seen) socket.destroy();
    return [];
  },

  /** Clients that ask for much, and take nothing; half of them say that nothing follows from them either. */
  async stall(url, kind) {
    const sockets = await openMany(10, url, kind, { reads: false });
    for (const { write } of sockets) await write(json(kind.wantsLots));
    for (const { socket } of sockets.slice(5)) socket.end();
    return sockets;
  },

  /** Clients that read, and never say anything again: neither to a ping, nor to a close. */
  async halfOpen(url, kind) {
    const sockets = await openMany(10, url, kind);
    for (const { write } of sockets.slice(5)) await write(json(kind.watches));
    return sockets;
  },

  /** More requests than anybody needs, all of them in order. */
  async flood(url, kind) {
    const flooder = async (): Promise<void> => {
      const client = new Counting(url, kind, kind.isAnswer);
      await client.opened();
      for (let ref = 0; ref < FLOOD / 4; ref++) {
        client.send(JSON.stringify(kind.asks[ref % kind.asks.length]?.(`${ref}`)));
      }
      await client.countTo(FLOOD / 4);
    };
    await Promise.all(Array.from({ length: 4 }, flooder));
    return [];
  },

  /** Frames that are too large, or claim to be, from clients that go on nevertheless. */
  async oversize(url, kind) {
    const sockets = await openMany(20, url, kind);
    const frames = [clientFrame("x".repeat(70_000)), clientFrame("x", { claims: 2 ** 31 })];
    const flooded = sockets.map(async ({ write, socket, closed }, index) => {
      const frame = frames[index % 2] ?? frames[0];
      while (!socket.destroyed && frame !== undefined) await write(frame);
      await closed;
    });
    await Promise.all(flooded);
    return [];
  },

  /** Texts that are no requests, and frames that are none. */
  async malformed(url, kind) {
    const sender = async (): Promise<void> => {
      const client = new Counting(url, kind, kind.isError);
      await client.opened();
      for (let index = 0; index < MALFORMED / 10; index++) {
        client.send(kind.malformed[index % kind.malformed.length] ?? "");
      }
      await client.countTo(MALFORMED / 10);
    };
    await Promise.all(Array.from({ length: 10 }, sender));
    for (const [frame, code] of BROKEN) {
      const sockets = await openMany(10, url, kind);
      for (const { write } of sockets) await write(frame);
      await Promise.all(sockets.map(({ closed }) => closed));
      expect(sockets.map(({ closeCode }) => closeCode)).toEqual(sockets.map(() => code));
    }
    return [];
  },

  /** Many who do nothing; half of them leave without a word. */
  async idle(url, kind) {
    const clients: Counting[] = [];
    while (clients.length < IDLE) {
      const some = Array.from({ length: 50 }, () => new Counting(url, kind));
      await Promise.all(some.map((client) => client.opened()));
      clients.push(...some);
    }
    await Promise.all(clients.map((client, index) => (index % 2 === 0 ? client.leave() : client.vanish())));
    return [];
  },
};

/** Several faults at once. */
const together: Fault = async (url, kind) =>
  (await Promise.all(Object.values(FAULTS).map((fault) => fault(url, kind)))).flat();

describe.each(Object.entries(SOCKET_KINDS))("a socket of %s", (_, kind) => {
  let server: FaultsServer;
  let witnesses: Witnesses;
  let handles: string;
  let usedBytes: number;

  /** Until the server has let go of everything; only then what is still held at this end. */
  const commit = async (fault: Fault): Promise<void> => {
    witnesses.watch();
    const rest = await fault(server.url, kind);
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
    for (const agent of ["brief", "lots"]) await runToEnd(server.url, agent);
    witnesses = await Witnesses.start(server);
    witnesses.watch();
    await witnesses.check();
    handles = await server.handles();
    // The same before, so that code and caches are there.
    await commit(together);
    usedBytes = await server.usedBytes();
  });
  afterAll(() => {
    witnesses.end();
    server.kill();
  });

  test.each([...Object.entries(FAULTS), ["all together", together] as const])(
    "%s: costs nothing that stays, and nobody else",
    async (_name, fault) => {
      await commit(fault);
      const after = await server.usedBytes();
      expect(after - usedBytes).toBeLessThan(HELD_BYTES);
      // The least that there ever was: what the server lets go of later must hide nothing.
      usedBytes = Math.min(usedBytes, after);
    },
  );
});

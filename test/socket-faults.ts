/** What clients do that break, stall, flood and lie: a table, for any kind of socket. Each sees to it that those behave who should. */
import { equal } from "node:assert/strict";
import { once } from "node:events";
import { WebSocket } from "ws";
import { clientFrame, openRawSocket } from "./raw-socket.ts";
import type { RawSocket } from "./raw-socket.ts";
import type { SocketKind, Wish } from "./socket-kinds.ts";

/** How many there are of a whole fault. */
const IDLE = 1000;
const MALFORMED = 10_000;
const FLOOD = 8000;

/** What a fault leaves open at our end, to be closed when the server has closed its own. */
export type Rest = readonly RawSocket[];
/** Commits a fault, or a part of it: so much of what there is of it. */
export type Fault = (url: string, kind: SocketKind, part: number) => Promise<Rest>;

const openMany = (
  count: number,
  url: string,
  { path, protocol }: Pick<SocketKind, "path" | "protocol">,
): Promise<RawSocket[]> => Promise.all(Array.from({ length: count }, () => openRawSocket(url, path, { protocol })));

/** Some who wish for something; where they do not read, they have not seen anything of it. */
async function wishing(
  count: number,
  url: string,
  { protocol }: SocketKind,
  { path, frame }: Wish,
  reads = true,
): Promise<RawSocket[]> {
  const open = async (): Promise<RawSocket> => {
    const socket = await openRawSocket(url, path, { protocol, reads });
    if (frame !== undefined) await socket.write(clientFrame(JSON.stringify(frame)));
    return socket;
  };
  return Promise.all(Array.from({ length: count }, open));
}

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
    equal(this.#counted, count);
  }

  /** Leaves as one should, and has to be there until then. */
  async leave(): Promise<void> {
    this.#socket.close(1000, "bye");
    equal(await this.#closed, 1000);
  }

  /** Leaves without a word. */
  vanish(): void {
    equal(this.#socket.readyState, WebSocket.OPEN);
    this.#socket.terminate();
  }
}

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

/** The faults, by name. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  /** Connections that are gone without a word, in the middle of whatever they asked for. */
  async cut(url, kind) {
    for (const { socket } of await wishing(60, url, kind, kind.watch)) socket.resetAndDestroy();
    for (const { socket } of await wishing(4, url, kind, kind.lots)) socket.resetAndDestroy();
    const seeing = await wishing(10, url, kind, kind.watch);
    await Promise.all(seeing.map(({ received }) => received(4)));
    for (const { socket } of seeing) socket.destroy();
    return [];
  },

  /** Clients that ask for much, and take nothing; half of them say that nothing follows from them either. */
  async stall(url, kind) {
    const sockets = await wishing(6, url, kind, kind.lots, false);
    for (const { socket } of sockets.slice(3)) socket.end();
    return sockets;
  },

  /** Clients that read, and never say anything again: neither to a ping, nor to a close. */
  async halfOpen(url, kind) {
    return [...(await openMany(5, url, kind)), ...(await wishing(5, url, kind, kind.watch))];
  },

  /** More requests than anybody needs, all of them in order. */
  async flood(url, kind, part) {
    const count = (FLOOD / 4) * part;
    const flooder = async (): Promise<void> => {
      const client = new Counting(url, kind, kind.isAnswer);
      await client.opened();
      for (let ref = 0; ref < count; ref++) {
        client.send(JSON.stringify(kind.asks[ref % kind.asks.length]?.(`${ref}`)));
      }
      await client.countTo(count);
    };
    await Promise.all(Array.from({ length: 4 }, flooder));
    return [];
  },

  /** Frames that are too large, or claim to be, from clients that go on nevertheless. */
  async oversize(url, kind) {
    const sockets = await openMany(8, url, kind);
    const [tooLarge, claiming] = [clientFrame("x".repeat(70_000)), clientFrame("x", { claims: 2 ** 31 })];
    const flooded = sockets.map(async ({ write, socket, closed }, index) => {
      while (!socket.destroyed) await write(index % 2 === 0 ? tooLarge : claiming);
      await closed;
    });
    await Promise.all(flooded);
    return [];
  },

  /** Texts that are no requests, and frames that are none. */
  async malformed(url, kind, part) {
    const count = (MALFORMED / 10) * part;
    const sender = async (): Promise<void> => {
      const client = new Counting(url, kind, kind.isError);
      await client.opened();
      for (let index = 0; index < count; index++) {
        client.send(kind.malformed[index % kind.malformed.length] ?? "");
      }
      await client.countTo(count);
    };
    await Promise.all(Array.from({ length: 10 }, sender));
    for (const [frame, code] of BROKEN) {
      const sockets = await openMany(10, url, kind);
      for (const { write } of sockets) await write(frame);
      await Promise.all(sockets.map(({ closed }) => closed));
      for (const { closeCode } of sockets) equal(closeCode, code);
    }
    return [];
  },

  /** Many who do nothing; half of them leave without a word. */
  async idle(url, kind, part) {
    const clients: Counting[] = [];
    while (clients.length < IDLE * part) {
      const some = Array.from({ length: 50 }, () => new Counting(url, kind));
      await Promise.all(some.map((client) => client.opened()));
      clients.push(...some);
    }
    await Promise.all(clients.map((client, index) => (index % 2 === 0 ? client.leave() : client.vanish())));
    return [];
  },
};

/** All of them at once. */
export const together: Fault = async (url, kind, part) =>
  (await Promise.all(Object.values(FAULTS).map((fault) => fault(url, kind, part)))).flat();

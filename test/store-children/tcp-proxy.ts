/**
 * A bad network between `pg` and its server: everything goes through, until it does not.
 *
 * An answer that is cut is a connection that breaks after the server has worked and before anybody hears of it: what was
 * asked for has happened. One that is kept back leaves the connection open: nobody is told that anything is wrong.
 */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Server, Socket } from "node:net";

/** What becomes of an answer. */
export type Fate = "deliver" | "cut" | "keep";

/** A proxy at work. */
export class TcpProxy {
  /** Decides what becomes of the answer to a question; change it at any time. */
  fate: (question: Buffer) => Fate = () => "deliver";
  /** How many answers were lost. */
  cuts = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;
  readonly #url: URL;

  private constructor(server: Server, target: URL) {
    this.#server = server;
    this.#target = target;
    this.#url = new URL(target);
    const address = server.address();
    this.#url.host = `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
    server.on("connection", (client) => this.#connected(client));
  }

  /** A proxy in front of the database of a URL. */
  static async to(url: string): Promise<TcpProxy> {
    const server = createServer({ noDelay: true }).listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TcpProxy(server, new URL(url));
  }

  /** The same database, through the proxy. */
  get url(): string {
    return this.#url.href;
  }

  /** Cuts every connection. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#server.close();
    this.cutAll();
    await once(this.#server, "close");
  }

  #connected(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname).setNoDelay(true);
    let question: Buffer = Buffer.alloc(0);
    let answered = true;
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (data) => {
      question = answered ? data : Buffer.concat([question, data]);
      answered = false;
      server.write(data);
    });
    server.on("data", (data) => {
      answered = true;
      const fate = this.fate(question);
      if (fate === "deliver") client.write(data);
      if (fate !== "cut") return;
      this.cuts++;
      client.destroy();
      server.destroy();
    });
  }
}

/** Two who behave, on a server that others maltreat: they watch one run all the while, over WebSocket and over SSE. */
import { deepEqual } from "node:assert/strict";
import { vi } from "vitest";
import type { FaultsServer } from "./faults-server.ts";
import { attachTo, framesOf } from "./sse-client.ts";
import { openSocket } from "./ws-client.ts";
import type { TestSocket } from "./ws-client.ts";

/** Two who watch the clock, which ticks all the while. */
export class Witnesses {
  readonly #server: FaultsServer;
  readonly #socket: TestSocket;
  readonly #streamed: { id: string | undefined; event: unknown }[] = [];
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

  /** Starts the clock's run, which both follow. */
  static async start(server: FaultsServer): Promise<Witnesses> {
    const socket = await openSocket(server.url);
    await socket.ask({ type: "run", agent: "clock", input: { threadId: "clock", runId: "r", messages: [] } });
    return new Witnesses(server, socket, await attachTo(server.url, "clock", "r"));
  }

  /** The clock ticks, from now on. */
  watch(): void {
    const tick = (): void => {
      this.#ticks += 1;
      this.#server.tick();
    };
    tick();
    this.#timer = setInterval(tick, 50);
  }

  /** Stops the clock. Rejects where one of them was cut, or has not seen every tick once and in order. */
  async check(): Promise<void> {
    clearInterval(this.#timer);
    const said = Array.from({ length: this.#ticks }, (_, index) => `${index} `).join("");
    const all = vi.waitFor(() => deepEqual([textOf(this.#seen()), textOf(this.#streamed)], [said, said]), 10_000);
    const cut = this.#broken.then(() => Promise.reject(new Error("A witness was cut.")));
    await Promise.race([all, cut]);
    cut.catch(() => undefined);
    deepEqual(this.#seen(), this.#streamed);
    const seqs = this.#streamed.map(({ id }) => Number(id?.split("_")[1]));
    deepEqual(
      seqs,
      Array.from(seqs.keys(), (index) => index + 1),
    );
  }

  #seen(): readonly { id: string | undefined; event: unknown }[] {
    const events = this.#socket.frames.filter(({ type }) => type === "event");
    return events.map(({ id, event }) => ({ id: String(id), event }));
  }

  /** One who is there says so. */
  async answer(): Promise<void> {
    const { type } = await this.#socket.ask({ type: "ping" });
    deepEqual(type, "pong");
  }

  /** Both leave. */
  end(): void {
    clearInterval(this.#timer);
    this.#socket.socket.terminate();
  }
}

const textOf = (seen: readonly { event: unknown }[]): string =>
  seen.map(({ event }) => String(Object(event).delta ?? "")).join("");

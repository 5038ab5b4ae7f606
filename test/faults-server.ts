/** The server whose sockets are maltreated, in a process of its own, and what it says about itself. */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { openSocket } from "./ws-client.ts";

/** The server, and what it says about itself. */
export class FaultsServer {
  /** Where it answers. */
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Starts it. */
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

  /** The clock says its next number. */
  tick(): void {
    this.#child.send("tick");
  }

  /** Ends it. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

/** Starts a run in a thread of its agent's name, and follows it to where it says something. */
export async function startRun(url: string, agent: string, word: string): Promise<void> {
  const { socket, closed, ask, next } = await openSocket(url);
  await ask({ type: "run", agent, input: { threadId: agent, runId: "r", messages: [] } });
  await next(({ event }) => Object(event).delta === word);
  socket.close();
  await closed;
}

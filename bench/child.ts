/** Servers that are measured run in processes of their own, so that nothing of whoever measures is counted. */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** A server in another process. Asked one thing at a time. */
export class Child {
  /** Where it answers. */
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, url: string) {
    this.#process = process;
    this.url = url;
  }

  /** Starts a script, and waits until it listens. */
  static async start(script: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Child> {
    const child = fork(new URL(script, import.meta.url), args, {
      execArgv: ["--expose-gc"],
      env: { ...process.env, NODE_ENV: "production", ...env },
    });
    return new Child(child, String(await told(child, "url")));
  }

  /** Asks for a number. */
  async ask(name: string): Promise<number> {
    const answer = told(this.#process, name);
    this.#process.send(name);
    return Number(await answer);
  }

  /** Ends it. */
  async stop(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.disconnect();
    await ended;
  }
}

/** Waits for a message, and takes a member out of it. */
async function told(child: ChildProcess, member: string): Promise<unknown> {
  const stop = new AbortController();
  const ended = once(child, "exit", { signal: stop.signal }).then(([code]) => {
    throw new Error(`A server that was to be measured ended with ${String(code)}.`);
  });
  try {
    const [message]: unknown[] = await Promise.race([once(child, "message", { signal: stop.signal }), ended]);
    return Reflect.get(Object(message), member);
  } finally {
    ended.catch(() => undefined);
    stop.abort();
  }
}

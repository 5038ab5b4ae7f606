/**
 * A child process of a test, spoken to in lines of JSON: orders go in, reports come out. Everything that it reported is
 * known once it is gone, however it went.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { build } from "esbuild";
import { linesOf } from "./orders.ts";

/**
 * Bundles a program of this folder, with the writer thread of SQLite beside it, into a folder that anybody may read. A
 * child starts several times faster from one file than from a hundred.
 */
export async function bundled(name: string, folder: string): Promise<string> {
  const sources = [join(import.meta.dirname, `${name}.ts`), join(SOURCE, "store", "sqlite", "writer-thread.ts")];
  await build({
    entryPoints: sources,
    entryNames: "[name]",
    outdir: folder,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22",
    external: ["pg-native"],
    // `pg` and what it uses call `require`.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "warning",
  });
  return join(folder, `${name}.js`);
}

const SOURCE = join(import.meta.dirname, "..", "..", "src");

/** What a child reports. */
export interface Report {
  readonly type: string;
}

/** A child at work. */
export class Child<R extends Report> {
  /** What it reported so far. */
  readonly reports: R[] = [];
  readonly #process: ChildProcess;
  readonly #waiting = new Set<() => void>();
  readonly #gone: Promise<void>;
  #isGone = false;

  /** Starts a program that was bundled. */
  constructor(program: string, config: unknown = {}, identity: { readonly uid?: number; readonly gid?: number } = {}) {
    const child = spawn(process.execPath, [program, JSON.stringify(config)], {
      stdio: ["pipe", "pipe", "inherit"],
      ...identity,
    });
    this.#process = child;
    // Whoever writes to a child that was killed learns it from its reports.
    child.stdin.on("error", () => undefined);
    this.#gone = this.#end(child, child.stdout);
  }

  /** Gives an order. */
  order(order: object): void {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  /** The first report of a type, waiting for it. Throws where the child is gone without it. */
  async report<T extends R["type"]>(type: T): Promise<Extract<R, { type: T }>> {
    const is = (report: R): report is Extract<R, { type: T }> => report.type === type;
    for (;;) {
      const found = this.reports.find(is);
      if (found !== undefined) return found;
      const trouble = this.reports.find((each) => each.type === "trouble");
      if (trouble !== undefined) throw new Error(`The child met trouble: ${JSON.stringify(trouble)}`);
      if (this.#isGone) throw new Error(`The child ended without ${type}: ${JSON.stringify(this.reports.slice(-3))}`);
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  /** All reports of a type. */
  all<T extends R["type"]>(type: T): readonly Extract<R, { type: T }>[] {
    return this.reports.filter((report): report is Extract<R, { type: T }> => report.type === type);
  }

  /** Sends a signal. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#process.kill(signal);
  }

  /** Ends it as a power cut would, and waits until everything that it said is read. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#gone;
  }

  /** Waits until it has ended by itself. */
  async ended(): Promise<number | null> {
    await this.#gone;
    return this.#process.exitCode;
  }

  async #end(child: ChildProcess, stdout: AsyncIterable<Buffer>): Promise<void> {
    await Promise.all([once(child, "close"), this.#listen(stdout)]);
    this.#isGone = true;
    this.#wake();
  }

  async #listen(stdout: AsyncIterable<Buffer>): Promise<void> {
    for await (const line of linesOf(stdout)) {
      this.reports.push(JSON.parse(line));
      this.#wake();
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

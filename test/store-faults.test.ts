/**
 * What goes wrong around a store: a full disk, files that cannot be written or are damaged, connections that break in the
 * middle of an append, a database that restarts under load, a second writer on one file.
 *
 * Each time the error says what it is by its code, who writes recovers or stops cleanly, and nothing that was
 * acknowledged is lost.
 */
import { chmod, copyFile, mkdir, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { HeddleError } from "heddle/protocol";
import type { Event } from "heddle/protocol";
import { Committer, readAll, settleRun } from "heddle/store";
import type { CommitterOptions, RunWriter, Store } from "heddle/store";
import { postgresStore } from "heddle/store/postgres";
import { sqliteStore } from "heddle/store/sqlite";
import { createPreludeState, stepPrelude } from "heddle/stream";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Random } from "../src/testing/store-contract/random.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";
import { Child, bundled } from "./store-children/child.ts";
import type { FaultConfig, FaultReport } from "./store-children/fault-child.ts";
import { TENANT } from "./store-children/run-script.ts";
import { TcpProxy } from "./store-children/tcp-proxy.ts";

/** What is damaged, and how: the same in each run. */
const SEED = Number(process.env["HEDDLE_TEST_SEED"] ?? 1);
const NOBODY = 65_534;

let server: RealPostgres;
let root: string;
let program: string;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await realPostgres();
  root = await mkdtemp(join(tmpdir(), "heddle-faults-"));
  await chmod(root, 0o755);
  program = await bundled("fault-child", join(root, "program"));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
afterAll(async () => {
  await server.stop();
  await rm(root, { recursive: true, force: true });
});

const closing = (store: Store): Store => {
  cleanups.push(() => store.close());
  return store;
};

const folder = (): Promise<string> => mkdtemp(join(root, "case-"));

const THREAD = { tenant: TENANT, threadId: "t" } as const;

const text = (event: object): string => JSON.stringify(event);

/** A run that is written through a committer, and what was acknowledged of it. */
interface Write {
  readonly committer: Committer;
  readonly writer: RunWriter;
  readonly acked: string[];
  readonly lost: unknown[];
}

async function startRun(store: Store, runId: string, options: CommitterOptions = {}): Promise<Write> {
  const started: Event = { type: "RUN_STARTED", threadId: "t", runId };
  const state = createPreludeState();
  stepPrelude(state, started);
  const request = { ...THREAD, runId, agent: "weaver", leaseMs: 60_000 };
  const claimed = await store.claim({ ...request, events: [text(started)] });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const acked = [text(started)];
  const lost: unknown[] = [];
  const committer = new Committer(store, { lingerMs: 1, ...options });
  const writer = committer.writer(claimed.lease, state, {
    committed: (_, events) => void acked.push(...events),
    lost: (error) => void lost.push(error),
  });
  return { committer, writer, acked, lost };
}

async function textsOf(store: Store, runId: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const { json } of readAll(store, THREAD, { runIds: [runId] })) texts.push(json);
  return texts;
}

const custom = (index: number, size = 10): Event => ({ type: "CUSTOM", name: `e${index}`, value: noise(index, size) });

/** Text that does not compress well. */
function noise(seed: number, length: number): string {
  const random = new Random(seed);
  let made = "";
  while (made.length < length) made += random.below(36 ** 5).toString(36);
  return made.slice(0, length);
}

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "fine",
    (error: unknown) => (error instanceof HeddleError ? error.code : `untyped: ${String(error)}`),
  );

/** Everything that a store tells. */
async function everything(store: Store): Promise<string> {
  const { threads } = await store.listThreads({ tenant: TENANT });
  const told: unknown[] = [];
  for (const thread of threads) {
    const runs = await store.runs(thread);
    const events = [];
    for await (const event of readAll(store, thread)) events.push(event);
    const kept = [];
    for (const run of runs) {
      kept.push(await store.branch(run), await store.snapshot(run), await store.compacted(run));
    }
    // Texts about a thread have no checksum; what is no JSON any more is found all the same.
    const { metadata: _, ...about } = thread;
    told.push({ about, runs, events, kept });
  }
  return JSON.stringify(told);
}

/** A database with rows of all kinds and sizes. */
async function intact(): Promise<{ readonly file: string; readonly told: string }> {
  const file = join(await folder(), "heddle.db");
  const store = sqliteStore(file);
  for (let index = 0; index < 6; index++) {
    const { writer, committer } = await startRun(store, `r${index}`);
    const { runId } = writer.lease;
    for (let count = 0; count < 30; count++) {
      await writer.write(custom(count, count % 10 === 0 ? 9000 : 50));
      if (count % 5 === 0) await writer.flush();
    }
    await writer.write({ type: "STATE_SNAPSHOT", snapshot: { noise: noise(index, 5000) } });
    await writer.write({ type: "RUN_FINISHED", threadId: "t", runId });
    await writer.flush();
    if (index % 2 === 0) await settleRun(store, { ...THREAD, runId }, writer.written());
    await committer.close();
  }
  await store.updateThread(THREAD, { title: "intact", metadata: { text: noise(9, 6000) } });
  const told = await everything(store);
  await store.close();
  return { file, told };
}

async function damaged(file: string, position: number, bytes: Buffer): Promise<string> {
  const copy = join(await folder(), "heddle.db");
  await copyFile(file, copy);
  const handle = await open(copy, "r+");
  await handle.write(bytes, 0, bytes.length, position);
  await handle.close();
  return copy;
}

async function outcome(file: string, readOnly: boolean): Promise<string> {
  const store = sqliteStore(file, { readOnly });
  try {
    return await everything(store);
  } catch (error) {
    return error instanceof HeddleError ? error.code : `untyped: ${String(error)}`;
  } finally {
    await store.close();
  }
}

async function through(schema: string): Promise<{ readonly store: Store; readonly network: TcpProxy }> {
  const network = await TcpProxy.to(server.url);
  cleanups.push(() => network.close());
  const store = closing(postgresStore(network.url, { schema, listen: false, timeoutMs: 2000 }));
  return { store, network };
}

async function other(
  file: string,
  runId: string,
): Promise<{ readonly child: Child<FaultReport>; readonly report: FaultReport }> {
  const child = new Child<FaultReport>(program, { place: { engine: "sqlite", file }, runId });
  cleanups.push(() => child.kill());
  return { child, report: await Promise.race([child.report("claimed"), child.report("failed")]) };
}

async function written(): Promise<{ readonly file: string; readonly dir: string }> {
  const dir = await folder();
  const file = join(dir, "heddle.db");
  const store = sqliteStore(file);
  await startRun(store, "r1");
  await store.close();
  return { file, dir };
}

describe("a disk that is full", () => {
  test("the writer is told store-full, keeps what was acknowledged, and goes on where there is room", async () => {
    const file = join(await folder(), "heddle.db");
    const small = sqliteStore(file, { maxFileBytes: 1 << 18 });
    const { writer, acked, lost, committer } = await startRun(small, "r1", { giveUpMs: 100 });
    const write = async (): Promise<void> => {
      for (let index = 0; ; index++) {
        await writer.write(custom(index, 5000));
        await writer.flush();
      }
    };
    expect(await codeOf(write())).toBe("store-full");
    expect(lost.map((error) => error instanceof HeddleError && error.code)).toEqual(["store-full"]);
    expect(acked.length).toBeGreaterThan(5);
    // Reading goes on, and so does what needs no room.
    expect(await textsOf(small, "r1")).toEqual(acked);
    await committer.close();
    await small.close();

    const roomy = closing(sqliteStore(file));
    expect(await textsOf(roomy, "r1")).toEqual(acked);
    const [lease] = await roomy.takeOver({ leaseMs: 1000 });
    expect(lease?.runId).toBe("r1");
    const again = await startRun(roomy, "r2");
    for (let index = 0; index < 100; index++) await again.writer.write(custom(index, 5000));
    await again.writer.flush();
    expect(await textsOf(roomy, "r2")).toEqual(again.acked);
    expect(again.acked.length).toBe(101);
  });

  test("a committer waits for room, and nothing is lost or doubled", async () => {
    const file = join(await folder(), "heddle.db");
    const store = closing(sqliteStore(file, { maxFileBytes: 1 << 18 }));
    const other = { ...THREAD, threadId: "filler" };
    const filled = await store.claim({ ...other, runId: "f", agent: "weaver", leaseMs: 60_000, events: ["{}"] });
    if (filled.type !== "claimed") throw new Error(filled.type);
    const fill = async (): Promise<void> => {
      for (let number = 1; ; number++) {
        await store.append([{ lease: filled.lease, number, events: [text(custom(number, 20_000))] }]);
      }
    };
    const told = Promise.withResolvers<unknown>();
    const { writer, acked, committer } = await startRun(store, "r1", { onTrouble: told.resolve });
    expect(await codeOf(fill())).toBe("store-full");
    for (let index = 0; index < 10; index++) await writer.write(custom(index, 5000));
    expect(await told.promise).toMatchObject({ code: "store-full", retryable: true });
    // Somebody makes room.
    await store.deleteThread(other);
    await writer.flush();
    expect(acked.length).toBe(11);
    expect(await textsOf(store, "r1")).toEqual(acked);
    await committer.close();
  });
});

describe("what cannot be written", () => {
  const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

  async function tryAs(file: string, options: { readonly readOnly?: boolean } = {}): Promise<FaultReport> {
    const config: FaultConfig = { place: { engine: "sqlite", file, ...options }, runId: "theirs" };
    const child = new Child<FaultReport>(program, config, asNobody);
    cleanups.push(() => child.kill());
    return Promise.race([child.report("failed"), child.report("claimed")]);
  }

  test("a folder that this user may not write to", async () => {
    const { file, dir } = await written();
    await chmod(dir, 0o555);
    expect(await tryAs(file)).toMatchObject({ type: "failed", code: "store-read-only" });
    expect(await tryAs(join(dir, "new.db"))).toMatchObject({ type: "failed", code: "store-read-only" });
  });

  test("a file that this user may not write to", async () => {
    const { file, dir } = await written();
    await rm(`${file}-lock`, { force: true });
    await chmod(dir, 0o777);
    await chmod(file, 0o444);
    expect(await tryAs(file)).toMatchObject({ type: "failed", code: "store-read-only" });
    const store = closing(sqliteStore(file));
    expect((await textsOf(store, "r1")).length).toBe(1);
  });

  test("a file that this user may not read", async () => {
    const { file, dir } = await written();
    await chmod(dir, 0o777);
    await chmod(file, 0o000);
    expect(await tryAs(file)).toMatchObject({ type: "failed", code: "store-read-only" });
    expect(await tryAs(file, { readOnly: true })).toMatchObject({ type: "failed", code: "store-read-only" });
  });

  test("a folder that is not there, or is a file", async () => {
    const dir = await folder();
    await writeFile(join(dir, "file"), "");
    for (const file of [join(dir, "none", "heddle.db"), join(dir, "file", "heddle.db"), dir]) {
      expect(await codeOf(closing(sqliteStore(file)).open())).toBe("store-read-only");
    }
    const made = closing(sqliteStore(join(dir, "later", "heddle.db")));
    expect(await codeOf(made.open())).toBe("store-read-only");
    // Whoever repairs the cause may try again.
    await mkdir(join(dir, "later"));
    expect(await codeOf(made.open())).toBe("fine");
  });

  test("a database that is read-only to us", async () => {
    const schema = `readonly_${process.pid}`;
    const maker = closing(postgresStore(server.url, { schema }));
    const { acked } = await startRun(maker, "r1");
    const standby = `${server.url}?options=-c%20default_transaction_read_only%3Don`;
    const store = closing(postgresStore(standby, { schema, listen: false }));
    expect(await textsOf(store, "r1")).toEqual(acked);
    const request = { ...THREAD, runId: "r2", agent: "weaver", leaseMs: 1000, events: ["{}"] } as const;
    expect(await codeOf(store.claim(request))).toBe("store-read-only");
    const fresh = closing(postgresStore(standby, { schema: `${schema}_new`, listen: false }));
    expect(await codeOf(fresh.open())).toBe("store-read-only");
  });
});

describe("a file that is damaged", () => {
  test(`pages that were overwritten are found, or were not needed (seed ${SEED})`, async () => {
    const { file, told } = await intact();
    const random = new Random(SEED);
    const { size } = await stat(file);
    let found = 0;
    for (let page = 0; page < size / 4096; page++) {
      const garbage = page % 2 === 0 ? Buffer.alloc(4096) : Buffer.from(noise(random.below(1e9), 4096));
      const copy = await damaged(file, page * 4096, garbage);
      const outcomes = [await outcome(copy, true), page % 10 === 1 ? await outcome(copy, false) : "store-corrupt"];
      found += outcomes.filter((each) => each === "store-corrupt").length;
      expect(outcomes.map((each) => (each === told ? "store-corrupt" : each))).toEqual([
        "store-corrupt",
        "store-corrupt",
      ]);
    }
    expect(found).toBeGreaterThan(size / 4096);
  });

  test("a file that was cut off", async () => {
    const { file, told } = await intact();
    const { size } = await stat(file);
    for (const length of [100, 512, 4096, 5000, Math.floor(size / 2), size - 4096]) {
      const copy = join(await folder(), "heddle.db");
      await copyFile(file, copy);
      await truncate(copy, length);
      for (const readOnly of [true, false]) {
        expect([told, "store-corrupt"]).toContain(await outcome(copy, readOnly));
      }
    }
  });

  test("a file that is no database, and a database of something else, are refused and left as they are", async () => {
    const dir = await folder();
    const [words, foreign] = [join(dir, "words.db"), join(dir, "foreign.db")];
    await writeFile(words, noise(1, 9000));
    const database = new DatabaseSync(foreign);
    database.exec("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
    database.close();
    for (const file of [words, foreign]) {
      const before = await readFile(file);
      for (const readOnly of [true, false]) {
        expect(await codeOf(closing(sqliteStore(file, { readOnly })).open())).toBe("store-corrupt");
      }
      expect(before.equals(await readFile(file))).toBe(true);
    }
  });

  test("a file that is damaged under whoever reads it", async () => {
    const { file } = await intact();
    const store = closing(sqliteStore(file, { readOnly: true, pollMs: 1 }));
    await store.open();
    const called = Promise.withResolvers<void>();
    store.watch(THREAD, called.resolve);
    await writeFile(file, noise(2, 4096));
    // The poll meets the damage first: it wakes whoever watches, and does not take the process with it.
    await called.promise;
    expect(await codeOf(everything(store))).toBe("store-corrupt");
  });
});

describe("a connection that breaks", () => {
  test("in the middle of an append: what was committed is not written twice, what was not is written", async () => {
    const { store, network } = await through(`cut_${process.pid}`);
    let troubles = 0;
    const { writer, acked, committer } = await startRun(store, "r1", { onTrouble: () => troubles++ });
    const random = new Random(SEED);
    const said = acked.slice();
    for (let index = 0; index < 60; index++) {
      // Before the server has worked, after it, or not at all.
      const [before, behind] = [random.chance(15), random.chance(25)];
      network.fate = () => {
        network.fate = () => "deliver";
        return behind ? "cut" : "deliver";
      };
      const event = custom(index);
      said.push(text(event));
      await writer.write(event);
      if (before) network.cutAll();
      await writer.flush();
    }
    expect(troubles).toBeGreaterThan(5);
    expect(acked).toEqual(said);
    expect(await textsOf(store, "r1")).toEqual(said);
    await committer.close();
  });

  test("and stays away: a typed error, and the writer stops cleanly", async () => {
    const { store, network } = await through(`away_${process.pid}`);
    const { writer, acked, lost, committer } = await startRun(store, "r1", { giveUpMs: 200 });
    await writer.write(custom(1));
    await writer.flush();
    network.fate = () => "cut";
    await writer.write(custom(2));
    expect(await codeOf(writer.flush())).toBe("store-unavailable");
    expect(lost.map((error) => error instanceof HeddleError && error.code)).toEqual(["store-unavailable"]);
    expect(writer.over).toBe(true);
    expect(() => writer.write(custom(3))).toThrow(expect.objectContaining({ code: "store-unavailable" }));
    expect(await codeOf(store.thread(THREAD))).toBe("store-unavailable");
    await committer.close();
    network.fate = () => "deliver";
    // The store itself comes back. What got no answer may be there or not; what was acknowledged is.
    expect((await textsOf(store, "r1")).slice(0, acked.length)).toEqual(acked);
  });

  test("a database that is not there, a wrong name", async () => {
    const nowhere = new URL(server.url);
    nowhere.port = "1";
    const unnamed = new URL(server.url);
    unnamed.pathname = "/nothing";
    for (const url of [nowhere.href, unnamed.href]) {
      expect(await codeOf(closing(postgresStore(url, { timeoutMs: 1000 })).open())).toBe("store-unavailable");
    }
  });

  test("a database that crashes and restarts under load", async () => {
    const schema = `restart_${process.pid}`;
    const own = await realPostgres({ own: true });
    cleanups.push(() => own.stop());
    const store = closing(postgresStore(own.url, { schema, pollMs: 10 }));
    let troubles = 0;
    const options = { onTrouble: () => troubles++ };
    const runs = await Promise.all(["r1", "r2", "r3", "r4"].map((runId) => startRun(store, runId, options)));
    const watched = postgresStore(own.url, { schema, pollMs: 10 });
    closing(watched);
    await watched.open();
    const said = runs.map(({ acked }) => acked.slice());
    const write = async (from: number, through: number): Promise<void> => {
      await Promise.all(
        runs.map(async ({ writer }, run) => {
          for (let index = from; index < through; index++) {
            said[run]?.push(text(custom(index)));
            await writer.write(custom(index));
            if (index % 4 === 0) await writer.flush();
          }
          await writer.flush();
        }),
      );
    };
    await write(0, 20);
    for (let round = 1; round <= 2; round++) {
      const writing = write(round * 20, round * 20 + 20);
      await own.restart();
      await writing;
    }
    expect(troubles).toBeGreaterThan(0);
    for (const [index, { writer, acked, committer }] of runs.entries()) {
      expect(acked).toEqual(said[index]);
      expect(await textsOf(store, writer.lease.runId)).toEqual(acked);
      await committer.close();
    }
    // Whoever only watches hears of what comes after the restart.
    const called = Promise.withResolvers<void>();
    watched.watch(THREAD, called.resolve);
    await write(60, 61);
    await called.promise;
  });
});

describe("a second writer on one file", () => {
  test("is refused with store-locked, here and in another process, and let in when the first is gone", async () => {
    const file = join(await folder(), "heddle.db");
    const first = sqliteStore(file);
    const { acked } = await startRun(first, "r1");
    expect(await codeOf(closing(sqliteStore(file)).open())).toBe("store-locked");
    expect((await other(file, "r2")).report).toMatchObject({ type: "failed", code: "store-locked" });
    // Readers are let in.
    expect(await textsOf(closing(sqliteStore(file, { readOnly: true })), "r1")).toEqual(acked);
    await first.close();
    expect((await other(file, "r3")).report).toEqual({ type: "claimed", how: "claimed" });
  });

  test("opens at once when the first was killed", async () => {
    const file = join(await folder(), "heddle.db");
    const { child, report } = await other(file, "r1");
    expect(report).toEqual({ type: "claimed", how: "claimed" });
    const store = closing(sqliteStore(file));
    expect(await codeOf(store.open())).toBe("store-locked");
    await child.kill();
    expect(await codeOf(store.open())).toBe("fine");
    expect(await textsOf(store, "r1")).toEqual(["{}"]);
    // The lease of the dead expired with it.
    expect((await store.takeOver({ leaseMs: 1000 })).map(({ runId }) => runId)).toEqual(["r1"]);
  });

  test("a writer that is only paused keeps the file", async () => {
    const file = join(await folder(), "heddle.db");
    const { child } = await other(file, "r1");
    child.signal("SIGSTOP");
    expect(await codeOf(closing(sqliteStore(file)).open())).toBe("store-locked");
  });
});

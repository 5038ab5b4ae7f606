/** `heddle threads --server`: the same commands through a running server. */
import { createServer } from "node:http";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { fillThread, said, wholeRun } from "../../test/stored-thread.ts";
import { serve } from "../server/fastify/index.ts";
import type { Served } from "../server/fastify/index.ts";
import type { Store } from "../store/index.ts";
import { sqliteStore } from "../store/sqlite/index.ts";
import { main } from "./main.ts";

const KEY = { tenant: "default", threadId: "t1" };

let out = "";
let err = "";
let folder = "";
let store: Store;
let server: Served;

beforeEach(async () => {
  vi.spyOn(console, "log").mockImplementation((line: unknown) => void (out += `${String(line)}\n`));
  vi.spyOn(console, "error").mockImplementation((line: unknown) => void (err += `${String(line)}\n`));
  folder = await mkdtemp(join(tmpdir(), "heddle-server-threads-"));
  store = sqliteStore(join(folder, "heddle.db"));
  server = await serve({ agents: [], store, port: 0, host: "127.0.0.1" });
  await fillThread(store, KEY);
});

afterEach(async () => {
  vi.restoreAllMocks();
  await server.close();
  await store.close();
  await rm(folder, { recursive: true });
});

const TOKEN = "a-key-that-may-do-it-all";

/** Of a server that asks who calls, with what is shown to it. */
async function asked(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const operator = { key: TOKEN, roles: ["operator"] } as const;
  const guarded = await serve({ agents: [], store, port: 0, host: "127.0.0.1", auth: { keys: { operator } } });
  onTestFinished(() => guarded.close());
  out = err = "";
  const code = await main(["threads", ...args, "--server", guarded.url], env);
  return { code, out, err };
}

async function told(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  out = err = "";
  const code = await main(["threads", ...args], {});
  return { code, out, err };
}

const through = (...args: readonly string[]) => told(...args, "--server", server.url);
/** Reading works beside the server too: what it says is what the server has to say. */
const beside = (...args: readonly string[]) => told(...args, "--store", `sqlite:${join(folder, "heddle.db")}`);

const path = (): string => join(folder, "t1.ndjson");

/** A server that is not one of ours. */
async function stranger(status: number, body: string): Promise<string> {
  const other = createServer((_, response) => response.writeHead(status).end(body)).listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port }: AddressInfo = Object(other.address());
  return `http://127.0.0.1:${port}`;
}

describe("through a server", () => {
  test("ls and show say what they say beside it", async () => {
    await wholeRun(store, { ...KEY, threadId: "a b/ü" }, "r1", {}, said("m", "Hi"));
    for (const args of [
      ["ls"],
      ["ls", "--limit", "1"],
      ["ls", "--query", "TITLE"],
      ["ls", "--archived"],
      ["show", "t1"],
    ]) {
      expect([args, await through(...args)]).toEqual([args, await beside(...args)]);
    }
    expect((await through("show", "a b/ü")).out).toContain("r1  finished  writer  (events 1 to 5");
    const [server1, beside1] = [await through("show", "t1", "--json"), await beside("show", "t1", "--json")];
    expect(JSON.parse(beside1.out)).toMatchObject(JSON.parse(server1.out));
    expect(JSON.parse(server1.out)).toMatchObject({
      threadId: "t1",
      tail: 31,
      open: [{ runId: "r4" }, { runId: "r5" }],
    });
    const lines = (await through("ls", "--json")).out.trimEnd().split("\n");
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { threadId: "a b/ü" },
      { status: "interrupted" },
    ]);
  });

  test("export, import and rm: where the file itself is locked", async () => {
    expect(await through("export", "t1", "-o", path())).toMatchObject({ code: 0, err: "" });
    const lines = await readFile(path(), "utf8");
    await beside("export", "t1", "-o", `${path()}.2`);
    expect(lines).toBe(await readFile(`${path()}.2`, "utf8"));

    expect((await beside("import", path(), "--as", "copy")).err).toContain("go through it with --server <url>.");
    const imported = await through("import", path(), "--as", "copy");
    expect(imported).toMatchObject({ code: 0, out: "Imported copy: 5 runs, 15 events\n" });
    expect(JSON.parse((await through("import", path(), "--as", "c2", "--json")).out)).toMatchObject({ threadId: "c2" });
    expect(await through("import", path())).toMatchObject({ code: 1, err: expect.stringContaining("(thread-exists)") });

    expect((await through("rm", "t1")).err).toContain("say --yes");
    expect(await through("rm", "t1", "--yes")).toMatchObject({ code: 0, out: "Deleted.\n" });
    expect(await through("rm", "t1", "--yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("(thread-unknown)"),
    });
    expect(await store.thread(KEY)).toBeUndefined();
    expect(await through("import", path())).toMatchObject({ code: 0 });
    expect((await store.thread(KEY))?.tail).toBe(31);
  });

  test("a broken file is refused with its line, and a thread that is not there leaves no file", async () => {
    await writeFile(path(), "{\n");
    expect(await through("import", path())).toMatchObject({
      code: 1,
      err: expect.stringContaining("(import-invalid)"),
    });
    await rm(path());
    expect(await through("export", "nobody", "-o", path())).toMatchObject({ code: 1 });
    expect(await readdir(folder)).not.toContain("t1.ndjson");
  });

  test("a server that does not answer, or is none of ours, is said to be so", async () => {
    const { url } = server;
    await server.close();
    expect(await told("ls", "--server", url)).toMatchObject({
      code: 1,
      err: expect.stringContaining("does not answer"),
    });
    const other = await stranger(404, "<html>");
    expect(await told("ls", "--server", other)).toMatchObject({
      code: 2,
      err: expect.stringContaining("expected a Heddle server, received an answer of status 404"),
    });
  });
});

test("a server that asks who calls is shown HEDDLE_TOKEN, and says what is missing without it", async () => {
  expect(await asked({ HEDDLE_TOKEN: TOKEN }, "ls")).toMatchObject({ code: 0, out: expect.stringContaining("t1") });
  for (const env of [{}, { HEDDLE_TOKEN: "" }, { HEDDLE_TOKEN: "another-key-altogether" }]) {
    const refused = await asked(env, "ls");
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain("Authorization: Bearer");
    expect(refused.err).not.toContain("another-key");
  }
});

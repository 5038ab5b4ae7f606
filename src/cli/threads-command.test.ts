import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { beginRun, fillThread, goOn, said, startOf, wholeRun } from "../../test/stored-thread.ts";
import type { Store, ThreadKey } from "../store/index.ts";
import { sqliteStore } from "../store/sqlite/index.ts";
import { main } from "./main.ts";

const KEY: ThreadKey = { tenant: "default", threadId: "t1" };

let out = "";
let err = "";
let folder = "";
let file = "";
const open: Store[] = [];

beforeEach(async () => {
  out = err = "";
  vi.spyOn(console, "log").mockImplementation((line: unknown) => void (out += `${String(line)}\n`));
  vi.spyOn(console, "error").mockImplementation((line: unknown) => void (err += `${String(line)}\n`));
  folder = await mkdtemp(join(tmpdir(), "heddle-threads-"));
  file = join(folder, "heddle.db");
});

afterEach(async () => {
  vi.restoreAllMocks();
  for (const store of open.splice(0)) await store.close();
  await rm(folder, { recursive: true });
});

/** Runs a command on the file. */
function threads(...args: readonly string[]): Promise<number> {
  out = err = "";
  return main(["threads", ...args, "--store", `sqlite:${file}`], {});
}

/** Writes to the file, and lets go of it. */
async function written(work: (store: Store) => Promise<unknown>): Promise<void> {
  const store = sqliteStore(file);
  await work(store);
  await store.close();
}

/** A writer that stays. */
async function writer(): Promise<Store> {
  const store = sqliteStore(file);
  open.push(store);
  await store.open();
  return store;
}

const short = (store: Store, threadId: string, title?: string): Promise<unknown> =>
  wholeRun(store, { ...KEY, threadId }, "r1", {}, said("m1", "Hi")).then(() =>
    title === undefined ? undefined : store.updateThread({ ...KEY, threadId }, { title }),
  );

const path = (): string => join(folder, "t1.ndjson");

/** Runs the command as a process of its own. */
const heddle = (...args: readonly string[]) =>
  spawn(process.execPath, ["src/cli/heddle.ts", "threads", ...args, "--store", `sqlite:${file}`]);

/** Says that the command was refused because somebody else writes. */
function expectLocked(): void {
  expect(err).toContain(`Another process writes to ${file}`);
  expect(err).toContain("--server <url>");
  expect(err).toContain("(store-locked)");
  expect(out).toBe("");
}

describe("misuse", () => {
  test.each([
    ["threads", "--help"],
    ["threads", "-h"],
    ["threads", "ls", "--help"],
    ["threads", "rm", "-h"],
  ])("%s %s explains, and is fine", async (...args) => {
    expect(await main(args, {})).toBe(0);
    for (const word of ["ls", "show", "export", "import", "rm", "--store", "--tenant", "--json", "--server"]) {
      expect(out).toContain(word);
    }
  });

  test.each<[string, readonly string[], string]>([
    ["nothing", [], "Usage"],
    ["an unknown command", ["weave"], 'no command "threads weave"'],
    ["an unknown flag", ["ls", "--colour"], "--colour"],
    ["a flag of another command", ["ls", "--yes"], "--yes"],
    ["a name that ls does not take", ["ls", "t1"], "t1"],
    ["a wrong limit", ["ls", "--limit", "0"], '--limit is "0": expected a whole number'],
    ["no thread", ["show"], "Expected the id of a thread, received nothing"],
    ["two threads", ["show", "a", "b"], "received 2 of them"],
    ["no file", ["import"], "Expected the name of a file"],
    ["an empty id", ["import", "x", "--as", ""], '--as is ""'],
    ["a store of nobody", ["ls", "--store", "memory:"], "belongs to its process alone"],
    ["a wrong store", ["ls", "--store", "heddle.db"], '--store is "heddle.db"'],
    ["a file that is not there", ["import", "/nowhere/x.ndjson", "--store", "sqlite:/nowhere/x.db"], "nothing there"],
    ["a folder", ["import", "/", "--store", "sqlite:/nowhere/x.db"], "EISDIR"],
    ["a server that is none", ["ls", "--server", "localhost:5000"], '--server is "localhost:5000"'],
    ["a store beside a server", ["ls", "--server", "http://127.0.0.1:1", "--store", "sqlite:x"], "beside --server"],
    ["a tenant beside a server", ["ls", "--server", "http://127.0.0.1:1", "--tenant", "x"], "beside --server"],
  ])("%s", async (_, args, sentence) => {
    expect(await main(["threads", ...args], {})).toBe(2);
    expect(err).toContain(sentence);
    expect(out).toBe("");
  });

  test("the store of the environment counts, where no flag says otherwise", async () => {
    await written((store) => short(store, "t1"));
    expect(await main(["threads", "ls"], { HEDDLE_STORE: `sqlite:${file}` })).toBe(0);
    expect(out).toContain("t1");
  });

  test("a database that is not there is no reason to make one", async () => {
    expect(await threads("ls")).toBe(1);
    expect(err).toContain(`There is no database at ${file}`);
    expect(await threads("rm", "t1", "--yes")).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("ls", () => {
  test("shows id, title, time and how the head stands, the newest first", async () => {
    await written(async (store) => {
      await short(store, "first", "One");
      await fillThread(store, KEY);
    });
    expect(await threads("ls")).toBe(0);
    const moment = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
    expect(out).toMatch(/^THREAD {2}TITLE {4}UPDATED {15}HEAD\n/);
    expect(out).toMatch(
      new RegExp(`\nt1 {6}A title {2}${moment} {2}interrupted\nfirst {3}One {6}${moment} {2}finished\n$`),
    );
  });

  test("as JSON is one thread a line, and all of them", async () => {
    await written((store) => Promise.all(Array.from({ length: 201 }, (_, index) => short(store, `t${index}`))));
    expect(await threads("ls", "--json")).toBe(0);
    const listed = out
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    expect(listed).toHaveLength(201);
    expect(listed).toContainEqual(
      expect.objectContaining({ threadId: "t200", tail: 5, status: "finished", head: "r1" }),
    );
    expect(await threads("ls")).toBe(0);
    expect(out.split("\n")).toHaveLength(53);
    expect(out).toContain("There are more than these 50: ask with --limit or --query.");
    expect(await threads("ls", "--limit", "201")).toBe(0);
    expect(out.split("\n")).toHaveLength(203);
    expect(await threads("ls", "--json", "--limit", "3")).toBe(0);
    expect(out.trim().split("\n")).toHaveLength(3);
  });

  test("finds by text, and keeps apart what is put away and whose it is", async () => {
    await written(async (store) => {
      for (const id of ["apple", "pear", "plum"]) await short(store, id);
      await store.updateThread({ ...KEY, threadId: "plum" }, { archived: true });
      await wholeRun(store, { tenant: "acme", threadId: "quince" }, "r1", {}, []);
    });
    const listed = async (...args: readonly string[]): Promise<readonly string[]> => {
      expect(await threads("ls", ...args)).toBe(0);
      return ["apple", "pear", "plum", "quince"].filter((id) => out.includes(id));
    };
    expect(await listed()).toEqual(["apple", "pear"]);
    expect(await listed("--query", "PEA")).toEqual(["pear"]);
    expect(await listed("--archived")).toEqual(["plum"]);
    expect(await listed("--tenant", "acme")).toEqual(["quince"]);
    expect(await listed("--tenant", "nobody")).toEqual([]);
    expect(out).toBe("No threads.\n");
  });

  test("lets no title command the terminal", async () => {
    await written((store) => short(store, "t1", `\u001b[2J\u202e${"long ".repeat(30)}\n`));
    expect(await threads("ls")).toBe(0);
    expect(out).toContain("\\u{1b}[2J\\u{202e}long ");
    expect(out).toContain("…");
    expect(out).not.toContain("\u001b");
  });
});

describe("show", () => {
  test("draws the runs, and names what is open", async () => {
    await written(async (store) => {
      await fillThread(store, KEY);
      await wholeRun(store, KEY, "r6", { parentRunId: "r3", kind: "branch" }, []);
      await store.updateThread(KEY, { archived: true });
    });
    expect(await threads("show", "t1")).toBe(0);
    const shown = out.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "TIME");
    expect(shown).toBe(
      [
        "Thread    t1",
        "Title     A title",
        "Created   TIME",
        "Updated   TIME",
        "Archived  yes",
        "Events    33, of which 16 were dropped by retention",
        'Metadata  {"tags":["a","b"]}',
        "",
        "Runs",
        "  r1  finished  writer  (events 1 to 9, TIME)",
        "  ├─ r2  finished  writer  (events 10 to 16, TIME)",
        "  │  r4  interrupted  writer  (events 23 to 27, TIME)",
        "  │  └─ r5  finished  helper  (spawn, events 28 to 31, TIME)",
        "  └─ r3  failed: agent-failed  writer  (branch, events 17 to 22, TIME)",
        "     r6  finished  writer  (branch, events 32 to 33, TIME)  <- head",
        "",
        "Open questions",
        "  r4  q1  May I?",
        "",
        "Pending tool calls",
        "  r5  c1",
        "",
      ].join("\n"),
    );
  });

  test("as JSON holds the runs and what is open", async () => {
    await written((store) => fillThread(store, KEY));
    expect(await threads("show", "t1", "--json")).toBe(0);
    const shown: unknown = JSON.parse(out);
    expect(shown).toMatchObject({
      threadId: "t1",
      title: "A title",
      runs: ["r1", "r2", "r3", "r4", "r5"].map((runId) => ({ runId })),
      open: [
        { runId: "r4", interrupts: [{ id: "q1" }], pendingToolCallIds: [] },
        { runId: "r5", interrupts: [], pendingToolCallIds: ["c1"] },
      ],
    });
  });

  test("calls nothing open that a run has followed", async () => {
    await written(async (store) => {
      await fillThread(store, KEY);
      await wholeRun(store, KEY, "r6", { parentRunId: "r4", kind: "continue" }, []);
    });
    expect(await threads("show", "t1")).toBe(0);
    expect(out).not.toContain("Open questions");
    expect(out).toContain("Pending tool calls");
  });

  test("of a thread that is not there is a failure", async () => {
    await written((store) => short(store, "t1"));
    for (const command of ["show", "export"]) {
      expect(await threads(command, "t2")).toBe(1);
      expect(err).toContain("There is no thread t2 of the tenant default");
      expect(await threads(command, "t1", "--tenant", "acme")).toBe(1);
    }
  });
});

describe("export and import", () => {
  test("a thread goes to a file and comes back", async () => {
    await written((store) => fillThread(store, KEY));
    expect(await threads("export", "t1", "-o", path())).toBe(0);
    const exported = await readFile(path(), "utf8");
    expect(exported.endsWith("}\n")).toBe(true);
    expect(await threads("import", path())).toBe(1);
    expect(err).toContain("(thread-exists)");
    expect(await threads("rm", "t1", "--yes", "--json")).toBe(0);
    expect(JSON.parse(out)).toEqual({ threadId: "t1", deleted: true });
    expect(await threads("import", path())).toBe(0);
    expect(out).toBe("Imported t1: 5 runs, 15 events\n");
    expect(await threads("export", "t1", "--output", join(folder, "again"))).toBe(0);
    expect(await readFile(join(folder, "again"), "utf8")).toBe(exported);
    expect(await threads("import", path(), "--as", "copy", "--tenant", "acme", "--json")).toBe(0);
    expect(JSON.parse(out)).toEqual({ threadId: "copy", runs: 5, events: 15, closedRunIds: [] });
    expect((await readdir(folder)).filter((name) => name.includes("part"))).toEqual([]);
  });

  test("a file is replaced by a whole export, or not at all", async () => {
    await written((store) => short(store, "t1"));
    await writeFile(path(), "precious");
    expect(await threads("export", "t2", "-o", path())).toBe(1);
    expect(await readFile(path(), "utf8")).toBe("precious");
    expect(await threads("export", "t1", "-o", join(folder, "no", "such", "folder"))).toBe(2);
    expect(err).toContain("expected a file that can be written (nothing there)");
    expect(await threads("export", "t1", "-o", "/dev/null")).toBe(0);
    expect(await threads("export", "t1", "-o", path())).toBe(0);
    expect(await readFile(path(), "utf8")).toContain('"type":"end"');
  });

  test("a broken file is refused with its line, and no database is made for it", async () => {
    await written((store) => fillThread(store, KEY));
    await threads("export", "t1", "-o", path());
    const lines = (await readFile(path(), "utf8")).split(/(?<=\n)/);
    file = join(folder, "new.db");
    for (const index of lines.keys()) {
      await writeFile(path(), lines.toSpliced(index, 1).join(""));
      expect(await threads("import", path())).toBe(1);
      expect(err).toMatch(/^heddle: Line \d+ .*\. Nothing was imported\. \(import-invalid\)\n$/);
    }
    await writeFile(path(), Buffer.from([0xff, 0x0a]));
    expect(await threads("import", path())).toBe(1);
    expect(err).toContain("Line 1 is not UTF-8");
    expect(existsSync(file)).toBe(false);
  });

  test("a run that had not ended is closed", async () => {
    await written((store) => beginRun(store, KEY, "r1", {}, [JSON.stringify(startOf(KEY, "r1"))]));
    expect(await threads("export", "t1", "-o", path())).toBe(0);
    expect(await threads("import", path(), "--as", "copy")).toBe(0);
    expect(out).toBe("Imported copy: 1 run, 2 events, and closed 1 run as lost\n");
    expect(await threads("show", "copy")).toBe(0);
    expect(out).toContain("failed: worker-lost");
  });

  test("the standard streams do as files", async () => {
    await written((store) => fillThread(store, KEY));
    const source = heddle("export", "t1");
    const target = heddle("import", "-", "--as", "copy");
    source.stdout.pipe(target.stdin);
    const [said, complained] = await Promise.all([text(target.stdout), text(target.stderr), once(target, "close")]);
    expect([said, complained, target.exitCode]).toEqual(["Imported copy: 5 runs, 15 events\n", "", 0]);
  });

  test("a reader that has had enough is no failure", async () => {
    await written((store) => wholeRun(store, KEY, "r1", {}, said("m1", ...Array(64).fill("x".repeat(64 * 1024)))));
    const source = heddle("export", "t1");
    await once(source.stdout, "data");
    source.stdout.destroy();
    const [complained] = await Promise.all([text(source.stderr), once(source, "close")]);
    expect([complained, source.exitCode]).toEqual(["", 0]);
  });
});

describe("beside a running server", () => {
  test("reading works and sees what is committed; rm and import are refused", async () => {
    const store = await writer();
    await fillThread(store, KEY);
    const lease = await beginRun(store, { ...KEY, threadId: "live" }, "r1", {}, [JSON.stringify(startOf(KEY, "r1"))]);
    expect(await threads("ls")).toBe(0);
    expect(out).toMatch(/^live .* running$/m);
    await goOn(store, lease, 1, [{ type: "RUN_FINISHED", threadId: "t1", runId: "r1" }]);
    expect(await threads("ls")).toBe(0);
    expect(out).toMatch(/^live .* finished$/m);
    expect(await threads("show", "t1")).toBe(0);
    expect(await threads("export", "t1", "-o", path())).toBe(0);
    expect(await threads("rm", "t1", "--yes")).toBe(1);
    expectLocked();
    expect(await threads("import", path(), "--as", "copy")).toBe(1);
    expectLocked();
    expect((await store.listThreads({ tenant: "default" })).threads.map(({ threadId }) => threadId)).toEqual([
      "live",
      "t1",
    ]);
    expect(await threads("rm", "t1")).toBe(2);
    expect(err).toContain("say --yes");
  });

  test("also where the server is another process", async () => {
    await written((store) => short(store, "t1"));
    const code = `
      import { sqliteStore } from ${JSON.stringify(new URL("../store/sqlite/index.ts", import.meta.url).href)};
      const store = sqliteStore(${JSON.stringify(file)});
      await store.open();
      process.stdout.write("ready");
      process.stdin.resume().once("end", () => store.close());`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout, "data");
    expect(await threads("ls")).toBe(0);
    expect(out).toContain("t1");
    expect(await threads("rm", "t1", "--yes")).toBe(1);
    expectLocked();
    child.stdin.end();
    await once(child, "close");
    expect(await threads("rm", "t1", "--yes")).toBe(0);
    expect(out).toBe("Deleted.\n");
    expect(await threads("rm", "t1", "--yes")).toBe(1);
    expect(err).toContain("There is no thread t1");
  });
});

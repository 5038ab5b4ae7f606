import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loadAgents } from "./load-agents.ts";
import { main } from "./main.ts";
import { storeOf } from "./open-store.ts";
import { DEFAULT_STORE, readStore } from "./settings.ts";

let out = "";
let err = "";

beforeEach(() => {
  out = err = "";
  vi.spyOn(console, "log").mockImplementation((line: unknown) => void (out += `${String(line)}\n`));
  vi.spyOn(console, "error").mockImplementation((line: unknown) => void (err += `${String(line)}\n`));
});

const folders: string[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function fileWith(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-cli-"));
  folders.push(folder);
  const file = join(folder, "agent.ts");
  await writeFile(file, code);
  return file;
}

describe("commands", () => {
  test.each([["--help"], ["-h"], ["help"]])("%s explains, and is fine", async (flag) => {
    expect(await main([flag], {})).toBe(0);
    expect(out).toContain("Usage: heddle <command>");
  });

  test("serve --help names every option", async () => {
    expect(await main(["serve", "--help"], {})).toBe(0);
    for (const word of ["--port", "--host", "--store", "--no-auth", "HEDDLE_PORT", "HEDDLE_HOST", "HEDDLE_STORE"])
      expect(out).toContain(word);
  });

  test("--version is the package's", async () => {
    expect(await main(["--version"], {})).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test.each<[string, readonly string[], Record<string, string>, string]>([
    ["no command", [], {}, "Usage"],
    ["an unknown command", ["weave"], {}, 'no command "weave"'],
    ["an unknown flag", ["serve", "--colour"], {}, "--colour"],
    ["a flag without its value", ["serve", "--port"], {}, "--port"],
    [
      "a wrong flag",
      ["serve", "--port", "abc"],
      {},
      '--port is "abc": expected a whole number from 0 to 65535. (config-invalid)',
    ],
    ["a wrong variable", ["serve"], { HEDDLE_PORT: "70000" }, "HEDDLE_PORT is 70000"],
    ["a wrong host", ["serve"], { HEDDLE_HOST: "a b" }, 'HEDDLE_HOST is "a b"'],
    ["a wrong store", ["serve"], { HEDDLE_STORE: "heddle.db" }, 'HEDDLE_STORE is "heddle.db": expected memory:'],
    ["a store without a file", ["serve", "--store", "sqlite:"], {}, '--store is "sqlite:": expected'],
    ["a host that others can reach", ["serve", "--host", "0.0.0.0"], {}, "nobody is asked who they are"],
    ["a file that is not there", ["serve", "nowhere.ts"], {}, "no file nowhere.ts"],
    ["a page without its folder", ["serve", "--page", "/app"], {}, '--page is "/app": expected /path=folder.'],
    [
      "a page's folder that is not there",
      ["serve", "--page", "/app=nowhere"],
      {},
      'folder is "nowhere": expected a folder',
    ],
  ])("%s is misuse", async (_, args, env, sentence) => {
    expect(await main(args, env)).toBe(2);
    expect(err).toContain(sentence);
    expect(out).toBe("");
  });

  test("two agents of one name are misuse", async () => {
    const code = `export const agent = { name: "same", run() {}, [Symbol.for("heddle.agent")]: true };`;
    expect(await main(["serve", await fileWith(code), await fileWith(code), "--port", "0"], {})).toBe(2);
    expect(err).toContain("Two agents are named same");
  });

  test("a file that fails to load is a failure, and keeps its stack", async () => {
    const file = await fileWith('throw new Error("no model key");');
    expect(await main(["serve", file], {})).toBe(1);
    expect(err).toContain("no model key");
  });
});

describe("settings", () => {
  test("a store is kept in a file of this folder unless something else is said", () => {
    expect(readStore("memory:", { HEDDLE_STORE: "sqlite:x" })).toEqual({ setting: "--store", value: "memory:" });
    expect(readStore(undefined, { HEDDLE_STORE: "sqlite:x" })).toEqual({ setting: "HEDDLE_STORE", value: "sqlite:x" });
    expect(readStore(undefined, { HEDDLE_STORE: "" })).toEqual({ setting: "HEDDLE_STORE", value: DEFAULT_STORE });
    expect(DEFAULT_STORE).toBe("sqlite:heddle.db");
  });

  test.each(["", "memory", "sqlite:", "mysql://localhost/x", "postgres:x", "postgres://a:secret@h:port/x"])(
    "%j names no store, and what it may hold is not shown",
    async (value) => {
      const opening = storeOf({ setting: "HEDDLE_STORE", value });
      await expect(opening).rejects.toMatchObject({ code: "config-invalid", details: { setting: "HEDDLE_STORE" } });
      await expect(opening).rejects.not.toThrow("secret");
    },
  );

  test.each(["memory:", "sqlite:FOLDER/heddle.db"])("%s is a store that can be opened", async (value) => {
    const folder = await mkdtemp(join(tmpdir(), "heddle-cli-"));
    folders.push(folder);
    const store = await storeOf({ setting: "HEDDLE_STORE", value: value.replace("FOLDER", folder) });
    await store.open();
    expect(await store.thread({ tenant: "default", threadId: "t1" })).toBeUndefined();
    await store.close();
  });

  test("a database is not called before it is needed", async () => {
    const store = await storeOf({ setting: "HEDDLE_STORE", value: "postgres://nobody@127.0.0.1:1/nothing" });
    await expect(store.close()).resolves.toBeUndefined();
  });
});

describe("agent files", () => {
  test("every export that defineAgent made counts, once", async () => {
    const file = await fileWith(`
      const MARK = Symbol.for("heddle.agent");
      const agent = (name: string) => ({ name, run() {}, [MARK]: true });
      export const one = agent("one");
      export { one as alias };
      export default agent("two");
      export const helper = 7;`);
    expect((await loadAgents([file, file])).map(({ name }) => name).toSorted()).toEqual(["one", "two"]);
  });

  test("a file without agents is refused, with what it exports", async () => {
    const file = await fileWith("export const helper = 7;");
    const refusal = { code: "config-invalid", details: { received: "helper" } };
    await expect(loadAgents([file])).rejects.toMatchObject(refusal);
  });
});

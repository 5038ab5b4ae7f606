import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readConfiguration } from "./configuration.ts";
import type { Flags } from "./configuration.ts";
import type { Configuration, Environment } from "./settings.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-config-"));
});

afterEach(() => rm(folder, { recursive: true }));

const put = (name: string, contents: string | object): Promise<void> =>
  writeFile(join(folder, name), typeof contents === "string" ? contents : JSON.stringify(contents));

const read = (flags: Flags = {}, env: Environment = {}, file?: string) =>
  readConfiguration({ flags, env, folder, file });

const settingsOf = async (flags?: Flags, env?: Environment): Promise<Configuration> =>
  (await read(flags, env)).settings;

describe("layers", () => {
  test("flags over environment over the environment's file over the file, each setting as a whole", async () => {
    await put("heddle.config.json", {
      port: 1,
      host: "a",
      store: "memory:",
      agents: { one: "http://one/", two: "http://two/" },
    });
    await put("heddle.config.production.json", { host: "b", store: "sqlite:/b", agents: { three: "http://three/" } });
    const env = { NODE_ENV: "production", HEDDLE_STORE: "sqlite:/c", HEDDLE_PORT: "3" };
    expect(await read({ port: "4" }, env)).toEqual({
      settings: { port: 4, host: "b", store: "sqlite:/c", agents: { three: { url: "http://three/" } } },
      places: {
        port: "--port",
        host: "heddle.config.production.json#/host",
        store: "HEDDLE_STORE",
        agents: "heddle.config.production.json#/agents",
      },
    });
  });

  test("HEDDLE_ENV wins over NODE_ENV, an empty variable is absent, and so is a file that is not there", async () => {
    await put("heddle.config.blue.json", { port: 7 });
    expect(await settingsOf({}, { HEDDLE_ENV: "blue", NODE_ENV: "production", HEDDLE_HOST: "" })).toEqual({ port: 7 });
    expect(await settingsOf({}, { HEDDLE_ENV: "", NODE_ENV: "blue" })).toEqual({ port: 7 });
    expect(await settingsOf({}, { NODE_ENV: "green" })).toEqual({});
  });

  test.each(["heddle.config.ts", "heddle.config.js"])("%s exports its settings", async (name) => {
    await put("package.json", { type: "module" });
    await put(name, "const port = 1 + 1;\nexport default { port };");
    expect(await settingsOf()).toEqual({ port: 2 });
  });

  test("paths in a file are relative to the file", async () => {
    await put("heddle.config.json", { files: ["agent.ts"], store: "sqlite:log.db", pages: { "/app": "public" } });
    expect(await settingsOf()).toEqual({
      files: [join(folder, "agent.ts")],
      store: `sqlite:${join(folder, "log.db")}`,
      pages: { "/app": join(folder, "public") },
    });
    expect(await settingsOf({}, { HEDDLE_PAGES: "/app=public /b=other=one" })).toMatchObject({
      pages: { "/app": "public", "/b": "other=one" },
    });
  });

  test("a file that is asked for is used instead", async () => {
    await put("heddle.config.json", { port: 1 });
    await put("other.json", { port: 2 });
    expect((await read({}, {}, "other.json")).settings).toEqual({ port: 2 });
  });
});

describe("text of flags and variables", () => {
  test("is read as a file would have it", async () => {
    const env = {
      HEDDLE_AGENTS: "one=http://one/a?b=c two=https://two",
      HEDDLE_FORWARD_HEADERS: "authorization, x-user",
      HEDDLE_ORIGINS: "https://app.example http://localhost:*",
      HEDDLE_NO_AUTH: "true",
      HEDDLE_LEASE_MS: "500",
    };
    expect(await settingsOf({ agents: ["three=http://three/"] }, env)).toEqual({
      agents: { three: { url: "http://three/" } },
      forwardHeaders: ["authorization", "x-user"],
      origins: ["https://app.example", "http://localhost:*"],
      noAuth: true,
      leaseMs: 500,
    });
    expect((await settingsOf({}, env)).agents).toEqual({
      one: { url: "http://one/a?b=c" },
      two: { url: "https://two/" },
    });
  });

  test("a variable that a flag overrules may hold anything", async () => {
    expect(await settingsOf({ port: "1" }, { HEDDLE_PORT: "nonsense" })).toEqual({ port: 1 });
  });

  test.each(["", "-1", "1.5", "0x10", "65536", " 1", "1e3", "٣", "99999999999"])("%j is no port", async (port) => {
    await expect(read({ port })).rejects.toMatchObject({ code: "config-invalid", details: { setting: "--port" } });
  });
});

test("rules of agents", async () => {
  const rules = { "*": { onBusy: "enqueue" }, chat: { onOpenCalls: "fail", onStale: "append", history: 50 } };
  await put("heddle.config.json", { rules });
  expect(await settingsOf()).toEqual({ rules });
  expect(await settingsOf({}, { HEDDLE_RULES: '{"*":{"onBusy":"fork"}}' })).toEqual({
    rules: { "*": { onBusy: "fork" } },
  });
});

test("what roles see", async () => {
  const views = { observer: { reasoning: false, hiddenState: ["/secret"] }, owner: { raw: true } };
  await put("heddle.config.json", { views });
  expect(await settingsOf()).toEqual({ views });
  expect(await settingsOf({}, { HEDDLE_VIEWS: '{"owner":{"reasoning":false}}' })).toEqual({
    views: { owner: { reasoning: false } },
  });
});

test("sessions", async () => {
  const sessions = { path: "/talk", timeoutMs: 1000, endpoints: { hello: { agent: "chat", reasoning: false } } };
  await put("heddle.config.json", { sessions });
  expect(await settingsOf()).toEqual({ sessions });
  expect(await settingsOf({}, { HEDDLE_SESSIONS: "false", HEDDLE_SESSION_TIMEOUT_MS: "500" })).toEqual({
    sessions: false,
    sessionTimeoutMs: 500,
  });
});

test.each([
  ["false", false],
  ["postgres://db.internal/heddle", "postgres://db.internal/heddle"],
])("a database is listened to past its pooler, or not at all: %s", async (given, storeListen) => {
  expect(await settingsOf({}, { HEDDLE_STORE_LISTEN: given })).toEqual({ storeListen });
});

describe("a mistake is told with its place and what was expected", () => {
  test.each<[object, string]>([
    [
      { rules: { chat: { onBusy: "wait" } } },
      'heddle.config.json#/rules/chat/onBusy is "wait": expected one of reject',
    ],
    [{ rules: { chat: { colour: 1 } } }, "heddle.config.json#/rules/chat/colour is 1: expected nothing"],
    [{ views: { boss: {} } }, "heddle.config.json#/views/boss is {}: expected nothing: the roles are observer"],
    [
      { views: { owner: { sees: 1 } } },
      "heddle.config.json#/views/owner/sees is 1: expected nothing: the rules are raw",
    ],
    [{ views: { owner: { raw: "no" } } }, 'heddle.config.json#/views/owner/raw is "no": expected true or false.'],
    [{ storeListen: "redis://u:secret@x" }, 'heddle.config.json#/storeListen is "…": expected postgres://… past'],
    [{ port: "80" }, 'heddle.config.json#/port is "80": expected a whole number from 0 to 65535.'],
    [{ prot: 80 }, "heddle.config.json#/prot is 80: expected nothing: the settings are port, host, store"],
    [{ host: 5 }, "heddle.config.json#/host is 5: expected a host name or an IP address."],
    [{ noAuth: "yes" }, 'heddle.config.json#/noAuth is "yes": expected true or false.'],
    [{ files: "agent.ts" }, 'heddle.config.json#/files is "agent.ts": expected a list.'],
    [
      { forwardHeaders: ["ok", "not ok"] },
      'heddle.config.json#/forwardHeaders/1 is "not ok": expected the name of a header.',
    ],
    [{ agents: { a: 5 } }, "heddle.config.json#/agents/a is 5: expected an http or https URL"],
    [{ agents: { a: { url: "ftp://x" } } }, "heddle.config.json#/agents/a/url is a URL of ftp:: expected an http"],
    [{ agents: { a: { uri: "http://x" } } }, 'heddle.config.json#/agents/a/uri is "http://x": expected nothing'],
    [
      { agents: { a: { url: "http://x", headers: { b: 1 } } } },
      "heddle.config.json#/agents/a/headers/b is 1: expected a text.",
    ],
    [
      { sessions: { endpoints: { a: { agent: "chat", timeoutMs: "soon" } } } },
      'heddle.config.json#/sessions/endpoints/a/timeoutMs is "soon": expected a whole number of milliseconds',
    ],
    [{ sessions: { endpoints: { a: {} } } }, "heddle.config.json#/sessions/endpoints/a/agent is not set: expected"],
    [{ leaseMs: 0 }, "heddle.config.json#/leaseMs is 0: expected a whole number of milliseconds"],
    [["port"], 'heddle.config.json is ["port"]: expected an object of settings.'],
  ])("%j", async (contents, sentence) => {
    await put("heddle.config.json", contents);
    await expect(read()).rejects.toMatchObject({ code: "config-invalid", message: expect.stringContaining(sentence) });
  });

  test.each<[Flags, Environment, string]>([
    [{ agents: ["nameless"] }, {}, '--agent is "nameless": expected name=url.'],
    [{ agents: ["a=nowhere"] }, {}, "--agent is no URL: expected an http or https URL"],
    [{ origins: ["app.example"] }, {}, '--origin is "app.example": expected an origin'],
    [{}, { HEDDLE_NO_AUTH: "1" }, 'HEDDLE_NO_AUTH is "1": expected true or false.'],
    [{}, { HEDDLE_ENV: "../x" }, 'HEDDLE_ENV is "../x": expected letters'],
  ])("%j %j", async (flags, env, sentence) => {
    await expect(read(flags, env)).rejects.toMatchObject({
      code: "config-invalid",
      message: expect.stringContaining(sentence),
    });
  });

  test("a password in an address is not shown", async () => {
    const reading = read({ agents: ["a=http://user:secret@host/"] });
    await expect(reading).rejects.toThrow("a URL with credentials");
    await expect(reading).rejects.not.toThrow("secret");
  });

  test("a file that cannot be read, two files, and one that was asked for and is not there", async () => {
    await put("heddle.config.json", "{ port: 1 }");
    await expect(read()).rejects.toMatchObject({
      code: "config-invalid",
      message: expect.stringMatching(/^heddle\.config\.json cannot be read: /),
    });
    await put("heddle.config.ts", "export default {};");
    await expect(read()).rejects.toThrow("expected one file: remove the others");
    await expect(read({}, {}, "gone.json")).rejects.toThrow('--config is "gone.json": expected a file that is there.');
  });

  test("a module that exports no settings", async () => {
    await put("heddle.config.ts", "export const port = 1;");
    await expect(read()).rejects.toThrow("expected a default export that is an object of settings");
  });
});

/** Who may ask, and how often, from files, variables and flags: put together, judged with its place, no secret shown. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { authOf } from "./auth-settings.ts";
import { readConfiguration } from "./configuration.ts";
import type { Flags } from "./configuration.ts";
import type { Environment } from "./settings.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-auth-"));
});

afterEach(() => rm(folder, { recursive: true }));

const put = (contents: string | object, name = "heddle.config.json"): Promise<void> =>
  writeFile(join(folder, name), typeof contents === "string" ? contents : JSON.stringify(contents));

const read = (env: Environment = {}, flags: Flags = {}) => readConfiguration({ flags, env, folder });
const auth = async (env?: Environment, flags?: Flags) => authOf(await read(env, flags));

const settings = async (env?: Environment) => (await read(env)).settings;

const KEY = "hidden-key-0123456789";
const SECRET = "hidden secret, which is long enough for HMAC";

describe("put together", () => {
  test("nothing, where nothing is said", async () => {
    expect(await auth()).toBeUndefined();
  });

  test("one key: the operator", async () => {
    expect(await auth({ HEDDLE_AUTH_KEY: KEY })).toEqual({ keys: { operator: { key: KEY, roles: ["operator"] } } });
  });

  test("a secret and an audience", async () => {
    const env = { HEDDLE_JWT_SECRET: SECRET, HEDDLE_JWT_AUDIENCE: "one two" };
    expect(await auth(env)).toEqual({ jwt: { secret: SECRET, audience: ["one", "two"] } });
  });

  test("public keys, by flags over variables", async () => {
    const env = { HEDDLE_JWKS_URL: "nonsense", HEDDLE_JWT_ISSUER: "me", HEDDLE_JWT_AUDIENCE: "x" };
    const flags = { jwksUrl: "https://issuer.example/keys", jwtAudience: ["heddle"] };
    expect(await auth(env, flags)).toEqual({
      jwt: { jwksUrl: "https://issuer.example/keys", issuer: "me", audience: ["heddle"] },
    });
  });

  test("a file, with secrets from the environment on top", async () => {
    const file = { keys: { ci: { key: KEY, tenant: "acme" } }, jwt: { audience: "heddle", claims: { user: "mail" } } };
    await put({ auth: file });
    expect(await auth({ HEDDLE_JWT_SECRET: SECRET, HEDDLE_AUTH_KEY: `${KEY}x` })).toEqual({
      keys: { ci: { key: KEY, tenant: "acme" }, operator: { key: `${KEY}x`, roles: ["operator"] } },
      jwt: { secret: SECRET, audience: "heddle", claims: { user: "mail" } },
    });
  });

  test("all of it in one variable", async () => {
    const all = { keys: { ci: { key: [KEY, `${KEY}x`] } }, jwt: { secret: SECRET, audience: false } };
    expect(await auth({ HEDDLE_AUTH: JSON.stringify(all) })).toEqual(all);
  });

  test("a function of a module, and then nothing else", async () => {
    await put('export default { auth: () => ({ tenant: "t", roles: [] }) };', "heddle.config.ts");
    expect(await auth()).toBeTypeOf("function");
    await expect(auth({ HEDDLE_JWT_SECRET: SECRET })).rejects.toMatchObject({
      code: "config-invalid",
      message: "HEDDLE_JWT_SECRET is set: expected nothing, where heddle.config.ts#/auth is a function.",
    });
  });
});

describe("a mistake is told with its place, and no secret", () => {
  test.each<[string, object | undefined, Environment, string]>([
    [
      "a short key",
      undefined,
      { HEDDLE_AUTH_KEY: "hidden" },
      "HEDDLE_AUTH_KEY is a text of 6 characters: expected a key",
    ],
    ["a short secret", undefined, { HEDDLE_JWT_SECRET: "hidden" }, "HEDDLE_JWT_SECRET is a text of 6 characters"],
    ["no audience", undefined, { HEDDLE_JWT_SECRET: SECRET }, "HEDDLE_JWT_AUDIENCE is not set: expected whom"],
    [
      "no issuer",
      undefined,
      { HEDDLE_JWKS_URL: "https://x/", HEDDLE_JWT_AUDIENCE: "a" },
      "HEDDLE_JWT_ISSUER is not set: expected the issuer of your tokens",
    ],
    [
      "an audience alone",
      undefined,
      { HEDDLE_JWT_AUDIENCE: "a" },
      "auth/jwt is an object: expected a secret, a jwksUrl",
    ],
    [
      "an address that is not safe",
      undefined,
      { HEDDLE_JWKS_URL: "https://u:hidden@x/" },
      "HEDDLE_JWKS_URL is a text of 19 characters: expected an https URL",
    ],
    [
      "a secret and keys",
      undefined,
      { HEDDLE_JWT_SECRET: SECRET, HEDDLE_JWKS_URL: "https://x/" },
      "HEDDLE_JWKS_URL is",
    ],
    [
      "no JSON",
      undefined,
      { HEDDLE_AUTH: `{"key":hidden}` },
      "HEDDLE_AUTH is a text of 14 characters: expected an object",
    ],
    [
      "a place in JSON",
      undefined,
      { HEDDLE_AUTH: '{"keys":{"a":{"key":"hidden"}}}' },
      "HEDDLE_AUTH/keys/a/key is a text",
    ],
    ["a text for it all", { auth: "hidden" }, {}, "heddle.config.json#/auth is a text of 6 characters"],
    ["a key of a file", { auth: { keys: { ci: { key: "hidden" } } } }, {}, "heddle.config.json#/auth/keys/ci/key is a"],
    [
      "keys that are none",
      { auth: { keys: "hidden" } },
      { HEDDLE_AUTH_KEY: KEY },
      "heddle.config.json#/auth/keys is a text",
    ],
    [
      "a role of a file",
      { auth: { keys: { ci: { key: KEY, roles: ["x"] } } } },
      {},
      "#/auth/keys/ci/roles/0 is a text",
    ],
    [
      "no audience in a file",
      { auth: { jwt: { secret: SECRET } } },
      {},
      "heddle.config.json#/auth/jwt/audience is not set: expected whom your tokens are for",
    ],
    ["a member with a slip", { auth: { jtw: { secret: SECRET } } }, {}, "heddle.config.json#/auth/jtw is an object"],
    ["a setting with a slip", { jwtSecrets: SECRET }, {}, "heddle.config.json#/jwtSecrets is a text of 44 characters"],
    ["a number for a secret", { jwtSecret: 5 }, {}, "heddle.config.json#/jwtSecret is a number: expected a text."],
  ])("%s", async (_, file, env, sentence) => {
    await put(file ?? {});
    const reading = auth(env);
    await expect(reading).rejects.toMatchObject({ code: "config-invalid" });
    await expect(reading).rejects.toThrow(sentence);
    await expect(reading).rejects.not.toThrow("hidden");
  });
});

describe("how often", () => {
  test("by text, or with all that a rate has", async () => {
    const env = { HEDDLE_GLOBAL_RATE_LIMIT: "10000/1000", HEDDLE_MAX_RUNS_PER_PRINCIPAL: "4" };
    await put({ rateLimit: { requests: 5, perMs: 1_000, algorithm: "sliding-window" } });
    expect(await settings(env)).toMatchObject({
      rateLimit: { requests: 5, perMs: 1_000, algorithm: "sliding-window" },
      globalRateLimit: { requests: 10_000, perMs: 1_000, algorithm: "token-bucket", burst: 10_000 },
      maxRunsPerPrincipal: 4,
    });
    expect(await settings({ HEDDLE_RATE_LIMIT: "600/60000" })).toMatchObject({
      rateLimit: { requests: 600, perMs: 60_000 },
    });
  });

  test.each<[object, Environment, string]>([
    [
      {},
      { HEDDLE_RATE_LIMIT: "600" },
      'HEDDLE_RATE_LIMIT is "600": expected requests and milliseconds, such as 600/60000',
    ],
    [{}, { HEDDLE_RATE_LIMIT: "0/1000" }, "HEDDLE_RATE_LIMIT/requests is 0: expected a whole number from 1"],
    [{}, { HEDDLE_GLOBAL_RATE_LIMIT: "1/99999999" }, "HEDDLE_GLOBAL_RATE_LIMIT/perMs is 99999999: expected"],
    [{}, { HEDDLE_MAX_RUNS_PER_PRINCIPAL: "0" }, "HEDDLE_MAX_RUNS_PER_PRINCIPAL is 0: expected a whole number from 1"],
    [{ rateLimit: { requests: 1 } }, {}, "heddle.config.json#/rateLimit/perMs is not set: expected a whole number"],
    [{ rateLimit: 600 }, {}, "heddle.config.json#/rateLimit is 600: expected an object of requests and perMs."],
  ])("%j %j stops the start", async (file, env, sentence) => {
    await put(file);
    await expect(read(env)).rejects.toMatchObject({
      code: "config-invalid",
      message: expect.stringContaining(sentence),
    });
  });
});

/** Tokens (JWT) at the door: those that hold become principals; every way to cheat that we know is tried, and refused. */
import { createHmac } from "node:crypto";
import fc from "fast-check";
import {
  CompactEncrypt,
  CompactSign,
  SignJWT,
  UnsecuredJWT,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  generateSecret,
} from "jose";
import type { CryptoKey, JWK, JWTHeaderParameters } from "jose";
import { describe, expect, test } from "vitest";
import { HeddleError } from "../../protocol/index.ts";
import { authenticator } from "./index.ts";
import type { Authenticate, JwtOptions } from "./index.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const SECRET = "a secret that is long enough for HMAC with SHA-256";
const OLDER = "the secret from before, which is long enough as well";
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const now = (): number => Math.floor(Date.now() / 1000);

const CLAIMS = { sub: "ada", tenant: "acme", roles: ["owner"], aud: "heddle", iss: "https://issuer.example" };

interface Making {
  readonly claims?: object;
  readonly header?: Partial<JWTHeaderParameters>;
  readonly key?: CryptoKey | Uint8Array;
}

/** A token that holds, but for what the test changes. A claim that is undefined is left out. */
const make = ({ claims = {}, header = {}, key = bytes(SECRET) }: Making = {}): Promise<string> =>
  new SignJWT({ ...CLAIMS, exp: now() + 600, ...claims }).setProtectedHeader({ alg: "HS256", ...header }).sign(key);

const check = (jwt: JwtOptions): Authenticate => authenticator({ jwt });
const bySecret = check({ secret: SECRET, audience: "heddle" });

const show = (authenticate: Authenticate, token: string) =>
  authenticate({
    method: "POST",
    path: "/agents/chat",
    header: (name) => (name === "authorization" ? `Bearer ${token}` : undefined),
    query: new URLSearchParams(),
  });

/** Why a token is refused, as the log would have it: by the one refusal, and with nothing of the token in it. */
async function refusalOf(authenticate: Authenticate, token: string): Promise<string> {
  const refusal: unknown = await show(authenticate, token).catch((error: unknown) => error);
  if (!(refusal instanceof HeddleError)) throw new Error("it was not refused", { cause: refusal });
  expect(refusal).toMatchObject({ code: "unauthenticated", status: 401, details: {} });
  expect(refusal.message).toContain("send a valid token, that has not expired, in the header");
  expect(token.split(".").filter((part) => part.length > 8 && String(refusal.cause).includes(part))).toEqual([]);
  return String(refusal.cause);
}

const pair = await generateKeyPair("RS256", { extractable: true });
const stranger = await generateKeyPair("RS256", { extractable: true });
const curve = await generateKeyPair("ES256", { extractable: true });
const jwkOf = async (key: CryptoKey, kid: string): Promise<JWK> => ({ ...(await exportJWK(key)), kid });
const RSA = await jwkOf(pair.publicKey, "rsa");
const JWKS = { keys: [RSA, await jwkOf(curve.publicKey, "curve")] };
const ISSUER = CLAIMS.iss;
const byKeys = check({ jwks: JWKS, audience: "heddle", issuer: ISSUER });

const rolesOf = async (roles: unknown) => (await show(bySecret, await make({ claims: { roles } }))).roles;

/** A token that says that it needs no signature. */
const none = (alg: string): string => {
  const header = Buffer.from(JSON.stringify({ alg })).toString("base64url");
  const claims = Buffer.from(JSON.stringify({ ...CLAIMS, exp: now() + 600 })).toString("base64url");
  return `${header}.${claims}.`;
};

describe("a token that holds", () => {
  test("is its principal, until it expires", async () => {
    const exp = now() + 100;
    expect(await show(bySecret, await make({ claims: { exp } }))).toEqual({
      tenant: "acme",
      user: "ada",
      roles: ["owner"],
      expiresAtMs: exp * 1000,
    });
  });

  test.each(["HS256", "HS384", "HS512"])("%s by a secret", async (alg) => {
    expect(await show(bySecret, await make({ header: { alg } }))).toMatchObject({ user: "ada" });
  });

  test("by any of several secrets", async () => {
    const rotating = check({ secret: [SECRET, OLDER], audience: "heddle" });
    expect(await show(rotating, await make())).toMatchObject({ user: "ada" });
    expect(await show(rotating, await make({ key: bytes(OLDER) }))).toMatchObject({ user: "ada" });
    expect(await refusalOf(bySecret, await make({ key: bytes(OLDER) }))).toMatch(
      "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
    );
  });

  test.each<[string, string, CryptoKey]>([
    ["RS256", "rsa", pair.privateKey],
    ["ES256", "curve", curve.privateKey],
  ])("%s by public keys", async (alg, kid, key) => {
    expect(await show(byKeys, await make({ header: { alg, kid }, key }))).toMatchObject({ user: "ada" });
  });

  test("without the name of a key, by whichever fits", async () => {
    const nameless = [stranger.publicKey, pair.publicKey].map((key) => exportJWK(key));
    const any = check({ jwks: { keys: await Promise.all(nameless) }, audience: "heddle", issuer: ISSUER });
    expect(await show(any, await make({ header: { alg: "RS256" }, key: pair.privateKey }))).toMatchObject({
      user: "ada",
    });
    const third = await generateKeyPair("RS256");
    expect(await refusalOf(any, await make({ header: { alg: "RS256" }, key: third.privateKey }))).toMatch("SIGNATURE");
  });

  test("for one of several audiences", async () => {
    const several = check({ secret: SECRET, audience: ["other", "heddle"] });
    expect(await show(several, await make({ claims: { aud: ["x", "heddle"] } }))).toMatchObject({ user: "ada" });
    expect(await refusalOf(several, await make({ claims: { aud: ["x"] } }))).toMatch(
      "ERR_JWT_CLAIM_VALIDATION_FAILED: aud",
    );
  });

  test("for anybody, where that is said", async () => {
    const any = check({ secret: SECRET, audience: false });
    expect(await show(any, await make({ claims: { aud: undefined } }))).toMatchObject({ user: "ada" });
  });

  test("roles: a list, or words; those that we do not know are ignored", async () => {
    expect(await rolesOf("observer admin operator")).toEqual(["observer", "operator"]);
    expect(await rolesOf(["collaborator", "admin", 7, null])).toEqual(["collaborator"]);
    expect(await rolesOf(undefined)).toEqual([]);
    expect(await rolesOf({ owner: true })).toEqual([]);
    expect(await rolesOf("OWNER")).toEqual([]);
  });

  test("other claims, by name or by path; one tenant for all", async () => {
    const named = check({
      secret: SECRET,
      audience: "heddle",
      claims: { tenant: "https://app.example/org", user: "/who/mail", roles: "/realm/a~1b" },
    });
    const claims = { "https://app.example/org": "o1", who: { mail: "a@b" }, realm: { "a/b": ["observer"] } };
    expect(await show(named, await make({ claims }))).toMatchObject({ tenant: "o1", user: "a@b", roles: ["observer"] });
    const fixed = check({ secret: SECRET, audience: "heddle", tenant: "ours" });
    expect(await show(fixed, await make({ claims: { tenant: undefined } }))).toMatchObject({ tenant: "ours" });
    expect(await show(fixed, await make())).toMatchObject({ tenant: "ours" });
  });

  test("clocks may be apart as far as is said, and the principal holds as long", async () => {
    const tolerant = check({ secret: SECRET, audience: "heddle", clockToleranceSeconds: 60 });
    const exp = now() - 30;
    expect(await show(tolerant, await make({ claims: { exp } }))).toMatchObject({ expiresAtMs: (exp + 60) * 1000 });
    expect(await refusalOf(tolerant, await make({ claims: { exp: now() - 61 } }))).toMatch("ERR_JWT_EXPIRED");
  });

  test("a key is tried first, then a token", async () => {
    const both = authenticator({
      keys: { ci: { key: "a-static-key-of-ours" } },
      jwt: { secret: SECRET, audience: "heddle" },
    });
    expect(await show(both, "a-static-key-of-ours")).toMatchObject({ tenant: "default", user: "ci" });
    expect(await show(both, await make())).toMatchObject({ tenant: "acme", user: "ada" });
    expect(await refusalOf(both, "another-static-key")).toMatch("ERR_JWS_INVALID");
  });
});

describe("claims that do not hold", () => {
  test.each<[string, object, string]>([
    ["expired", { exp: now() - 1 }, "ERR_JWT_EXPIRED: exp"],
    ["expiring now", { exp: now() }, "ERR_JWT_EXPIRED: exp"],
    ["never expiring", { exp: undefined }, "ERR_JWT_CLAIM_VALIDATION_FAILED: exp"],
    ["expiring in words", { exp: "never" }, "ERR_JWT_CLAIM_VALIDATION_FAILED: exp"],
    ["expiring beyond time", { exp: 1e300 }, "exp is no time"],
    ["not yet", { nbf: now() + 3_600 }, "ERR_JWT_CLAIM_VALIDATION_FAILED: nbf"],
    ["for others", { aud: "billing" }, "ERR_JWT_CLAIM_VALIDATION_FAILED: aud"],
    ["for almost us", { aud: "heddle2" }, "ERR_JWT_CLAIM_VALIDATION_FAILED: aud"],
    ["for nobody", { aud: undefined }, "ERR_JWT_CLAIM_VALIDATION_FAILED: aud"],
    ["without a tenant", { tenant: undefined }, "tenant"],
    ["with an empty tenant", { tenant: "" }, "tenant"],
    ["with a list of tenants", { tenant: ["acme"] }, "tenant"],
    ["without a user", { sub: undefined }, "user"],
    ["with an empty user", { sub: "" }, "user"],
    ["with a number for a user", { sub: 7 }, "user"],
    ["with a line break in the user", { sub: "ada\r\nx-role: operator" }, "user"],
    ["with a null character in the user", { sub: "ada\u0000" }, "user"],
    ["with a user without end", { sub: "a".repeat(257) }, "user"],
  ])("%s", async (_, claims, reason) => {
    expect(await refusalOf(bySecret, await make({ claims }))).toMatch(reason);
  });

  test("of another issuer, or of none", async () => {
    const strict = check({ secret: SECRET, audience: "heddle", issuer: ISSUER });
    expect(await show(strict, await make())).toMatchObject({ user: "ada" });
    for (const iss of ["https://issuer.example.evil", undefined, [ISSUER]]) {
      expect(await refusalOf(strict, await make({ claims: { iss } }))).toMatch("ERR_JWT_CLAIM_VALIDATION_FAILED: iss");
    }
  });

  test("what every object has is no claim, even where somebody gave it to them", async () => {
    const token = await make({ claims: { tenant: undefined } });
    Reflect.defineProperty(Object.prototype, "tenant", { value: "evil", configurable: true });
    try {
      expect(await refusalOf(bySecret, token)).toMatch("tenant");
    } finally {
      Reflect.deleteProperty(Object.prototype, "tenant");
    }
  });

  test("a list, or text, for claims", async () => {
    for (const payload of ['["ada"]', '"ada"', "null", "{", ""]) {
      const token = await new CompactSign(bytes(payload)).setProtectedHeader({ alg: "HS256" }).sign(bytes(SECRET));
      expect(await refusalOf(bySecret, token)).toMatch("ERR_JWT_INVALID");
    }
  });
});

describe("signatures that do not hold", () => {
  test.each(["none", "None", "NONE", "nOnE", "", "HS1", "constructor"])("alg %j, with and without one", async (alg) => {
    for (const authenticate of [bySecret, byKeys]) {
      expect(await refusalOf(authenticate, none(alg))).toMatch(/ERR_JOSE_ALG_NOT_ALLOWED|ERR_JWS_INVALID/);
      expect(await refusalOf(authenticate, `${none(alg)}AAAA`)).toMatch(/ERR_JOSE_ALG_NOT_ALLOWED|ERR_JWS_INVALID/);
    }
  });

  test("an unsecured token of the library itself", async () => {
    expect(await refusalOf(bySecret, new UnsecuredJWT({ ...CLAIMS, exp: now() + 600 }).encode())).toMatch(
      "ERR_JOSE_ALG_NOT_ALLOWED",
    );
  });

  test("no alg, or one that is no text", async () => {
    const [, claims, signature] = (await make()).split(".");
    for (const header of [{}, { alg: ["HS256"] }, { alg: null }, { alg: { alg: "HS256" } }]) {
      const token = `${Buffer.from(JSON.stringify(header)).toString("base64url")}.${claims}.${signature}`;
      expect(await refusalOf(bySecret, token)).toMatch("ERR_JWS_INVALID");
    }
  });

  test("another secret, another key, another key under a known name", async () => {
    expect(await refusalOf(bySecret, await make({ key: bytes(OLDER) }))).toMatch("SIGNATURE");
    const header = { alg: "RS256", kid: "rsa" };
    expect(await refusalOf(byKeys, await make({ header, key: stranger.privateKey }))).toMatch("SIGNATURE");
    const other = { alg: "RS256", kid: "curve" };
    expect(await refusalOf(byKeys, await make({ header: other, key: pair.privateKey }))).toMatch(
      "ERR_JWKS_NO_MATCHING_KEY",
    );
  });

  test("HMAC with a public key for its secret, in every form that the key has", async () => {
    const pem = await exportSPKI(pair.publicKey);
    const forms = [pem, pem.trim(), JSON.stringify(RSA), JSON.stringify(JWKS), RSA.n ?? "", RSA.x5c?.[0] ?? "none"];
    for (const alg of ["HS256", "HS384", "HS512"]) {
      for (const form of forms) {
        // By hand: the library would not sign with some of them.
        const head = Buffer.from(JSON.stringify({ alg, kid: "rsa" })).toString("base64url");
        const body = Buffer.from(JSON.stringify({ ...CLAIMS, exp: now() + 600 })).toString("base64url");
        const signature = createHmac(`sha${alg.slice(2)}`, form)
          .update(`${head}.${body}`)
          .digest("base64url");
        expect(await refusalOf(byKeys, `${head}.${body}.${signature}`)).toMatch("ERR_JOSE_ALG_NOT_ALLOWED");
      }
    }
  });

  test("a private key where secrets are asked for", async () => {
    expect(await refusalOf(bySecret, await make({ header: { alg: "RS256" }, key: pair.privateKey }))).toMatch(
      "ALG_NOT_ALLOWED",
    );
  });

  test("an algorithm that was not chosen", async () => {
    const chosen = check({ secret: SECRET, audience: "heddle", algorithms: ["HS512"] });
    expect(await show(chosen, await make({ header: { alg: "HS512" } }))).toMatchObject({ user: "ada" });
    expect(await refusalOf(chosen, await make())).toMatch("ERR_JOSE_ALG_NOT_ALLOWED");
  });

  test("a key that the token brings along", async () => {
    const jwk = await exportJWK(stranger.publicKey);
    const jku = "http://127.0.0.1:1/keys";
    for (const brought of [{ jwk }, { jku }, { x5u: jku }, { jwk, jku, kid: "rsa" }, { jwk, kid: "evil" }]) {
      const token = await make({ header: { alg: "RS256", ...brought }, key: stranger.privateKey });
      expect(await refusalOf(byKeys, token)).toMatch(/SIGNATURE|NO_MATCHING_KEY/);
    }
  });

  test.each([
    "../../../../dev/null",
    "/proc/self/environ",
    "' OR 1=1 --",
    "__proto__",
    "rsa\u0000",
    "http://127.0.0.1:1/",
    "0",
  ])("the name of a key that leads elsewhere: %j", async (kid) => {
    expect(await refusalOf(byKeys, await make({ header: { alg: "RS256", kid }, key: stranger.privateKey }))).toMatch(
      "NO_MATCHING",
    );
    expect(await refusalOf(byKeys, await make({ header: { alg: "HS256", kid }, key: bytes("\u0000") }))).toMatch(
      "ALG_NOT_ALLOWED",
    );
  });

  test("an extension that has to be understood", async () => {
    for (const [crit, more] of [
      [["exp"], { exp: 1 }],
      [["http://example.com/x"], { "http://example.com/x": true }],
      [["b64"], { b64: false }],
      [[], {}],
    ] as const) {
      const head = Buffer.from(JSON.stringify({ alg: "HS256", crit, ...more })).toString("base64url");
      const body = Buffer.from(JSON.stringify({ ...CLAIMS, exp: now() + 600 })).toString("base64url");
      const signature = createHmac("sha256", SECRET).update(`${head}.${body}`).digest("base64url");
      expect(await refusalOf(bySecret, `${head}.${body}.${signature}`)).toMatch(
        /ERR_JOSE_NOT_SUPPORTED|ERR_JWS_INVALID|ERR_JWT_INVALID/,
      );
    }
  });

  test("an encrypted token, even with our own secret", async () => {
    const plain = bytes(JSON.stringify({ ...CLAIMS, exp: now() + 600 }));
    const key = await generateSecret("A256GCM");
    const token = await new CompactEncrypt(plain).setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(key);
    expect(await refusalOf(bySecret, token)).toMatch("ERR_JWS_INVALID");
    expect(await refusalOf(byKeys, token)).toMatch("ERR_JWS_INVALID");
  });

  test("claims that were changed after they were signed", async () => {
    const [header, , signature] = (await make()).split(".");
    const claims = { ...CLAIMS, roles: ["operator"], exp: now() + 600 };
    const token = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
    expect(await refusalOf(bySecret, token)).toMatch("SIGNATURE");
  });
});

test("a token of more than 8 KiB is refused before it is read, however good", async () => {
  const small = await make({ claims: { filler: "x".repeat(5_500) } });
  expect(small.length).toBeLessThan(8 * 1024);
  expect(await show(bySecret, small)).toMatchObject({ user: "ada" });
  const large = await make({ claims: { filler: "x".repeat(6_500) } });
  expect(large.length).toBeGreaterThan(8 * 1024);
  expect(await refusalOf(bySecret, large)).toMatch("no bearer token");
});

test("whatever is sent instead of a token is refused, and nothing else happens", async () => {
  const real = await make();
  const bent = fc
    .tuple(fc.nat(real.length - 1), fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 3 }))
    .map(([at, other]) => real.slice(0, at) + other + real.slice(at + other.length))
    .filter((token) => token !== real);
  const json = fc.json().map((text) => Buffer.from(text).toString("base64url"));
  const made = fc
    .array(fc.oneof(json, fc.base64String(), fc.string()), { maxLength: 6 })
    .map((parts) => parts.join("."));
  await fc.assert(
    fc.asyncProperty(fc.oneof(bent, made, fc.string()), async (token) => {
      for (const authenticate of [bySecret, byKeys]) {
        await expect(show(authenticate, token)).rejects.toMatchObject({ code: "unauthenticated" });
      }
    }),
    { numRuns: Math.ceil(300 * SCALE) },
  );
});

describe("options stop the start with their place, and no secret", () => {
  const secret = SECRET;
  const audience = "heddle";
  const jwks = JWKS;
  const d = "secret-part";

  test.each<[string, object, string]>([
    ["nothing", {}, "auth/jwt is an object: expected a secret, a jwksUrl or jwks in it"],
    [
      "a secret and keys",
      { secret, jwks, audience },
      "auth/jwt/jwks is an object: expected nothing, where secret is set",
    ],
    [
      "keys twice",
      { jwksUrl: "https://x/", jwks },
      "auth/jwt/jwks is an object: expected nothing, where jwksUrl is set",
    ],
    [
      "no audience",
      { secret },
      "auth/jwt/audience is not set: expected whom your tokens are for (their aud), or false",
    ],
    ["an empty audience", { secret, audience: "" }, "auth/jwt/audience is a text of 0 characters"],
    ["no audience in a list", { secret, audience: [] }, "auth/jwt/audience is a list of 0"],
    ["audience true", { secret, audience: true }, "auth/jwt/audience is a boolean"],
    ["no issuer, with keys", { jwks, audience }, "auth/jwt/issuer is not set: expected the issuer of your tokens"],
    ["an empty issuer", { secret, audience, issuer: "" }, "auth/jwt/issuer is a text of 0 characters"],
    [
      "a short secret",
      { secret: "secret", audience },
      "auth/jwt/secret is a text of 6 characters: expected a text of 32",
    ],
    ["a short one of several", { secret: [secret, "secret"], audience }, "auth/jwt/secret/1 is a text of 6 characters"],
    ["no secret in a list", { secret: [], audience }, "auth/jwt/secret is a list of 0"],
    ["a secret in a list in a list", { secret: [[secret]], audience }, "auth/jwt/secret/0 is a list of 1"],
    [
      "an address without encryption",
      { jwksUrl: "http://issuer.example/" },
      "auth/jwt/jwksUrl is a text of 22 characters",
    ],
    ["an address like this machine's", { jwksUrl: "http://localhost.evil/" }, "auth/jwt/jwksUrl is a text"],
    ["an address with a password", { jwksUrl: "https://u:secret@x/" }, "auth/jwt/jwksUrl is a text of 19 characters"],
    ["no address", { jwksUrl: "issuer" }, "auth/jwt/jwksUrl is a text of 6 characters: expected an https URL"],
    ["a file", { jwksUrl: "file:///etc/passwd" }, "auth/jwt/jwksUrl is a text of 18 characters"],
    ["no keys", { jwks: { keys: [] } }, "auth/jwt/jwks is an object: expected a set of keys"],
    ["one key for a set", { jwks: RSA }, "auth/jwt/jwks is an object: expected a set of keys"],
    [
      "a private key",
      { jwks: { keys: [RSA, { ...RSA, d }] } },
      "auth/jwt/jwks/keys/1 is an object: expected a public key",
    ],
    ["a secret for a key", { jwks: { keys: [{ kty: "oct", k: d }] } }, "auth/jwt/jwks/keys/0 is an object"],
    [
      "public algorithms, by a secret",
      { secret, audience, algorithms: ["HS256", "RS256"] },
      "auth/jwt/algorithms/1 is",
    ],
    ["HMAC, by keys", { jwks, audience, issuer: "i", algorithms: ["HS256"] }, "auth/jwt/algorithms/0 is a text of 5"],
    ["no algorithm at all", { secret, audience, algorithms: ["none"] }, "expected one of HS256, HS384, HS512"],
    ["algorithms without one", { secret, audience, algorithms: [] }, "auth/jwt/algorithms is a list of 0"],
    [
      "clocks hours apart",
      { secret, audience, clockToleranceSeconds: 3600 },
      "auth/jwt/clockToleranceSeconds is a number",
    ],
    ["an empty tenant", { secret, audience, tenant: "" }, "auth/jwt/tenant is a text of 0 characters"],
    [
      "two tenants",
      { secret, audience, tenant: "a", claims: { tenant: "t" } },
      "auth/jwt/claims/tenant is a text of 1",
    ],
    ["an empty claim", { secret, audience, claims: { user: "" } }, "auth/jwt/claims/user is a text of 0 characters"],
    [
      "an unknown claim",
      { secret, audience, claims: { email: "e" } },
      "auth/jwt/claims/email is a text of 1 characters",
    ],
    [
      "a member with a slip in it",
      { secrets: secret },
      "auth/jwt/secrets is a text of 50 characters: expected nothing",
    ],
  ])("%s", (_, jwt, sentence) => {
    const start = () => check(jwt);
    expect(start).toThrow(expect.objectContaining({ code: "config-invalid" }));
    expect(start).toThrow(sentence);
    expect(start).not.toThrow(/secret-part|u:secret|long enough/);
  });
});

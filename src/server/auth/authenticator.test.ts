/** Who asks, at the door: what is taken as a token, static keys, a function of the host, and tickets beside headers. */
import { describe, expect, test } from "vitest";
import { HeddleError } from "../../protocol/index.ts";
import type { Principal } from "./principal.ts";
import { authenticator } from "./index.ts";
import type { AuthFunction, AuthOptions, AuthRequest, Authenticate } from "./index.ts";

const KEY = "an-old-key-0123456789";
const NEWER = "a-new-key-0123456789";
const KEYS: AuthOptions = {
  keys: {
    ci: { key: [KEY, NEWER], tenant: "acme", roles: ["collaborator"] },
    ops: { key: "operators-0123456789", user: "olga", roles: ["operator"] },
  },
};

const request = (authorization?: string, search = "", method = "GET"): AuthRequest => ({
  method,
  path: "/threads",
  header: (name) => (name === "authorization" ? authorization : undefined),
  query: new URLSearchParams(search),
});

const bearer = (token: string): AuthRequest => request(`Bearer ${token}`);

const REFUSED =
  "This server asks who you are, and the request has no answer that holds: " +
  "send a valid token, that has not expired, in the header 'Authorization: Bearer <token>'.";

/** The sentence of a refusal, which has nothing of what was sent in it. */
async function refusalOf(authenticate: Authenticate, asked: AuthRequest): Promise<string> {
  const refusal: unknown = await authenticate(asked).catch((error: unknown) => error);
  if (!(refusal instanceof HeddleError)) throw new Error("it was not refused", { cause: refusal });
  expect(refusal).toMatchObject({ code: "unauthenticated", status: 401, details: {} });
  const sent = (asked.header("authorization") ?? "").split(/[ ,]+/).filter((word) => word.length > 8);
  expect(sent.filter((word) => String(refusal.cause).includes(word))).toEqual([]);
  return refusal.message;
}

describe("static keys", () => {
  const authenticate = authenticator(KEYS);

  test("each key of an entry is its principal; the user is the entry's name, or the one that is set", async () => {
    const ci = { tenant: "acme", user: "ci", roles: ["collaborator"] };
    expect(await authenticate(bearer(KEY))).toEqual(ci);
    expect(await authenticate(bearer(NEWER))).toEqual(ci);
    expect(await authenticate(bearer("operators-0123456789"))).toEqual({
      tenant: "default",
      user: "olga",
      roles: ["operator"],
    });
    const bare = authenticator({ keys: { bot: { key: KEY } } });
    expect(await bare(bearer(KEY))).toEqual({ tenant: "default", user: "bot", roles: [] });
  });

  test.each(["Bearer", "bearer", "BEARER", "bEaReR"])("the scheme %s is read in any case", async (scheme) => {
    expect(await authenticate(request(`${scheme} ${KEY}`))).toMatchObject({ user: "ci" });
  });

  test.each<[string, string | undefined]>([
    ["no header", undefined],
    ["an empty header", ""],
    ["a scheme alone", "Bearer"],
    ["a scheme and a space", "Bearer "],
    ["a key without a scheme", KEY],
    ["another scheme", `Basic ${KEY}`],
    ["a key that begins right", `Bearer ${KEY.slice(0, -1)}`],
    ["a key with more behind it", `Bearer ${KEY}x`],
    ["a key in other letters", `Bearer ${KEY.toUpperCase()}`],
    ["two values, as a host joins them", `Bearer ${KEY}, Bearer ${KEY}`],
    ["two tokens", `Bearer ${KEY} ${NEWER}`],
    ["a line break", `Bearer ${KEY}\n`],
    ["the name of an entry", "Bearer ci"],
    ["the name of a member of every object", "Bearer __proto__"],
    ["more than 8 KiB", `Bearer ${"x".repeat(8 * 1024)}`],
    ["more than 8 KiB of spaces", `Bearer ${" ".repeat(64 * 1024)}${KEY}`],
  ])("%s is refused, in the same words", async (_, header) => {
    expect(await refusalOf(authenticate, request(header))).toBe(REFUSED);
  });

  test.each<[string, unknown, string]>([
    ["nothing at all", {}, "auth is an object: expected keys, jwt, or both"],
    ["no entry", { keys: {} }, "auth is an object: expected keys, jwt, or both"],
    ["a member that nobody knows", { kyes: {} }, "auth/kyes is an object: expected nothing: there is keys, jwt."],
    ["no object", { keys: KEY }, "auth/keys is a text of 21 characters: expected an object of names"],
    ["no key", { keys: { ci: {} } }, "auth/keys/ci/key is not set: expected a key of 16 to 4096"],
    ["no key in a list", { keys: { ci: { key: [] } } }, "auth/keys/ci/key is a list of 0: expected a key"],
    ["a short key", { keys: { ci: { key: "secret-15-chars" } } }, "auth/keys/ci/key is a text of 15 characters"],
    ["a short one of several", { keys: { ci: { key: [KEY, "secret"] } } }, "auth/keys/ci/key/1 is a text of 6 char"],
    [
      "a key that no header holds",
      { keys: { ci: { key: "secret secret secret" } } },
      "auth/keys/ci/key is a text of 20",
    ],
    ["a key twice", { keys: { a: { key: KEY }, b: { key: KEY } } }, "auth/keys/b/key is a text of 21 characters"],
    ["an empty tenant", { keys: { ci: { key: KEY, tenant: "" } } }, "auth/keys/ci/tenant is a text of 0 characters"],
    ["an empty user", { keys: { "": { key: KEY } } }, "auth/keys//user is a text of 0 characters"],
    ["a user of two lines", { keys: { ci: { key: KEY, user: "a\nb" } } }, "auth/keys/ci/user is a text of 3"],
    ["an unknown role", { keys: { ci: { key: KEY, roles: ["root"] } } }, "auth/keys/ci/roles/0 is a text of 4 char"],
    ["roles that are no list", { keys: { ci: { key: KEY, roles: "owner" } } }, "auth/keys/ci/roles is a text of 5"],
    ["an unknown member", { keys: { ci: { key: KEY, role: "x" } } }, "auth/keys/ci/role is a text of 1 characters"],
  ])("%s stops the start with its place, and no secret", (_, options, sentence) => {
    const start = () => authenticator(Object(options));
    expect(start).toThrow(expect.objectContaining({ code: "config-invalid" }));
    expect(start).toThrow(sentence);
    expect(start).not.toThrow(/secret|0123456789/);
  });
});

describe("a function of the host", () => {
  const ada = { tenant: "acme", user: "ada", roles: ["owner"] } as const;

  test("is given the request and says who asks", async () => {
    const authenticate = authenticator(async ({ method, path, header, query }) =>
      header("authorization") === "Cookie x" && method === "GET" && path === "/threads" && query.get("q") === "1"
        ? ada
        : undefined,
    );
    expect(await authenticate(request("Cookie x", "q=1"))).toEqual(ada);
    expect(await refusalOf(authenticate, request("Cookie y", "q=1"))).toBe(REFUSED);
  });

  test("keeps an expiry; what has expired is refused", async () => {
    const expiresAtMs = Date.now() + 60_000;
    expect(await authenticator(() => ({ ...ada, expiresAtMs }))(request())).toEqual({ ...ada, expiresAtMs });
    expect(
      await refusalOf(
        authenticator(() => ({ ...ada, expiresAtMs: Date.now() - 1 })),
        request(),
      ),
    ).toBe(REFUSED);
  });

  test("what it throws stays what it is: a failure of the server, or an error of ours", async () => {
    const broken = new Error("the directory is down");
    await expect(authenticator(() => Promise.reject(broken))(request())).rejects.toBe(broken);
    const own = new HeddleError("role-missing", "No.", { role: "owner" });
    const thrower: AuthFunction = () => {
      throw own;
    };
    await expect(authenticator(thrower)(request())).rejects.toBe(own);
  });

  test.each<[string, unknown, string]>([
    ["nothing to speak of", null, "what it answered is null, expected a principal"],
    ["a name", "ada", "what it answered is a text of 3 characters"],
    ["no tenant", { user: "ada", roles: [] }, "its tenant is not set"],
    ["an empty tenant", { tenant: "", roles: [] }, "its tenant is a text of 0 characters"],
    ["a tenant of two lines", { tenant: "a\u2028b", roles: [] }, "its tenant is a text of 3 characters"],
    ["a tenant with half a character", { tenant: "a\ud800", roles: [] }, "its tenant is a text of 2 characters"],
    ["a tenant without end", { tenant: "a".repeat(257), roles: [] }, "its tenant is a text of 257 characters"],
    ["an empty user", { tenant: "a", user: "", roles: [] }, "its user is a text of 0 characters"],
    ["no roles", { tenant: "a" }, "its roles is not set"],
    ["an unknown role", { tenant: "a", roles: ["admin"] }, "its roles is a list of 1, expected a list of observer"],
    ["no time", { tenant: "a", roles: [], expiresAtMs: Number.NaN }, "its expiresAtMs is a number"],
  ])("%s is refused clearly, as a failure of the server", async (_, answer, sentence) => {
    const { said }: { said?: Principal } = Object({ said: answer });
    await expect(authenticator(() => said)(request())).rejects.toMatchObject({
      code: "internal-error",
      message: expect.stringContaining(sentence),
    });
  });
});

describe("tickets", () => {
  const holder = { tenant: "acme", user: "eve", roles: [] } as const;

  function office() {
    const shown: string[] = [];
    const redeem = async (ticket: string) => {
      shown.push(ticket);
      return holder;
    };
    return { shown, authenticate: authenticator(KEYS, { tickets: { redeem } }) };
  }

  test("are redeemed where there is no header", async () => {
    const { shown, authenticate } = office();
    expect(await authenticate(request(undefined, "ticket=t1"))).toEqual(holder);
    expect(shown).toEqual(["t1"]);
  });

  test("stay unused where there is a header, right or wrong", async () => {
    const { shown, authenticate } = office();
    expect(await authenticate(request(`Bearer ${KEY}`, "ticket=t1"))).toMatchObject({ user: "ci" });
    expect(await refusalOf(authenticate, request("Bearer wrong", "ticket=t1"))).toBe(REFUSED);
    expect(await refusalOf(authenticate, request("", "ticket=t1"))).toBe(REFUSED);
    expect(shown).toEqual([]);
  });

  test("stay unused beyond GET, so that none is traded for the next; two at once, or an empty one, are none", async () => {
    const { shown, authenticate } = office();
    expect(await refusalOf(authenticate, request(undefined, "ticket=t1", "POST"))).toBe(REFUSED);
    expect(await refusalOf(authenticate, request(undefined, "ticket=t1&ticket=t2"))).toBe(REFUSED);
    expect(await refusalOf(authenticate, request(undefined, "ticket="))).toBe(REFUSED);
    expect(shown).toEqual([]);
  });

  test("are nothing where no office is open, and work beside a function", async () => {
    expect(await refusalOf(authenticator(KEYS), request(undefined, "ticket=t1"))).toBe(REFUSED);
    const nobody = authenticator(() => undefined, { tickets: { redeem: async () => holder } });
    expect(await nobody(request(undefined, "ticket=t1"))).toEqual(holder);
    expect(await refusalOf(nobody, request())).toBe(REFUSED);
  });
});

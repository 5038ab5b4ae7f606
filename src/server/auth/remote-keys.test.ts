/** Public keys from a real server: kept, fetched again for a new one, and asked for sparingly when they cannot be had. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT, exportJWK, generateKeyPair } from "jose";
import type { CryptoKey, JWK } from "jose";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { authenticator } from "./index.ts";
import type { Authenticate } from "./index.ts";

interface Signer {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

async function signer(kid: string): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid } };
}

const [first, second, third] = [await signer("first"), await signer("second"), await signer("third")];

/** An issuer that answers as the test says, and counts. */
class Issuer {
  readonly server: Server;
  asked = 0;
  answer: (response: ServerResponse, request: IncomingMessage) => void = this.publishing(first);

  constructor() {
    this.server = createServer((request, response) => {
      this.asked += 1;
      this.answer(response, request);
    }).listen(0, "127.0.0.1");
  }

  /** Publishes the keys of some. */
  publish(...signers: readonly Signer[]): void {
    this.answer = this.publishing(...signers);
  }

  publishing(...signers: readonly Signer[]): (response: ServerResponse) => void {
    return (response) => response.end(JSON.stringify({ keys: signers.map(({ jwk }) => jwk) }));
  }

  get url(): string {
    const { port }: AddressInfo = Object(this.server.address());
    return `http://127.0.0.1:${port}/jwks`;
  }
}

let issuer = new Issuer();
let authenticate: Authenticate;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  issuer = new Issuer();
  await once(issuer.server, "listening");
  authenticate = authenticator({ jwt: { jwksUrl: issuer.url, audience: "heddle", issuer: "us" } });
});

afterEach(async () => {
  vi.useRealTimers();
  issuer.server.closeAllConnections();
  await new Promise((resolve) => issuer.server.close(resolve));
});

const pass = (ms: number): unknown => vi.setSystemTime(Date.now() + ms);

async function show({ kid, privateKey }: Signer): Promise<unknown> {
  const token = await new SignJWT({ sub: "ada", tenant: "acme", aud: "heddle", iss: "us" })
    .setProtectedHeader({ alg: "ES256", kid })
    .setExpirationTime(Math.floor(Date.now() / 1000) + 3_600)
    .sign(privateKey);
  return authenticate({
    method: "GET",
    path: "/",
    header: () => `Bearer ${token}`,
    query: new URLSearchParams(),
  });
}

const ADA = { tenant: "acme", user: "ada" };
const REFUSED = { code: "unauthenticated" };
const LATER = { status: 503, retryable: true, message: expect.stringContaining("try again later") };

test("keys are fetched when they are needed, and once", async () => {
  expect(issuer.asked).toBe(0);
  await Promise.all(Array.from({ length: 10 }, () => show(first)));
  expect(await show(first)).toMatchObject(ADA);
  expect(issuer.asked).toBe(1);
});

test("a new key works without a restart, and one that was taken away stops to", async () => {
  expect(await show(first)).toMatchObject(ADA);
  issuer.publish(first, second);
  pass(10_001);
  expect(await show(second)).toMatchObject(ADA);
  expect(await show(first)).toMatchObject(ADA);
  expect(issuer.asked).toBe(2);
  issuer.publish(second);
  pass(600_001);
  await expect(show(first)).rejects.toMatchObject(REFUSED);
  expect(await show(second)).toMatchObject(ADA);
});

test("names that nobody has do not make us ask at the pace of whoever sends them", async () => {
  await show(first);
  for (let each = 0; each < 20; each++) await expect(show(third)).rejects.toMatchObject(REFUSED);
  expect(issuer.asked).toBe(1);
  pass(10_001);
  for (let each = 0; each < 20; each++) await expect(show(third)).rejects.toMatchObject(REFUSED);
  expect(issuer.asked).toBe(2);
});

test.each<[string, (response: ServerResponse) => void]>([
  ["an error", (response) => response.writeHead(500).end()],
  ["no JSON", (response) => response.end("<html>")],
  ["no set of keys", (response) => response.end('{"keys":"none"}')],
  ["a redirect, which is not followed", (response) => response.writeHead(302, { location: "/elsewhere" }).end()],
  ["a connection that breaks", (response) => response.destroy()],
])("%s: everybody is told to come back, and we ask sparingly", async (_, answer) => {
  issuer.answer = answer;
  for (let each = 0; each < 5; each++) await expect(show(first)).rejects.toMatchObject(LATER);
  expect(issuer.asked).toBe(1);
  pass(2_001);
  await expect(show(first)).rejects.toMatchObject(LATER);
  expect(issuer.asked).toBe(2);
  issuer.publish(first);
  pass(2_001);
  expect(await show(first)).toMatchObject(ADA);
});

test("an issuer that is away: known keys go on, a new one has to wait", async () => {
  await show(first);
  issuer.server.closeAllConnections();
  await new Promise((resolve) => issuer.server.close(resolve));
  pass(10_001);
  expect(await show(first)).toMatchObject(ADA);
  await expect(show(second)).rejects.toMatchObject(LATER);
  expect(await show(first)).toMatchObject(ADA);
});

test("a set with a secret in it cannot make HMAC pass", async () => {
  const k = Buffer.from("a secret that stands in public, and is long").toString("base64url");
  issuer.answer = (response) => response.end(JSON.stringify({ keys: [{ kty: "oct", kid: "first", k, alg: "HS256" }] }));
  const token = await new SignJWT({ sub: "ada", tenant: "acme", aud: "heddle", iss: "us" })
    .setProtectedHeader({ alg: "HS256", kid: "first" })
    .setExpirationTime("1h")
    .sign(Buffer.from(k, "base64url"));
  const query = new URLSearchParams();
  const shown = authenticate({ method: "GET", path: "/", header: () => `Bearer ${token}`, query });
  await expect(shown).rejects.toMatchObject(REFUSED);
});

/**
 * What clients may send that no client should, by name: bytes that are no HTTP, HTTP that is no request of ours, and
 * requests of ours with bodies that mean harm. Each kind makes any number of different ones, from random numbers.
 */
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { arbitraryRequest } from "./arbitrary-request.ts";
import type { ArbitraryRequest } from "./arbitrary-request.ts";
import type { RawRequest } from "./raw-http.ts";

/** Makes requests of one kind. */
export type HostileRequests = fc.Arbitrary<RawRequest>;

const MIB = 1024 * 1024;
const AGENT = "/agents/chat";
const JSON_TYPE = "Content-Type: application/json";

interface Parts {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** A request as text; text is bytes here, one each. Has Host, ends the connection, and says how long its body is. */
function text({ method = "GET", target = "/healthz", headers = [], body }: Parts): string {
  const length = body === undefined ? [] : [`Content-Length: ${body.length}`];
  const lines = [`${method} ${target} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers, ...length];
  return `${lines.join("\r\n")}\r\n\r\n${body ?? ""}`;
}

/** JSON in UTF-8, as bytes that are each one character. */
const latin = (json: string): string => Buffer.from(json).toString("latin1");

const posted = (body: string, headers: readonly string[] = [JSON_TYPE], target = AGENT): string =>
  text({ method: "POST", target, headers, body: latin(body) });

const server = (...pieces: (string | Uint8Array)[]): RawRequest => ({ pieces, ends: "server" });
const half = (...pieces: (string | Uint8Array)[]): RawRequest => ({ pieces, ends: "half" });

const word = fc.stringMatching(/^[a-z]{1,8}$/);
const junk = fc.uint8Array({ minLength: 1, maxLength: 400 });
const id = fc.string({ minLength: 1, maxLength: 12 });

/** A run input that is as it should be but for what is mixed in. */
const input = (threadId: string, runId: string, more = ""): string =>
  `{"threadId":${JSON.stringify(threadId)},"runId":${JSON.stringify(runId)},"messages":[]${more}}`;

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

/** Bytes that are no HTTP. */
const NO_HTTP = {
  "random bytes": junk.map((bytes) => half(bytes)),
  "random bytes in a head": junk.map((bytes) => half("GET / HTTP/1.1\r\nHost: localhost\r\n", bytes, "\r\n\r\n")),
  "broken request lines": fc
    .tuple(
      fc.constantFrom("GET", "get", "", " GET", "FOO", "GET\t", "\0", "PRI", "CONNECT"),
      fc.constantFrom("/", "", "/ /", "*", "http://", "healthz", "/\t", "/\x7f"),
      fc.constantFrom("HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "HTTP", "", "HTTP/1.1 x", "ICE/1.0", "HTTP/2.0"),
      fc.constantFrom("\r\n", "\n", "\r", ""),
    )
    .map(([method, target, version, end]) => half(`${method} ${target} ${version}${end}Host: localhost${end}${end}`)),
  "requests that break off": fc.tuple(fc.nat(), fc.boolean()).map(([at, hangsUp]): RawRequest => {
    const whole = posted(input("cut", "r"));
    return { pieces: [whole.slice(0, 1 + (at % (whole.length - 2)))], ends: hangsUp ? "abrupt" : "half" };
  }),
  "flipped bytes": fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom("a", "b")).map(([at, byte, name]) => {
    const bytes = Buffer.from(posted(input(`flip ${name}`, "r")));
    bytes[at % bytes.length] = byte;
    return half(bytes);
  }),
  "header bombs": fc
    .tuple(fc.integer({ min: 1, max: 1500 }), fc.integer({ min: 0, max: 60 }))
    .filter(([count, size]) => count * (size + 6) > 20_000)
    .map(([count, size]) => server(text({ headers: Array.from({ length: count }, () => `a: ${"x".repeat(size)}`) }))),
  "two lengths, or a length and chunks": fc
    .constantFrom(
      ["Content-Length: 2", "Content-Length: 5"],
      ["Content-Length: 2, 5"],
      ["Content-Length: 2", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: chunked", "Content-Length: 2"],
      ["Transfer-Encoding: chunked, identity"],
      ["Transfer-Encoding: xchunked"],
      ["Transfer-Encoding : chunked"],
      ["Content-Length: -2"],
      ["Content-Length: 0x2"],
      ["Content-Length: 99999999999999999999"],
      [" Content-Length: 2"],
      ["Transfer-Encoding:\r\n chunked"],
    )
    .map((headers) =>
      half(text({ method: "POST", target: AGENT, headers: [JSON_TYPE, ...headers] }), "0\r\n\r\nGET /x"),
    ),
  "garbage in chunks": fc
    .tuple(fc.constantFrom("zz", "-1", "", "ffffffffffffffffff", "2;" + "x".repeat(20_000), "2 2"), junk)
    .map(([size, bytes]) =>
      half(
        text({ method: "POST", target: AGENT, headers: [JSON_TYPE, "Transfer-Encoding: chunked"] }),
        `${size}\r\n`,
        bytes,
      ),
    ),
} as const satisfies Record<string, HostileRequests>;

/** HTTP that our routes do not expect. */
const ODD_HTTP = {
  "methods of all kinds": fc
    .tuple(fc.constantFrom("HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "PROPFIND", "QUERY", "PURGE"), word)
    .map(([method, name]): RawRequest => ({ ...server(text({ method, target: `/${name}` })), methods: [method] })),
  upgrades: fc
    .constantFrom("websocket", "h2c", "TLS/1.3", "")
    .map((upgrade) => server(text({ headers: [`Upgrade: ${upgrade}`, "Connection: Upgrade"] }))),
  "huge URLs": fc
    .tuple(fc.integer({ min: 100, max: 60_000 }), fc.constantFrom("/", "/threads/", "/?q=", "/threads/a/events?after="))
    .map(([size, path]) => server(text({ target: path + "a".repeat(size) }))),
  "percents that encode nothing": fc
    .tuple(fc.constantFrom("%", "%zz", "%ff%fe", "%c0%80", "%ed%a0%80", "%2e%2e%2f", "%00"), word)
    .map(([percent, name]) =>
      server(text({ target: `/threads/${name}${percent}/events?follow=false&run=${percent}` })),
    ),
  "null bytes and bytes beyond ASCII": fc
    .tuple(fc.constantFrom("\0", "\x01", "\x7f", "\xff", "\xe9"), fc.boolean())
    .map(([byte, inPath]) =>
      server(inPath ? text({ target: `/threads/${byte}` }) : text({ headers: [`Last-Event-ID: ${byte}`] })),
    ),
  "no Host, or another": fc
    .constantFrom("", "Host: evil.example\r\n", "Host:\r\n", "Host: localhost\r\nHost: evil.example\r\n")
    .map((host) => server(`GET /healthz HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)),
  origins: fc
    .constantFrom("https://evil.example", "null", "file://", "\xff", "http://localhost.evil.example")
    .map((origin) => server(text({ method: "POST", target: AGENT, headers: [`Origin: ${origin}`], body: "{}" }))),
  expectations: fc.tuple(fc.constantFrom("100-continue", "200-maybe", ""), fc.boolean()).map(([expect, sends]) => {
    const head = posted("{}", [JSON_TYPE, `Expect: ${expect}`]).slice(0, -2);
    return sends ? server(head, "{}") : half(head);
  }),
  pipelines: fc.array(fc.constantFrom("GET", "HEAD", "POST", "PUT"), { minLength: 1, maxLength: 12 }).map((methods) => {
    const each = methods.map((method) => text({ method, ...(method === "POST" && { body: "{" }) }));
    const kept = each.slice(0, -1).map((request) => request.replace("Connection: close\r\n", ""));
    return { ...server([...kept, ...each.slice(-1)].join("")), methods };
  }),
  "slow senders": fc.tuple(id, fc.integer({ min: 10, max: 60 })).map(([threadId, size]) => {
    const whole = posted(input(threadId, `slow ${size}`));
    return server(...(whole.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []));
  }),
  "readers who leave": fc.tuple(id, fc.boolean()).map(([threadId, posts]): RawRequest => {
    const follows = text({ target: `/threads/${encodeURIComponent(threadId)}/events` });
    return { pieces: [posts ? posted(input(threadId, "left")) : follows], ends: "abrupt" };
  }),
} as const satisfies Record<string, HostileRequests>;

/** Bodies that mean harm. */
const BODIES = {
  "wrong content types": fc
    .constantFrom(
      "text/plain",
      "multipart/form-data; boundary=x",
      ";;;",
      "",
      "application/json\r\nContent-Type: a/b",
      "a",
    )
    .map((type) => server(posted("{}", [`Content-Type: ${type}`]))),
  gzip: fc.constantFrom("gzip", "br", "deflate", "identity", "x").map((encoding) => {
    const body = gzipSync(input("gzip", "r"));
    const headers = [JSON_TYPE, `Content-Encoding: ${encoding}`];
    return server(text({ method: "POST", target: AGENT, headers, body: body.toString("latin1") }));
  }),
  "deep JSON": fc
    .tuple(fc.integer({ min: 400, max: 20_000 }), fc.constantFrom("state", "forwardedProps", "context", "messages"), id)
    .map(([depth, name, threadId]) => server(posted(input(threadId, "deep", `,"${name}":${nested(depth)}`)))),
  "JSON that never closes": fc.integer({ min: 1, max: 100_000 }).map((depth) => server(posted("[".repeat(depth)))),
  "keys of prototypes": fc
    .tuple(fc.constantFrom("__proto__", "constructor", "prototype", "toString", "toJSON", "then"), id, fc.boolean())
    .map(([key, threadId, isId]) =>
      server(
        posted(isId ? input(key, key) : input(threadId, "proto", `,"${key}":{"polluted":1},"state":{"${key}":1}`)),
      ),
    ),
  "lone surrogates": fc
    .tuple(fc.constantFrom("\\ud800", "\\udc00\\ud800", "\\ud83d"), id)
    .map(([lone, threadId]) =>
      server(
        posted(
          `{"threadId":${JSON.stringify(threadId)},"runId":"l","messages":[{"id":"${lone}","role":"user","content":"${lone}"}]}`,
        ),
      ),
    ),
  "ids of any text": fc
    .tuple(fc.string({ unit: "binary", maxLength: 300 }), fc.string({ unit: "binary", maxLength: 300 }))
    .map(([threadId, runId]) => server(posted(input(threadId, runId)))),
  "bytes that are no UTF-8": junk.map((bytes) =>
    server(text({ method: "POST", target: AGENT, headers: [JSON_TYPE], body: Buffer.from(bytes).toString("latin1") })),
  ),
  "numbers and names without measure": fc
    .constantFrom("1e999", "-1e999", "9".repeat(400), "0".repeat(400), "1e-999")
    .map((number) => server(posted(input("number", "r", `,"state":${number}`)))),
  "anything that our routes may be asked": arbitraryRequest("chat").map(onWire),
} as const satisfies Record<string, HostileRequests>;

/** Bodies beyond the limit: few of them, for each is sent in full. */
const LARGE: Readonly<Record<string, HostileRequests>> = {
  "a body that is longer than the limit": fc.constant(server(posted(`"${"a".repeat(16 * MIB)}"`))),
  "a body of the limit": fc.constant(server(posted(`"${"a".repeat(16 * MIB - 2)}"`))),
  "a length beyond all measure": fc.constant(
    half(text({ method: "POST", target: AGENT, headers: [JSON_TYPE, "Content-Length: 99999999999"] }), "{"),
  ),
  "chunks that are longer than the limit": fc.constant(
    server(
      text({ method: "POST", target: AGENT, headers: [JSON_TYPE, "Transfer-Encoding: chunked"] }),
      ...Array.from({ length: 17 }, () => `100000\r\n${"a".repeat(MIB)}\r\n`),
      "0\r\n\r\n",
    ),
  ),
};

/** A request of our routes as bytes. Where it says itself how long it is, it may not be true. */
function onWire({ method, target, headers, body }: ArbitraryRequest): RawRequest {
  const { host = "localhost", ...others } = headers;
  const lines = Object.entries(others).map(([name, value]) => `${name}: ${value}`);
  const bytes = latin(body ?? "");
  const length = "content-length" in others ? [] : [`Content-Length: ${bytes.length}`];
  const head = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...lines, ...length].join("\r\n");
  return {
    pieces: [`${head}\r\n\r\n${bytes}`],
    ends: "content-length" in others ? "half" : "server",
    methods: [method],
  };
}

/** Kinds of which there may be thousands. */
export const HOSTILE_REQUESTS: Readonly<Record<string, HostileRequests>> = { ...NO_HTTP, ...ODD_HTTP, ...BODIES };

/** Kinds of which a few will do. */
export const LARGE_REQUESTS = LARGE;

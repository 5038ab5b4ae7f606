/**
 * Pages beside the routes: files of one's own, at paths of one's own, for everybody who may call at all.
 *
 * A page gets scripts, styles, pictures and fonts from where it stands itself, and nothing inline; what it may connect to is
 * this server, and any WebSocket. A page at `/` takes the place of the one that is there otherwise.
 */
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, RouteHandlerMethod } from "fastify";
import { HeddleError } from "../../protocol/index.ts";
import { SAFE_HEADERS } from "../http/index.ts";
import type { PageFiles } from "./page-files.ts";

/** Pages by their path, such as `{ "/sample": files }`. */
export type Pages = Readonly<Record<string, PageFiles>>;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
};

const PAGE_HEADERS = {
  ...SAFE_HEADERS,
  "cache-control": "no-cache",
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self' ws: wss:",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Names that change with what is in the file, as bundlers make them: what was fetched once never has to be asked for again. */
const HASHED = /^assets\/.+-[\w-]{8}\.\w+$/;
const FOR_EVER = { "cache-control": "public, max-age=31536000, immutable" } as const;

/** Files of these types get smaller by compressing them, above this size. */
const COMPRESSIBLE = /^(?:text|application)\//;
const MIN_COMPRESSED_BYTES = 1024;

/** `gzip`, unless it is refused by `q=0`. */
const TAKES_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/;

/** Adds the pages, after the routes: a path that is taken is refused with `config-invalid`. */
export function addPages(app: FastifyInstance, pages: Pages): void {
  for (const [path, files] of Object.entries(pages)) {
    if (!/^\/(?:[\w.~-]+(?:\/[\w.~-]+)*)?$/.test(path)) {
      throw refused(path, "a path of letters, digits, '/', '.', '_', '~' and '-' that does not end with '/'");
    }
    if (files["index.html"] === undefined) throw refused(path, "files with an index.html among them");
    const base = path === "/" ? "" : path;
    // Names in the page are relative to it: without the slash they would miss its folder.
    if (base !== "") {
      claim(app, path, base);
      app.get(base, async (_, reply) => reply.headers(PAGE_HEADERS).redirect(`${app.prefix}${base}/`, 308));
    }
    // The same, where the page is that of the prefix itself.
    else if (app.prefix !== "") {
      const redirect: RouteHandlerMethod = async (_, reply) =>
        reply.headers(PAGE_HEADERS).redirect(`${app.prefix}/`, 308);
      app.get("/", { prefixTrailingSlash: "no-slash" }, redirect);
    }
    for (const [name, contents] of Object.entries(files)) {
      const url = `${base}/${name === "index.html" ? "" : name}`;
      claim(app, path, url);
      app.get(url, { prefixTrailingSlash: "slash" }, fileAnswer(name, Buffer.from(contents)));
    }
  }
}

function fileAnswer(name: string, bytes: Buffer): RouteHandlerMethod {
  const mediaType = MEDIA_TYPES[extname(name)] ?? "application/octet-stream";
  const headers = { ...PAGE_HEADERS, "content-type": mediaType, ...(HASHED.test(name) && FOR_EVER) };
  const isCompressible = COMPRESSIBLE.test(mediaType) && bytes.length >= MIN_COMPRESSED_BYTES;
  // Made when somebody asks for it first, and kept.
  let compressed: Buffer | undefined;
  return async (request, reply) => {
    reply.headers(headers);
    if (!isCompressible) return reply.send(bytes);
    // The answer differs by origin too, where the host says so.
    reply.header("vary", [reply.getHeader("vary") ?? [], "accept-encoding"].flat().join(", "));
    if (!TAKES_GZIP.test(request.headers["accept-encoding"] ?? "")) return reply.send(bytes);
    compressed ??= gzipSync(bytes);
    return reply.header("content-encoding", "gzip").send(compressed);
  };
}

function claim(app: FastifyInstance, path: string, url: string): void {
  if (app.hasRoute({ method: "GET", url: `${app.prefix}${url}` })) throw refused(path, `another path: ${url} is taken`);
}

function refused(path: string, expected: string): HeddleError {
  const setting = `pages ${path}`;
  const message = `${setting}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting, expected, received: path });
}

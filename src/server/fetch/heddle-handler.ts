/**
 * Heddle's routes as one function from Request to Response.
 *
 * The server itself is yours: make it with `createHeddle`, and close it when the process ends. A reader that goes away
 * ends its stream and nothing else.
 */
import { decodeJson } from "../../protocol/index.ts";
import type { Heddle } from "../index.ts";
import {
  NO_BYTES,
  SAFE_HEADERS,
  admit,
  bodyTooLarge,
  checkEncoding,
  doorOf,
  errorAnswer,
  isJson,
  isPreflight,
  isStream,
  limitedBytes,
  originPolicy,
  routerOf,
  routesOf,
  wrongMediaType,
} from "../http/index.ts";
import type {
  Answer,
  DoorRules,
  FaultReporter,
  Judgement,
  Matched,
  Mounts,
  OriginRules,
  Route,
  RouteRequest,
  Site,
} from "../http/index.ts";
import { Bodies } from "./bodies.ts";

/** Options of `heddleHandler`. */
export interface HeddleHandlerOptions extends OriginRules, DoorRules {
  /** Path that the routes are mounted under, such as `/api/heddle`. Default: the root. */
  readonly prefix?: string;
  /** How often an idle stream gets a comment, so that proxies keep it open. Default 10,000. */
  readonly keepAliveMs?: number;
  /** How long a reader may leave what was made for it before it is cut. Default 30,000. */
  readonly stallMs?: number;
  /** Request headers that agents may read by `forwardedHeaders` while they run. Default none. */
  readonly forwardHeaders?: readonly string[];
  /** Paths of their own for agents, such as `{ "/agui": "assistant" }`. Each has `/agents/{name}` anyway. Default none. */
  readonly mounts?: Mounts;
  /** Told of failures that are nobody's fault but ours, with the reference that the client has. Default: a warning. */
  readonly onFault?: FaultReporter;
  /** Told of what was changed in a run input. Default: nobody. */
  readonly onWarnings?: Site["onWarnings"];
}

/** Answers requests. */
export type HeddleHandler = (request: Request) => Promise<Response>;

/** Makes the function, which never rejects. Throws `config-invalid` where `mounts` holds a mistake. */
export function heddleHandler(heddle: Heddle, options: HeddleHandlerOptions = {}): HeddleHandler {
  const { keepAliveMs = 10_000, stallMs = 30_000, forwardHeaders = [], onFault = warn } = options;
  const prefix = (options.prefix ?? "").replace(/\/$/, "");
  const site: Site = {
    ...doorOf(heddle, options),
    prefix,
    forwardHeaders: forwardHeaders.map((name) => name.toLowerCase()),
    onWarnings: options.onWarnings ?? ((): void => {}),
  };
  const bodies = new Bodies({
    keepAliveMs,
    stallMs,
    isClosing: () => heddle.closing,
    onFault: (error) => onFault(error, "none"),
  });
  const route = routerOf(routesOf(options.mounts ?? {}, heddle.agents));
  const judge = originPolicy(options);

  return async (request) => {
    const url = new URL(request.url);
    const gone = new AbortController();
    const signal = AbortSignal.any([request.signal, gone.signal]);
    const header = headersOf(request, url);
    const judged = { method: request.method, header };
    const judgement = judge(judged);
    const answerOf = async (): Promise<Answer> => {
      if (judgement.refusal !== undefined) throw judgement.refusal;
      if (options.origins !== undefined && isPreflight(judged)) return { status: 204, headers: {} };
      const matched: Matched = route(request.method, pathBelow(url.pathname, prefix));
      const { path } = matched;
      const query = url.searchParams;
      const asked = { method: request.method, path: url.pathname, query, header };
      const desk = { ...site, heddle: await admit(site, matched.route, asked) };
      const read = await readBody(matched.route, request, header, site.maxBodyBytes);
      return matched.route.answer(desk, { path, query, header, ...read, origin: url.origin, signal });
    };
    const answer = await answerOf().catch((error: unknown) =>
      errorAnswer(error, onFault, (code) => heddle.telemetry.rejected(code)),
    );
    return responseOf(request, answer, judgement, bodies, gone);
  };
}

function responseOf(
  request: Request,
  answer: Answer,
  { headers: judged }: Judgement,
  bodies: Bodies,
  gone: AbortController,
): Response {
  const { status } = answer;
  const headers = { ...SAFE_HEADERS, ...answer.headers, ...judged };
  if (isStream(answer)) return new Response(bodies.open(answer, gone), { status, headers });
  return new Response(request.method === "HEAD" ? null : (answer.body ?? null), { status, headers });
}

/** Some hosts tell the host that was called by the URL alone. */
function headersOf({ headers }: Request, url: URL): (name: string) => string | undefined {
  return (name) => headers.get(name) ?? (name === "host" ? url.host : undefined);
}

/** The path below the prefix; one that is not below it is no path of ours. */
function pathBelow(path: string, prefix: string): string {
  if (path === prefix) return "/";
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : `//${path}`;
}

/** The body, as the route reads it. */
async function readBody(
  { bytes }: Route,
  request: Request,
  header: RouteRequest["header"],
  maxBytes: number,
): Promise<Pick<RouteRequest, "body" | "bytes">> {
  if (bytes !== undefined) return { body: undefined, bytes: limitedBytes(bytes, header, chunksOf(request)) };
  const hasBody = ["POST", "PUT", "PATCH"].includes(request.method);
  return { body: hasBody ? await bodyOf(request, maxBytes) : undefined, bytes: NO_BYTES };
}

/** A body as it comes. It is not cancelled by whoever stops reading: some hosts would close the connection over it. */
async function* chunksOf({ body }: Request): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    reader.releaseLock();
  }
}

/** Reads a body as JSON; undefined where there is none. */
async function bodyOf(request: Request, maxBytes: number): Promise<unknown> {
  const type = request.headers.get("content-type") ?? undefined;
  if (type !== undefined && !isJson(type)) throw wrongMediaType(type);
  checkEncoding(request.headers.get("content-encoding") ?? undefined);
  const declared = Number(request.headers.get("content-length"));
  if (declared > maxBytes) throw bodyTooLarge(declared, maxBytes);
  const bytes = await bytesOf(request, maxBytes);
  if (type !== undefined) return decodeJson(bytes, { maxBytes });
  if (bytes.length > 0) throw wrongMediaType(type);
  return undefined;
}

async function bytesOf({ body }: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maxBytes) throw bodyTooLarge(length, maxBytes);
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

const warn: FaultReporter = (error, reference) => {
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`A request failed (reference ${reference}): ${cause}`, "HeddleWarning");
};

/**
 * Who may call: the names that the server is called by, and the pages that may call it from elsewhere.
 *
 * A page can reach a server on the machine of whoever looks at it, by its own name after it had that name point there,
 * or by asking without leave to read the answer. So `Host` has to be a name that is ours, and `Origin`, where there is
 * one, ours or on the list. Where no list is set the host application decides about origins, and only what a browser
 * sends without asking first is refused. No `Host` is refused where no names are set.
 */
import { HeddleError, NDJSON_MEDIA_TYPE } from "../../protocol/index.ts";
import { wrongMediaType } from "./error-answer.ts";

/** Whom to answer. */
export interface OriginRules {
  /**
   * Origins of pages that may call, such as `https://app.example`; a port may be `*`, and `*` alone is every origin. With
   * a list, even an empty one, the routes bring CORS of their own; without, the host application's counts.
   */
  readonly origins?: readonly string[] | undefined;
  /** Names that the server may be called by, with a port (`example.org:8080`) or on any. Default: not checked. */
  readonly hosts?: readonly string[] | undefined;
}

/** What of a request is judged. */
export interface JudgedRequest {
  /** Method. */
  readonly method: string;
  /** A header's value, by its name in lower case. */
  header(name: string): string | undefined;
}

/** How a request is judged. */
export interface Judgement {
  /** Headers for the answer, whatever it is. */
  readonly headers: Readonly<Record<string, string>>;
  /** Why it is refused; absent where it is not. */
  readonly refusal?: HeddleError;
}

/** Judges requests. */
export type OriginPolicy = (request: JudgedRequest) => Judgement;

const EXPOSED = "content-location, location, agui-resume, retry-after, www-authenticate";
const METHODS = "GET, POST, PUT, PATCH, DELETE";
const PREFLIGHT_MAX_AGE_SECONDS = "600";

/** Content types that a page has to ask for before it posts them. */
const ASKED_TYPES: readonly string[] = ["application/json", NDJSON_MEDIA_TYPE];

/** Names by which only this machine is reached. */
export const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Pages that this machine itself serves. */
export const LOOPBACK_ORIGINS: readonly string[] = LOOPBACK_HOSTS.flatMap((host) => [
  `http://${host}:*`,
  `https://${host}:*`,
]);

/** Makes the judge of some rules. */
export function originPolicy({ origins, hosts }: OriginRules): OriginPolicy {
  const isOurs = hosts === undefined ? (): boolean => true : hostMatcher(hosts);
  const isListed = origins === undefined ? undefined : originMatcher(origins);
  return (request) => {
    const host = request.header("host") ?? "";
    if (!isOurs(host)) return { headers: {}, refusal: foreignHost(host) };
    const origin = request.header("origin");
    if (origin === undefined || isSameOrigin(origin, host)) return { headers: isListed === undefined ? {} : VARIES };
    if (isListed === undefined) return { headers: {}, ...unasked(request, origin) };
    if (!isListed(origin)) return { headers: VARIES, refusal: foreignOrigin(origin) };
    return { headers: corsHeaders(request, origin) };
  };
}

const VARIES = { vary: "Origin" };

/** Whether a request only asks what it may do. */
export const isPreflight = ({ method, header }: JudgedRequest): boolean =>
  method === "OPTIONS" && header("access-control-request-method") !== undefined;

function corsHeaders(request: JudgedRequest, origin: string): Readonly<Record<string, string>> {
  const allowed = { ...VARIES, "access-control-allow-origin": origin };
  if (!isPreflight(request)) return { ...allowed, "access-control-expose-headers": EXPOSED };
  const asked = request.header("access-control-request-headers");
  return {
    ...allowed,
    "access-control-allow-methods": METHODS,
    ...(asked === undefined ? {} : { "access-control-allow-headers": asked }),
    "access-control-max-age": PREFLIGHT_MAX_AGE_SECONDS,
  };
}

/** The scheme is not compared: what ends TLS in front of us is not seen here. */
function isSameOrigin(origin: string, host: string): boolean {
  return URL.parse(origin)?.host === host.toLowerCase();
}

/** Of what changes anything, browsers send a plain POST without asking first, and open WebSockets; nothing else. */
function unasked(request: JudgedRequest, origin: string): { readonly refusal?: HeddleError } {
  if (request.header("upgrade")?.toLowerCase() === "websocket") return { refusal: foreignOrigin(origin) };
  if (request.method !== "POST") return {};
  const type = request.header("content-type");
  return ASKED_TYPES.some((asked) => isOfType(type, asked)) ? {} : { refusal: wrongMediaType(type) };
}

/** Whether a content type is this one, whatever its parameters. */
export const isOfType = (contentType: string | undefined, mediaType: string): boolean =>
  contentType?.split(";", 1)[0]?.trim().toLowerCase() === mediaType;

/** Whether a content type is JSON's. */
export const isJson = (contentType: string | undefined): boolean => isOfType(contentType, "application/json");

function hostMatcher(hosts: readonly string[]): (host: string) => boolean {
  const known = new Set(hosts.map((host) => host.toLowerCase()));
  return (host) => {
    const called = host.toLowerCase();
    return known.has(called) || known.has(called.replace(/:\d+$/, ""));
  };
}

function originMatcher(origins: readonly string[]): (origin: string) => boolean {
  const known = new Set(origins);
  if (known.has("*")) return () => true;
  return (origin) => {
    if (known.has(origin)) return true;
    const url = URL.parse(origin);
    return url !== null && known.has(`${url.protocol}//${url.hostname}:*`);
  };
}

function foreignHost(host: string): HeddleError {
  const message = "This server is not called by this name: use its own, or add the name to its hosts.";
  return new HeddleError("origin-refused", message, { host: host.slice(0, 200), reason: "host" });
}

function foreignOrigin(origin: string): HeddleError {
  const message = "Pages of this origin may not call this server: add it to the server's origins.";
  return new HeddleError("origin-refused", message, { origin: origin.slice(0, 200), reason: "origin" });
}

/**
 * What may be tried: an address of http or https without credentials, and headers that are the caller's to choose. What is
 * wrong with either may be that it holds a secret, so neither is repeated.
 */
import { HeddleError } from "../protocol/index.ts";

/** Longest address. */
const MAX_URL_CHARS = 2048;

/** Most headers. */
const MAX_HEADERS = 50;

/** Headers that say how a request travels: those are ours, or the connection's. */
const OURS =
  /^(accept|connection|content-length|content-type|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;

/** Throws `input-invalid` where an address or headers cannot be used. */
export function checkTarget(url: string, headers: Readonly<Record<string, string>>): void {
  const parsed = url.length > MAX_URL_CHARS ? null : URL.parse(url);
  const isHttp = parsed?.protocol === "http:" || parsed?.protocol === "https:";
  if (parsed === null || !isHttp || parsed.username !== "" || parsed.password !== "") {
    const received =
      parsed === null ? "no URL" : isHttp ? "a URL with credentials" : `a URL of ${parsed.protocol.slice(0, -1)}`;
    throw refused("/url", "an http or https URL without a name and a password", received);
  }
  const names = namesOf(headers);
  if (names === undefined) throw refused("/headers", "names and values that HTTP allows", "another text");
  if (names.length > MAX_HEADERS) throw refused("/headers", `at most ${MAX_HEADERS} headers`, String(names.length));
  if (names.some((name) => OURS.test(name))) {
    throw refused("/headers", "headers that authorise or describe the call", "one that belongs to the connection");
  }
}

/** The names of headers; undefined where HTTP does not allow them. */
function namesOf(headers: Readonly<Record<string, string>>): readonly string[] | undefined {
  try {
    return [...new Headers(headers).keys()];
  } catch {
    return undefined;
  }
}

function refused(path: string, expected: string, received: string): HeddleError<"input-invalid"> {
  const place = path === "" ? "The check" : `${path} of the check`;
  const message = `${place} is ${received}: expected ${expected}.`;
  return new HeddleError("input-invalid", message, { path, expected, received });
}

/**
 * Who may ask, put together: the setting `auth`, and on top of it the settings for single parts, which the environment
 * and flags can hold. Judged as a whole, before anything starts; a mistake is told with the place that it was made in.
 */
import { HeddleError } from "../protocol/index.ts";
import { assertAuthOptions } from "../server/fastify/index.ts";
import type { AuthOptions } from "../server/fastify/index.ts";
import type { ReadConfiguration } from "./configuration.ts";
import { isRecord } from "./setting-kinds.ts";
import { SETTINGS } from "./settings.ts";

/** Settings for single parts, with the place of each within `auth`. */
const PARTS = [
  ["authKey", "/keys/operator/key"],
  ["jwtSecret", "/jwt/secret"],
  ["jwksUrl", "/jwt/jwksUrl"],
  ["jwtIssuer", "/jwt/issuer"],
  ["jwtAudience", "/jwt/audience"],
] as const;

/** Who may ask; undefined where nothing is said about it. Throws `config-invalid`. */
export function authOf({ settings, places }: ReadConfiguration): AuthOptions | undefined {
  const { auth, authKey, jwtSecret: secret, jwksUrl, jwtIssuer: issuer, jwtAudience: audience } = settings;
  const given = PARTS.filter(([name]) => settings[name] !== undefined);
  const [first] = given;
  if (first === undefined && auth === undefined) return undefined;
  if (typeof auth === "function") {
    if (first === undefined) return auth;
    throw contradiction(places[first[0]] ?? first[0], places["auth"] ?? "auth");
  }
  const jwt = { ...defined({ secret, jwksUrl, issuer, audience }) };
  const operator = authKey === undefined ? {} : { operator: { key: authKey, roles: ["operator"] } };
  const merged = {
    ...auth,
    ...withPart("keys", auth?.["keys"], operator),
    ...withPart("jwt", auth?.["jwt"], jwt),
  };
  assertAuthOptions(merged, (pointer) => placeOf(pointer, places));
  return merged;
}

/** A member with parts on top of what it holds. What is no object is left for whoever judges it. */
function withPart(name: string, below: unknown, parts: object): object {
  if (Object.keys(parts).length === 0) return {};
  return { [name]: below === undefined ? parts : isRecord(below) ? { ...below, ...parts } : below };
}

const defined = (members: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** Where a part of `auth` was set, or could be. */
function placeOf(pointer: string, places: ReadConfiguration["places"]): string {
  const [part] = PARTS.find(([, at]) => pointer === at || pointer.startsWith(`${at}/`)) ?? [];
  const set = part === undefined ? undefined : places[part];
  if (set !== undefined) return set;
  if (places["auth"] !== undefined) return `${places["auth"]}${pointer}`;
  return part === undefined ? `auth${pointer}` : SETTINGS[part].variable;
}

function contradiction(place: string, auth: string): HeddleError {
  const expected = `nothing, where ${auth} is a function`;
  const message = `${place} is set: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting: place, expected, received: "set" });
}

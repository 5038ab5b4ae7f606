/**
 * What tokens (JWT) have to be, judged before the start. The options leave no room for a token to choose how it is
 * checked: either a secret, and then only HMAC, or public keys, and then never HMAC.
 *
 * Whom a token is for (`audience`) has to be said, since an issuer signs tokens for others too. Who made it (`issuer`) has
 * to be said with public keys, since providers of many tenants sign for all of them with the same keys; whoever holds a
 * secret is the issuer. `false` says that either is not checked, and that this is meant.
 */
import type { JSONWebKeySet } from "jose";
import { NAME_RULE, isName } from "./check-principal.ts";
import { isRecord, knownMembers, wrongOption } from "./wrong-option.ts";
import type { PlaceOf } from "./wrong-option.ts";

/** How tokens are checked, and how a principal is read from one. */
export interface JwtOptions {
  /** The secret that tokens are signed with, or several while it is replaced: at least 32 bytes each. */
  readonly secret?: string | readonly string[] | undefined;
  /** Address of the issuer's public keys: https, or http on this machine. */
  readonly jwksUrl?: string | undefined;
  /** The issuer's public keys themselves. */
  readonly jwks?: JSONWebKeySet | undefined;
  /** What `iss` has to be. Required with public keys; `false` leaves it unchecked. */
  readonly issuer?: string | false | undefined;
  /** What `aud` has to be, or to hold one of. Required; `false` leaves it unchecked. */
  readonly audience?: string | readonly string[] | false | undefined;
  /** Algorithms that are taken, of those that fit the keys. Default: all that fit. */
  readonly algorithms?: readonly string[] | undefined;
  /** How far clocks may be apart. Default 0. */
  readonly clockToleranceSeconds?: number | undefined;
  /** The tenant of everybody, instead of a claim's. */
  readonly tenant?: string | undefined;
  /** Which claims are read: a name, or a path such as `/realm_access/roles`. */
  readonly claims?: ClaimNames | undefined;
}

/** Names of claims. */
export interface ClaimNames {
  /** Claim that holds the tenant. Default `tenant`. */
  readonly tenant?: string | undefined;
  /** Claim that holds the user. Default `sub`. */
  readonly user?: string | undefined;
  /** Claim that holds roles, as a list or between spaces; those that we do not know are ignored. Default `roles`. */
  readonly roles?: string | undefined;
}

/** What signatures are checked with. */
export type SigningKeys =
  | { readonly secrets: readonly Uint8Array[] }
  | { readonly url: string }
  | { readonly set: JSONWebKeySet };

/** Options, judged, with their defaults. */
export interface JwtRules {
  /** What signatures are checked with. */
  readonly keys: SigningKeys;
  /** Algorithms that are taken. */
  readonly algorithms: readonly string[];
  /** What `iss` has to be; undefined: anything. */
  readonly issuer: string | undefined;
  /** What `aud` has to hold one of; undefined: anything. */
  readonly audience: readonly string[] | undefined;
  /** How far clocks may be apart. */
  readonly clockToleranceSeconds: number;
  /** The tenant of everybody; undefined: the claim's. */
  readonly tenant: string | undefined;
  /** Names of claims. */
  readonly claims: { readonly [N in keyof ClaimNames]-?: string };
}

const SECRET_ALGORITHMS = ["HS256", "HS384", "HS512"];
const PUBLIC_ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

const SOURCES = ["secret", "jwksUrl", "jwks"] as const;
const CLAIMS = { tenant: "tenant", user: "sub", roles: "roles" } as const;
const MEMBERS = [...SOURCES, "issuer", "audience", "algorithms", "clockToleranceSeconds", "tenant", "claims"];

/** HMAC with SHA-256 asks for as many bytes (RFC 7518, 3.2). */
const MIN_SECRET_BYTES = 32;
const MAX_TOLERANCE_SECONDS = 300;

/** Judges options. Throws `config-invalid`. */
export function readJwtOptions(value: unknown, pointer: string, placeOf: PlaceOf): JwtRules {
  const options = knownMembers(value, MEMBERS, pointer, placeOf);
  const at: PlaceOf = (member) => placeOf(`${pointer}/${member}`);
  const given = SOURCES.filter((name) => options[name] !== undefined);
  const [source, second] = given;
  if (source === undefined) throw wrongOption(placeOf(pointer), value, "a secret, a jwksUrl or jwks in it");
  if (second !== undefined) throw wrongOption(at(second), options[second], `nothing, where ${source} is set`);
  const { clockToleranceSeconds = 0, tenant } = options;
  if (!isTolerance(clockToleranceSeconds)) {
    const expected = `a whole number from 0 to ${MAX_TOLERANCE_SECONDS}`;
    throw wrongOption(at("clockToleranceSeconds"), clockToleranceSeconds, expected);
  }
  if (tenant !== undefined && !isName(tenant)) throw wrongOption(at("tenant"), tenant, NAME_RULE);
  return {
    keys: readKeys(source, options[source], at),
    algorithms: readAlgorithms(options["algorithms"], source, at),
    issuer: readIssuer(options["issuer"], source, at),
    audience: readAudience(options["audience"], at),
    clockToleranceSeconds,
    tenant,
    claims: readClaims(options["claims"], tenant !== undefined, pointer, placeOf),
  };
}

function readKeys(source: (typeof SOURCES)[number], value: unknown, at: PlaceOf): SigningKeys {
  switch (source) {
    case "secret":
      return { secrets: readSecrets(value, at) };
    case "jwksUrl":
      return { url: readUrl(value, at) };
    case "jwks":
      return { set: readSet(value, at) };
  }
}

function readSecrets(value: unknown, at: PlaceOf): readonly Uint8Array[] {
  const several = Array.isArray(value) && value.length > 0;
  return (several ? value : [value]).map((secret: unknown, index) => {
    const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : undefined;
    if (bytes !== undefined && bytes.length >= MIN_SECRET_BYTES) return bytes;
    throw wrongOption(
      at(several ? `secret/${index}` : "secret"),
      secret,
      `a text of ${MIN_SECRET_BYTES} bytes or more`,
    );
  });
}

/** Whoever can change these keys on their way can be anybody: they come encrypted, or from this machine. */
function readUrl(value: unknown, at: PlaceOf): string {
  const url = typeof value === "string" ? URL.parse(value) : null;
  const isSafe =
    url?.protocol === "https:" ||
    (url?.protocol === "http:" && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname));
  if (url !== null && isSafe && url.username === "" && url.password === "") return url.href;
  throw wrongOption(at("jwksUrl"), value, "an https URL without a name and a password, or an http URL of this machine");
}

function readSet(value: unknown, at: PlaceOf): JSONWebKeySet {
  if (!isSet(value)) throw wrongOption(at("jwks"), value, "a set of keys: an object with a list of JWK as its keys");
  const wrong = value.keys.findIndex((key) => key.kty === "oct" || "d" in key || "k" in key || "priv" in key);
  if (wrong === -1) return value;
  throw wrongOption(at(`jwks/keys/${wrong}`), value.keys[wrong], "a public key: take the private part out");
}

function isSet(value: unknown): value is JSONWebKeySet {
  if (!isRecord(value) || !Array.isArray(value["keys"]) || value["keys"].length === 0) return false;
  return value["keys"].every((key: unknown) => isRecord(key) && typeof key["kty"] === "string");
}

function readAlgorithms(value: unknown, source: string, at: PlaceOf): readonly string[] {
  const fitting = source === "secret" ? SECRET_ALGORITHMS : PUBLIC_ALGORITHMS;
  if (value === undefined) return fitting;
  if (!Array.isArray(value) || value.length === 0) throw wrongOption(at("algorithms"), value, "a list of algorithms");
  return value.map((algorithm: unknown, index) => {
    const known = fitting.find((each) => each === algorithm);
    if (known !== undefined) return known;
    throw wrongOption(at(`algorithms/${index}`), algorithm, `one of ${fitting.join(", ")}, where ${source} is set`);
  });
}

function readIssuer(value: unknown, source: string, at: PlaceOf): string | undefined {
  if (value === false || (value === undefined && source === "secret")) return undefined;
  if (typeof value === "string" && value !== "") return value;
  throw wrongOption(at("issuer"), value, "the issuer of your tokens (their iss), or false to take any");
}

function readAudience(value: unknown, at: PlaceOf): readonly string[] | undefined {
  if (value === false) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const names = list.filter((name) => typeof name === "string" && name !== "").map(String);
  if (names.length > 0 && names.length === list.length) return names;
  throw wrongOption(at("audience"), value, "whom your tokens are for (their aud), or false to take any");
}

function readClaims(value: unknown, hasTenant: boolean, pointer: string, placeOf: PlaceOf): JwtRules["claims"] {
  const at = `${pointer}/claims`;
  const names = value === undefined ? {} : knownMembers(value, Object.keys(CLAIMS), at, placeOf);
  if (hasTenant && names["tenant"] !== undefined) {
    throw wrongOption(placeOf(`${at}/tenant`), names["tenant"], "nothing, where jwt.tenant is set");
  }
  const nameOf = (member: keyof typeof CLAIMS): string => {
    const name = names[member] ?? CLAIMS[member];
    if (typeof name === "string" && name !== "") return name;
    throw wrongOption(placeOf(`${at}/${member}`), name, "the name of a claim");
  };
  return { tenant: nameOf("tenant"), user: nameOf("user"), roles: nameOf("roles") };
}

const isTolerance = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_TOLERANCE_SECONDS;

/**
 * From a token (JWT) to a principal. What a token may choose is nothing: algorithms, issuer and audience are ours, keys
 * come from our options only (never from `jwk`, `jku`, `x5u` of its header), an extension that we do not know (`crit`)
 * refuses it, and it has to expire. The one refusal is the same for all of it.
 */
import { createLocalJWKSet, errors, jwtVerify } from "jose";
import type { CryptoKey, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import type { Principal } from "./principal.ts";
import { isName, isRole } from "./check-principal.ts";
import type { JwtRules, SigningKeys } from "./jwt-options.ts";
import { remoteKeys } from "./remote-keys.ts";
import { unauthenticated } from "./unauthenticated.ts";
import { isRecord } from "./wrong-option.ts";

/** Makes the check of some rules. It throws `unauthenticated`, or that the keys cannot be had. */
export function jwtVerifier(rules: JwtRules): (token: string) => Promise<Principal> {
  const { issuer, audience, algorithms, clockToleranceSeconds } = rules;
  const verify = verifierOf(rules.keys, {
    algorithms: [...algorithms],
    requiredClaims: ["exp"],
    clockTolerance: clockToleranceSeconds,
    ...(issuer === undefined ? {} : { issuer }),
    ...(audience === undefined ? {} : { audience: [...audience] }),
  });
  return async (token) => {
    try {
      return principalOf(await verify(token), rules);
    } catch (error) {
      throw error instanceof errors.JOSEError ? unauthenticated(reasonOf(error)) : error;
    }
  };
}

function verifierOf(keys: SigningKeys, options: JWTVerifyOptions): (token: string) => Promise<JWTPayload> {
  if ("secrets" in keys) return (token) => verifyWithAny(token, keys.secrets, options);
  const find: JWTVerifyGetKey = "url" in keys ? remoteKeys(keys.url) : createLocalJWKSet(keys.set);
  return async (token) => {
    try {
      return (await jwtVerify(token, find, options)).payload;
    } catch (error) {
      // Keys without names, or a token that names none: whichever fits.
      if (error instanceof errors.JWKSMultipleMatchingKeys) return verifyWithAny(token, error, options);
      throw error;
    }
  };
}

/** Checks a token with one key after the other, until the signature is one of theirs. */
async function verifyWithAny(
  token: string,
  keys: Iterable<Uint8Array> | AsyncIterable<CryptoKey>,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  for await (const key of keys) {
    try {
      return (await jwtVerify(token, key, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

function principalOf(payload: JWTPayload, { tenant: fixed, claims, clockToleranceSeconds }: JwtRules): Principal {
  const tenant = fixed ?? claimOf(payload, claims.tenant);
  const user = claimOf(payload, claims.user);
  // It stops to hold when it would be refused.
  const expiresAtMs = Math.ceil((payload.exp ?? Number.NaN) + clockToleranceSeconds) * 1000;
  if (!isName(tenant)) throw unauthenticated("the claim of the tenant is missing or no name");
  if (!isName(user)) throw unauthenticated("the claim of the user is missing or no name");
  if (!Number.isSafeInteger(expiresAtMs)) throw unauthenticated("exp is no time");
  return { tenant, user, roles: rolesOf(claimOf(payload, claims.roles)), expiresAtMs };
}

function rolesOf(claim: unknown): Principal["roles"] {
  const words: readonly unknown[] = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [];
  return words.filter(isRole);
}

/** A claim by its name, or by its path where that begins with a slash (RFC 6901). */
function claimOf(payload: JWTPayload, name: string): unknown {
  const steps = name.startsWith("/") ? name.slice(1).split("/").map(unescaped) : [name];
  let value: unknown = payload;
  for (const step of steps) value = isRecord(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  return value;
}

const unescaped = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~");

/** Which check failed, in jose's words, none of which are the token's. */
const reasonOf = (error: errors.JOSEError): string =>
  "claim" in error ? `${error.code}: ${String(error.claim)}` : error.code;

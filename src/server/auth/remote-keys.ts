/**
 * Public keys of an issuer, fetched from its JWKS address when they are needed, and kept for ten minutes. A token that
 * names a key which is not among them has the set fetched again, so a new key works without a restart; at most every ten
 * seconds, since anybody can name a key.
 *
 * What cannot be fetched is not asked for again within two seconds: callers are told to come back, and nobody can have
 * this server call the issuer at their own pace. Redirects are not followed.
 */
import { createRemoteJWKSet, customFetch, errors } from "jose";
import type { JWTVerifyGetKey } from "jose";
import { HeddleError } from "../../protocol/index.ts";
import { keysUnavailable } from "./keys-unavailable.ts";

const TIMEOUT_MS = 5_000;
const COOLDOWN_MS = 10_000;
const MAX_AGE_MS = 600_000;
const FAILED_COOLDOWN_MS = 2_000;

/** Finds the key that a token names. Throws errors of jose where there is none, and ours where the set cannot be had. */
export function remoteKeys(url: string): JWTVerifyGetKey {
  let failure: { readonly atMs: number; readonly cause: unknown } | undefined;
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: MAX_AGE_MS,
    [customFetch]: async (address, init) => {
      if (failure !== undefined && Date.now() < failure.atMs + FAILED_COOLDOWN_MS) throw keysUnavailable(failure.cause);
      return fetch(address, init);
    },
  });
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (error instanceof HeddleError || isOfToken(error)) throw error;
      failure = { atMs: Date.now(), cause: error };
      throw keysUnavailable(error);
    }
  };
}

/** Whether the set is there, and the token is what does not fit. */
const isOfToken = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys;

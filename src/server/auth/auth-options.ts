/**
 * Who may ask, as users set it: a function of theirs, or static keys, tokens (JWT), or both. Everything is judged before
 * the start, whoever the options come from: a program, a file or the environment.
 */
import type { Principal } from "./principal.ts";
import type { AuthRequest } from "./auth-request.ts";
import { readJwtOptions } from "./jwt-options.ts";
import type { JwtOptions, JwtRules } from "./jwt-options.ts";
import { readStaticKeys } from "./static-keys.ts";
import type { KeyOptions, StaticKey } from "./static-keys.ts";
import { knownMembers, wrongOption } from "./wrong-option.ts";
import type { PlaceOf } from "./wrong-option.ts";

/** Says who asks; undefined where nobody is known, which is answered with 401. What it throws is a failure of the server. */
export type AuthFunction = (request: AuthRequest) => Principal | undefined | Promise<Principal | undefined>;

/** How bearer tokens are checked; where both are set, keys are tried first. */
export interface TokenOptions {
  /** Static keys, by a name each. */
  readonly keys?: Readonly<Record<string, KeyOptions>> | undefined;
  /** Tokens (JWT) of an issuer. */
  readonly jwt?: JwtOptions | undefined;
}

/** Who may ask. */
export type AuthOptions = AuthFunction | TokenOptions;

/** Token options, judged. */
export interface TokenRules {
  /** Every key. */
  readonly keys: readonly StaticKey[];
  /** What tokens have to be; undefined: none are taken. */
  readonly jwt: JwtRules | undefined;
}

const inAuth: PlaceOf = (pointer) => `auth${pointer}`;

/** Judges options that are no function. Throws `config-invalid`. */
export function readTokenOptions(value: unknown, placeOf: PlaceOf = inAuth): TokenRules {
  const { keys, jwt } = knownMembers(value, ["keys", "jwt"], "", placeOf);
  const rules = {
    keys: keys === undefined ? [] : readStaticKeys(keys, "/keys", placeOf),
    jwt: jwt === undefined ? undefined : readJwtOptions(jwt, "/jwt", placeOf),
  };
  if (rules.keys.length > 0 || rules.jwt !== undefined) return rules;
  throw wrongOption(placeOf(""), value, "keys, jwt, or both: nobody could come in");
}

/** Throws `config-invalid` where options are wrong, with the place of what is. */
export function assertAuthOptions(value: unknown, placeOf: PlaceOf = inAuth): asserts value is AuthOptions {
  if (typeof value !== "function") readTokenOptions(value, placeOf);
}

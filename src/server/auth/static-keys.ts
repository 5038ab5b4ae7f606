/**
 * Static keys: each is a principal. Several keys of one entry let it change its key without a gap: add the new one, move
 * the callers, take the old one away.
 *
 * Only the keys' SHA-256 is held. A token is hashed too and compared with every one of them in constant time, so that the
 * time of an answer tells neither how much of a key was right nor which entry came near.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { DEFAULT_TENANT, ROLES } from "./principal.ts";
import type { Principal, Role } from "./principal.ts";
import { TOKEN_CHARS } from "./bearer-token.ts";
import { NAME_RULE, isName, isRole } from "./check-principal.ts";
import { isRecord, knownMembers, wrongOption } from "./wrong-option.ts";
import type { PlaceOf } from "./wrong-option.ts";

/** Whom a key stands for. */
export interface KeyOptions {
  /** The key, or several of them while one is replaced: at least 16 visible ASCII characters each, without commas. */
  readonly key: string | readonly string[];
  /** Tenant of the principal. Default `default`. */
  readonly tenant?: string | undefined;
  /** User of the principal. Default: the entry's name. */
  readonly user?: string | undefined;
  /** Roles of the principal that count for every thread of the tenant. Default none. */
  readonly roles?: readonly Role[] | undefined;
}

/** One key, judged. */
export interface StaticKey {
  /** SHA-256 of the key. */
  readonly hash: Buffer;
  /** Whom it stands for. */
  readonly principal: Principal;
}

const KEY = new RegExp(`^${TOKEN_CHARS}{16,4096}$`);
const KEY_RULE = "a key of 16 to 4096 visible ASCII characters without commas";
const MEMBERS = ["key", "tenant", "user", "roles"];

/** Judges entries of keys. Throws `config-invalid`. */
export function readStaticKeys(value: unknown, pointer: string, placeOf: PlaceOf): readonly StaticKey[] {
  if (!isRecord(value)) throw wrongOption(placeOf(pointer), value, "an object of names and their keys");
  const keys: StaticKey[] = [];
  for (const [name, entry] of Object.entries(value)) {
    const place = `${pointer}/${name}`;
    const options = knownMembers(entry, MEMBERS, place, placeOf);
    const principal = principalOf(name, options, place, placeOf);
    for (const [at, key] of keysOf(options["key"], `${place}/key`)) {
      if (typeof key !== "string" || !KEY.test(key)) throw wrongOption(placeOf(at), key, KEY_RULE);
      const hash = hashOf(key);
      if (keys.some((other) => other.hash.equals(hash))) {
        throw wrongOption(placeOf(at), key, "a key that no other entry has");
      }
      keys.push({ hash, principal });
    }
  }
  return keys;
}

/** Finds whom a token stands for; undefined where it is no key. */
export function matchKey(keys: readonly StaticKey[], token: string): Principal | undefined {
  const hash = hashOf(token);
  let found: Principal | undefined;
  // All of them are compared, always.
  for (const key of keys) if (timingSafeEqual(key.hash, hash)) found = key.principal;
  return found;
}

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();

function keysOf(value: unknown, pointer: string): readonly (readonly [string, unknown])[] {
  if (!Array.isArray(value) || value.length === 0) return [[pointer, value]];
  return value.map((key: unknown, index) => [`${pointer}/${index}`, key]);
}

function principalOf(
  name: string,
  { tenant = DEFAULT_TENANT, user = name, roles = [] }: Readonly<Record<string, unknown>>,
  pointer: string,
  placeOf: PlaceOf,
): Principal {
  if (!isName(tenant)) throw wrongOption(placeOf(`${pointer}/tenant`), tenant, NAME_RULE);
  if (!isName(user)) throw wrongOption(placeOf(`${pointer}/user`), user, NAME_RULE);
  if (!Array.isArray(roles)) throw wrongOption(placeOf(`${pointer}/roles`), roles, `a list of ${ROLES.join(", ")}`);
  const wrong = roles.findIndex((role) => !isRole(role));
  if (wrong !== -1) {
    throw wrongOption(placeOf(`${pointer}/roles/${wrong}`), roles[wrong], `one of ${ROLES.join(", ")}`);
  }
  return { tenant, user, roles: roles.filter(isRole) };
}

/**
 * Whether something is a principal. Whatever says who asks, a function of the host, a ticket or a token, is judged by
 * the same rules: tenant and user become keys in the store and words in logs, so they are texts of one line.
 */
import { HeddleError } from "../../protocol/index.ts";
import { ROLES } from "./principal.ts";
import type { Principal, Role } from "./principal.ts";
import { isRecord, kindOf } from "./wrong-option.ts";

/** What names have to be, in words. */
export const NAME_RULE = "a text of 1 to 256 characters without control characters";

/** Whether a value can name a tenant or a user. */
export const isName = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 256 && /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u.test(value);

/** Whether a value is a role. */
export const isRole = (value: unknown): value is Role => ROLES.some((role) => role === value);

/** A principal with its known members only. Throws `internal-error`: who made it is on our side of the door. */
export function checkPrincipal(value: unknown, maker: string): Principal {
  if (!isRecord(value)) throw notUsable(maker, "", value, "a principal");
  const { tenant, user, roles, expiresAtMs } = value;
  if (!isName(tenant)) throw notUsable(maker, "tenant", tenant, NAME_RULE);
  if (user !== undefined && !isName(user)) throw notUsable(maker, "user", user, NAME_RULE);
  if (!Array.isArray(roles) || !roles.every(isRole)) {
    throw notUsable(maker, "roles", roles, `a list of ${ROLES.join(", ")}`);
  }
  if (expiresAtMs !== undefined && !isTime(expiresAtMs)) {
    throw notUsable(maker, "expiresAtMs", expiresAtMs, "milliseconds since 1970");
  }
  return {
    tenant,
    roles: [...roles],
    ...(user === undefined ? {} : { user }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

/** Whether a principal has to be shown anew. */
export const isOver = ({ expiresAtMs = Infinity }: Principal, nowMs: number): boolean => expiresAtMs <= nowMs;

const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

function notUsable(maker: string, member: string, value: unknown, expected: string): HeddleError {
  const what = member === "" ? "what it answered" : `its ${member}`;
  const message = `${maker} answered with no principal that can be used: ${what} is ${kindOf(value)}, expected ${expected}.`;
  return new HeddleError("internal-error", message, { member, expected });
}

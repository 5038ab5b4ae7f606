/** Judges what somebody posted about a member of a thread: who it is, and what they may do. */
import { HeddleError } from "../protocol/index.ts";
import type { Member } from "../store/index.ts";

/** What a member may do: watch, or write too. Who owns a thread owns it by having begun it. */
export const MEMBER_ROLES = ["observer", "collaborator"] as const satisfies readonly Member["role"][];

/** Longest name of a user, in characters. */
const MAX_USER_CHARS = 255;

const USER = `a name of 1 to ${MAX_USER_CHARS} characters without control characters`;

/** The name of a user. Throws `input-invalid`. */
export function readUser(user: string): string {
  const isName = user.length > 0 && user.length <= MAX_USER_CHARS && user.isWellFormed() && !/\p{Cc}/u.test(user);
  if (!isName) throw refused("/user", USER, user);
  return user;
}

/** The role in a body `{role}`. Throws `input-invalid`. */
export function readMemberRole(body: unknown): Member["role"] {
  const said = typeof body === "object" && body !== null && "role" in body ? body.role : undefined;
  const role = MEMBER_ROLES.find((each) => each === said);
  if (role === undefined) throw refused("/role", MEMBER_ROLES.join(" or "), said);
  return role;
}

function refused(path: string, expected: string, value: unknown): HeddleError<"input-invalid"> {
  const received = value === undefined ? "nothing" : JSON.stringify(value).slice(0, 60);
  const message = `${path} of a member is ${received}: expected ${expected}.`;
  return new HeddleError("input-invalid", message, { path, expected, received });
}

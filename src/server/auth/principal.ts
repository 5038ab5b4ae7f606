/**
 * Who asks. A principal belongs to one tenant, and sees nothing of any other. Within it, a role that the principal has
 * counts for every thread; without one, only threads of its own and those that it was made a member of are there.
 */
import { THREAD_ROLES } from "../../store/index.ts";

/** Every role, the least first. An operator may do everything, and is the only one who gets what is hidden, and metrics. */
export const ROLES = [...THREAD_ROLES, "operator"] as const;

/** What somebody may do. */
export type Role = (typeof ROLES)[number];

/** Somebody who asks. */
export interface Principal {
  /** Whose threads are seen. */
  readonly tenant: string;
  /** Who it is, within the tenant; absent where nobody is asked who they are. */
  readonly user?: string | undefined;
  /** Roles that count for every thread of the tenant. */
  readonly roles: readonly Role[];
  /** When this has to be shown anew, in milliseconds since 1970. Default: never. */
  readonly expiresAtMs?: number | undefined;
}

/** Whose threads these are where nobody is asked who they are. */
export const DEFAULT_TENANT = "default";

/** Everybody, where nobody is asked who they are. */
export const ANYBODY: Principal = { tenant: DEFAULT_TENANT, roles: ["operator"] };

/** Whether a role is at least another. */
export const isAtLeast = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed);

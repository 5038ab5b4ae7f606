/**
 * What one principal may do with the threads of its tenant. Every path that names a thread asks here first.
 *
 * A thread that is not there, one of another tenant and one in which the principal has no role are the same: unknown.
 * Where a role counts for the whole tenant nothing is looked up, and whoever reads the thread finds out whether it is there.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import { unknownThread } from "./known-thread.ts";
import { isAtLeast } from "./auth/index.ts";
import type { Principal, Role } from "./auth/index.ts";

/** What a principal may do. */
export class Access {
  /** Who asks. */
  readonly principal: Principal;
  /** The greatest role that counts for every thread; undefined where there is none. */
  readonly everywhere: Role | undefined;
  readonly #store: Store;

  constructor(store: Store, principal: Principal) {
    this.#store = store;
    this.principal = principal;
    this.everywhere = roleEverywhere(principal);
  }

  /** A thread of the principal's tenant. */
  key(threadId: string): ThreadKey {
    return { tenant: this.principal.tenant, threadId };
  }

  /** Whose threads a list shows: this user's, or all of the tenant where undefined. */
  get listed(): { readonly user?: string } {
    if (this.everywhere !== undefined) return {};
    // Nobody is called so: who has neither a name nor a role has no threads.
    return { user: this.principal.user ?? "" };
  }

  /** The role in a thread; undefined where there is none, or no such thread. */
  async role(key: ThreadKey): Promise<Role | undefined> {
    const { user } = this.principal;
    const own = user === undefined || this.everywhere === "operator" ? undefined : await this.#store.roleIn(key, user);
    return greatest(this.everywhere, own);
  }

  /** The role in a thread, which is at least the one that is needed. Throws `thread-unknown` and `role-missing`. */
  async need(key: ThreadKey, needed: Role): Promise<Role> {
    const role = await this.role(key);
    if (role === undefined) throw unknownThread(key);
    if (isAtLeast(role, needed)) return role;
    if ((await this.#store.thread(key)) === undefined) throw unknownThread(key);
    throw roleMissing(needed);
  }

  /** Throws where the principal may not write to a thread, or begin it where it is not there yet. */
  async needToStart(key: ThreadKey, thread: ThreadInfo | undefined): Promise<void> {
    if (thread !== undefined) return void (await this.need(key, "collaborator"));
    if (!mayBegin(this.everywhere)) throw roleMissing("collaborator");
  }

  /** Throws `role-missing` for everybody but an operator. */
  needOperator(): void {
    if (this.everywhere !== "operator") throw roleMissing("operator");
  }
}

/** The greatest role of somebody that counts for every thread; undefined where there is none. */
export const roleEverywhere = ({ roles }: Principal): Role | undefined => greatest(...roles);

/** Whether somebody with this role everywhere may begin threads: who watches everything writes nothing of their own. */
export const mayBegin = (everywhere: Role | undefined): boolean => everywhere !== "observer";

/** The greatest of some roles. */
function greatest(...roles: readonly (Role | undefined)[]): Role | undefined {
  let most: Role | undefined;
  for (const role of roles) if (role !== undefined && (most === undefined || isAtLeast(role, most))) most = role;
  return most;
}

/** The error for who may see something, and not do it. */
export function roleMissing(role: Role): HeddleError<"role-missing"> {
  return new HeddleError("role-missing", `This takes the role ${role}: ask whoever can give it to you.`, { role });
}

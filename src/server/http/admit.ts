/**
 * Who gets in. Every request is judged here before its body is read: how many come, who asks, and whether a route is for
 * them. What they may do with a thread is judged where the thread is.
 */
import { authenticator, rateLimits } from "../auth/index.ts";
import type { AuthOptions, AuthRequest, Authenticate, RateLimitOptions, RateLimits } from "../auth/index.ts";
import { DEFAULT_TENANT, roleMissing } from "../index.ts";
import type { Conversations, Heddle, Principal } from "../index.ts";
import { MAX_BODY_BYTES } from "./error-answer.ts";
import type { Route, Site } from "./route.ts";

/** Whom to let in. */
export interface DoorRules {
  /** Who may call: static keys, tokens, or a function of yours. Default: everybody. */
  readonly auth?: AuthOptions | undefined;
  /** How many requests are taken. Default: any number. */
  readonly rateLimits?: RateLimitOptions | undefined;
  /** Largest body that is read, in bytes; imports have a limit of their own. Default 16 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Whether operators may have an address called from here, to try an agent (`POST /checks`). Default: no; of `serve`: where only its machine reaches it. */
  readonly checks?: boolean | undefined;
}

/** A request before its body is read. */
export type AskedRequest = AuthRequest;

/** Who does not say who they are: nothing is theirs. */
const NOBODY: Principal = { tenant: DEFAULT_TENANT, roles: [] };

type Door = Pick<Site, "server" | "authenticate" | "limits" | "maxBodyBytes" | "checks">;

/** The part of a site that lets people in. Throws `config-invalid`. */
export function doorOf(server: Heddle, rules: DoorRules): Door {
  const { auth, rateLimits: limits, maxBodyBytes = MAX_BODY_BYTES } = rules;
  return {
    server,
    maxBodyBytes,
    checks: rules.checks ?? false,
    authenticate: auth === undefined ? undefined : authenticator(auth, { tickets: server }),
    limits: limits === undefined ? undefined : rateLimits(limits),
  };
}

/** What whoever asks may do. Throws `unauthenticated`, `role-missing` and `rate-limited`. */
export async function admit(
  site: Site,
  { needs }: Pick<Route, "needs">,
  request: AskedRequest,
): Promise<Conversations> {
  const { server, authenticate, limits } = site;
  if (needs === "nobody") return authenticate === undefined ? server : server.as(NOBODY);
  const asking = authenticate === undefined ? server : server.as(await known(authenticate, limits, request));
  const { tenant, user, roles } = asking.principal;
  limits?.take(JSON.stringify([tenant, user]));
  if (needs === "operator" && !roles.includes("operator")) throw roleMissing("operator");
  return asking;
}

/** Who asks. Those who guess share what one caller may ask. */
async function known(
  authenticate: Authenticate,
  limits: RateLimits | undefined,
  request: AskedRequest,
): Promise<Principal> {
  try {
    return await authenticate(request);
  } catch (error) {
    limits?.take("");
    throw error;
  }
}

/** Tokens for tests, signed with a secret that a server was given. */
import { SignJWT } from "jose";

/** The secret and the audience of servers in tests. */
export const JWT = { secret: "a secret of thirty-two characters", audience: "heddle-tests" } as const;

/** Who a token names, and how long it holds. */
export interface TokenRequest {
  /** Tenant. Default acme. */
  readonly tenant?: string;
  /** User. */
  readonly user: string;
  /** Roles that count for the tenant. Default none. */
  readonly roles?: readonly string[];
  /** How long it holds, in seconds. Default 60. */
  readonly forSeconds?: number;
}

/** A token. */
export function tokenFor({ tenant = "acme", user, roles = [], forSeconds = 60 }: TokenRequest): Promise<string> {
  return new SignJWT({ tenant, roles })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(user)
    .setAudience(JWT.audience)
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1000) + forSeconds)
    .sign(new TextEncoder().encode(JWT.secret));
}

/** The settings of a server that takes such tokens. */
export const TOKEN_ENVIRONMENT = { HEDDLE_JWT_SECRET: JWT.secret, HEDDLE_JWT_AUDIENCE: JWT.audience } as const;

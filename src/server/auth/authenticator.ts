/**
 * Who asks. A request shows a bearer token, or a ticket in its query where it cannot send headers. A header wins over a
 * ticket, which then stays unused.
 *
 * Tickets are for GET only. They stand in addresses, which end up in logs and histories; a ticket that could be posted
 * with could be traded for the next ticket, and thirty seconds would become for ever.
 */
import type { Principal } from "./principal.ts";
import { readTokenOptions } from "./auth-options.ts";
import type { AuthFunction, AuthOptions, TokenOptions } from "./auth-options.ts";
import type { AuthRequest } from "./auth-request.ts";
import { bearerToken } from "./bearer-token.ts";
import { checkPrincipal, isOver } from "./check-principal.ts";
import { jwtVerifier } from "./jwt-verifier.ts";
import { matchKey } from "./static-keys.ts";
import type { TicketOffice } from "./ticket-office.ts";
import { unauthenticated } from "./unauthenticated.ts";

/** Says who asks. Throws `unauthenticated`. */
export type Authenticate = (request: AuthRequest) => Promise<Principal>;

/** What else shows who asks. */
export interface AuthParts {
  /** Where tickets are redeemed. Default: none are taken. */
  readonly tickets?: Pick<TicketOffice, "redeem"> | undefined;
}

/** Makes the check of some options. Throws `config-invalid`. */
export function authenticator(options: AuthOptions, { tickets }: AuthParts = {}): Authenticate {
  const authenticate = typeof options === "function" ? byFunction(options) : byToken(options);
  return async (request) => {
    const ticket = ticketOf(request);
    return tickets === undefined || ticket === undefined ? authenticate(request) : tickets.redeem(ticket);
  };
}

function byFunction(ask: AuthFunction): Authenticate {
  return async (request) => {
    const answer = await ask(request);
    if (answer === undefined) throw unauthenticated("the auth function knows nobody");
    const principal = checkPrincipal(answer, "The auth function");
    if (isOver(principal, Date.now())) throw unauthenticated("what the auth function knows has expired");
    return principal;
  };
}

function byToken(options: TokenOptions): Authenticate {
  const { keys, jwt } = readTokenOptions(options);
  const verify = jwt === undefined ? undefined : jwtVerifier(jwt);
  return async (request) => {
    const given = request.header("authorization");
    const token = given === undefined ? undefined : bearerToken(given);
    if (token === undefined) throw unauthenticated("no bearer token");
    const principal = matchKey(keys, token) ?? (await verify?.(token));
    if (principal === undefined) throw unauthenticated("no such key");
    return principal;
  };
}

function ticketOf(request: AuthRequest): string | undefined {
  if (request.method !== "GET" || request.header("authorization") !== undefined) return undefined;
  const [ticket, second] = request.query.getAll("ticket");
  if (second !== undefined) throw unauthenticated("several tickets");
  return ticket === "" ? undefined : ticket;
}

/**
 * Who asks, and how often they may: tokens, keys, tickets and rates, without a host. The hosts use it before any route;
 * this is not a subpath of its own.
 */
export { assertAuthOptions } from "./auth-options.ts";
export type { AuthFunction, AuthOptions, TokenOptions } from "./auth-options.ts";
export type { AuthRequest } from "./auth-request.ts";
export { authenticator } from "./authenticator.ts";
export type { AuthParts, Authenticate } from "./authenticator.ts";
export type { ClaimNames, JwtOptions } from "./jwt-options.ts";
export { RATE_ALGORITHMS, readRate } from "./rate.ts";
export type { Rate, RateAlgorithm } from "./rate.ts";
export { rateLimits } from "./rate-limits.ts";
export type { RateLimitOptions, RateLimits } from "./rate-limits.ts";
export type { KeyOptions } from "./static-keys.ts";
export { TICKET_MS, ticketOffice } from "./ticket-office.ts";
export type { Ticket, TicketOffice, TicketStore } from "./ticket-office.ts";
export { BEARER_CHALLENGE } from "./unauthenticated.ts";
export { kindOf } from "./wrong-option.ts";
export type { PlaceOf } from "./wrong-option.ts";
export { ANYBODY, DEFAULT_TENANT, ROLES, isAtLeast } from "./principal.ts";
export type { Principal, Role } from "./principal.ts";

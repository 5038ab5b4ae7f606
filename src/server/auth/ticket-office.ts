/**
 * Tickets, for what cannot send headers (EventSource, a browser's WebSocket): whoever is known gets one, shows it once
 * within thirty seconds in the address, and is the same principal, with the same expiry.
 *
 * The store holds SHA-256 of a ticket and the principal, so whoever reads the store has no ticket. That one is taken only
 * once, even by two at the same time on two machines, and not after its time, is the store's promise.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Principal } from "./principal.ts";
import { checkPrincipal, isOver } from "./check-principal.ts";
import { unauthenticated } from "./unauthenticated.ts";

/** How long a ticket holds, if its principal does. */
export const TICKET_MS = 30_000;

/** Where tickets are kept. */
export interface TicketStore {
  /** Keeps a ticket for so long, on the store's clock. */
  saveTicket(ticket: { readonly hash: string; readonly body: string; readonly forMs: number }): Promise<unknown>;
  /** Takes a ticket away and answers its body; undefined where there is none, or its time is over. */
  takeTicket(hash: string): Promise<string | undefined>;
}

/** A ticket, as its holder gets it. */
export interface Ticket {
  /** What to show. */
  readonly ticket: string;
  /** When it stops to hold, in milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/** Issues and redeems tickets. */
export interface TicketOffice {
  /** A new ticket for somebody. Throws `unauthenticated` where what they have shown has expired. */
  issue(principal: Principal): Promise<Ticket>;
  /** Who a ticket was issued to. Throws `unauthenticated` where it does not hold, or was redeemed before. */
  redeem(ticket: string): Promise<Principal>;
}

/** Opens an office on a store. */
export function ticketOffice(store: TicketStore, nowMs: () => number = Date.now): TicketOffice {
  return {
    async issue(principal) {
      const now = nowMs();
      if (isOver(principal, now)) throw unauthenticated("whoever asks for a ticket has expired");
      const forMs = Math.min(TICKET_MS, Math.ceil((principal.expiresAtMs ?? Infinity) - now));
      const ticket = randomBytes(32).toString("base64url");
      await store.saveTicket({ hash: hashOf(ticket), body: JSON.stringify(principal), forMs });
      return { ticket, expiresAtMs: now + forMs };
    },
    async redeem(ticket) {
      if (!TICKET.test(ticket)) throw unauthenticated("no ticket of ours");
      const body = await store.takeTicket(hashOf(ticket));
      if (body === undefined) throw unauthenticated("the ticket is unknown, used or over");
      const principal = checkPrincipal(JSON.parse(body), "The store of tickets");
      if (isOver(principal, nowMs())) throw unauthenticated("whoever got the ticket has expired");
      return principal;
    },
  };
}

const TICKET = /^[\w-]{43}$/;

const hashOf = (ticket: string): string => createHash("sha256").update(ticket).digest("hex");

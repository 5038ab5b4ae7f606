/** Tickets: issued, shown once, within their time and their principal's, and unreadable in the store. */
import { describe, expect, test } from "vitest";
import type { Principal } from "./principal.ts";
import { TICKET_MS, authenticator, ticketOffice } from "./index.ts";
import type { TicketStore } from "./index.ts";

const ADA: Principal = { tenant: "acme", user: "ada", roles: ["owner"], expiresAtMs: 1_000_000 };

/** A store as others have to be: it takes a ticket away in one step, on a clock of its own. */
function memory() {
  let nowMs = 0;
  const rows = new Map<string, { readonly body: string; readonly untilMs: number }>();
  const store: TicketStore = {
    async saveTicket({ hash, body, forMs }) {
      rows.set(hash, { body, untilMs: nowMs + forMs });
    },
    async takeTicket(hash) {
      const row = rows.get(hash);
      rows.delete(hash);
      await Promise.resolve();
      return row !== undefined && nowMs < row.untilMs ? row.body : undefined;
    },
  };
  return {
    store,
    rows,
    office: ticketOffice(store, () => nowMs),
    pass: (ms: number) => (nowMs += ms),
  };
}

const REFUSED = { code: "unauthenticated", status: 401 };

test("a ticket is its principal again, with its own expiry", async () => {
  const { office } = memory();
  const { ticket, expiresAtMs } = await office.issue(ADA);
  expect(ticket).toMatch(/^[\w-]{43}$/);
  expect(expiresAtMs).toBe(TICKET_MS);
  expect(await office.redeem(ticket)).toEqual(ADA);
});

test("one without a user and an expiry too", async () => {
  const { office } = memory();
  const anybody: Principal = { tenant: "default", roles: ["operator"] };
  expect(await office.redeem((await office.issue(anybody)).ticket)).toEqual(anybody);
});

test("no two are the same, and the store has neither", async () => {
  const { office, rows } = memory();
  const tickets = await Promise.all(Array.from({ length: 100 }, async () => (await office.issue(ADA)).ticket));
  expect(new Set(tickets).size).toBe(100);
  const kept = JSON.stringify([...rows]);
  for (const ticket of tickets) expect(kept).not.toContain(ticket);
  expect([...rows.keys()].every((hash) => /^[0-9a-f]{64}$/.test(hash))).toBe(true);
});

describe("refused", () => {
  test("the second time", async () => {
    const { office } = memory();
    const { ticket } = await office.issue(ADA);
    await office.redeem(ticket);
    await expect(office.redeem(ticket)).rejects.toMatchObject(REFUSED);
  });

  test("all but one of those who show it at once, on two servers", async () => {
    const { office, store } = memory();
    const elsewhere = ticketOffice(store, () => 0);
    const { ticket } = await office.issue(ADA);
    const shown = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? office : elsewhere).redeem(ticket));
    const outcomes = await Promise.allSettled(shown);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(refusals).toHaveLength(19);
    for (const refusal of refusals) expect(refusal).toMatchObject(REFUSED);
  });

  test("after thirty seconds, and not before", async () => {
    const { office, pass } = memory();
    const [early, late] = [await office.issue(ADA), await office.issue(ADA)];
    pass(TICKET_MS - 1);
    expect(await office.redeem(early.ticket)).toEqual(ADA);
    pass(1);
    await expect(office.redeem(late.ticket)).rejects.toMatchObject(REFUSED);
  });

  test("when its principal has expired, whatever the store's clock says; and that one gets no other", async () => {
    const { office, store } = memory();
    const soon = { ...ADA, expiresAtMs: 10 };
    const { ticket, expiresAtMs } = await office.issue(soon);
    expect(expiresAtMs).toBe(10);
    const later = ticketOffice(store, () => 10);
    await expect(later.redeem(ticket)).rejects.toMatchObject(REFUSED);
    await expect(later.issue(soon)).rejects.toMatchObject(REFUSED);
  });

  test.each([
    "",
    "x",
    "x".repeat(43),
    "x".repeat(44),
    "../".repeat(14) + "x",
    "\u0000".repeat(43),
    "x".repeat(1_000_000),
  ])("what is none (%#)", async (ticket) => {
    const { office } = memory();
    await office.issue(ADA);
    await expect(office.redeem(ticket)).rejects.toMatchObject(REFUSED);
  });

  test("the hash that the store has", async () => {
    const { office, rows } = memory();
    await office.issue(ADA);
    for (const hash of rows.keys()) await expect(office.redeem(hash)).rejects.toMatchObject(REFUSED);
  });
});

test("a replay at the door is refused", async () => {
  const { office } = memory();
  const authenticate = authenticator(() => undefined, { tickets: office });
  const { ticket } = await office.issue(ADA);
  const shown = { method: "GET", path: "/", header: () => undefined, query: new URLSearchParams({ ticket }) };
  expect(await authenticate(shown)).toEqual(ADA);
  await expect(authenticate(shown)).rejects.toMatchObject(REFUSED);
});

test("what the store spoiled is a failure of the server, not a principal", async () => {
  const spoiled = ticketOffice({
    saveTicket: async () => {},
    takeTicket: async () => '{"tenant":"a","roles":["root"]}',
  });
  await expect(spoiled.redeem("x".repeat(43))).rejects.toMatchObject({ code: "internal-error" });
});

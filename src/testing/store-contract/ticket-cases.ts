/** STORE-TIC: a ticket is worth something once, and not for long. */
import { contractCase } from "./contract-case.ts";
import { checkSame } from "./contract-violation.ts";
import { HARD_EVENTS } from "./hard-texts.ts";
import { LONG_LEASE_MS } from "./scenario.ts";

const ticketOf = (hash: string, body = `body of ${hash}`, forMs = LONG_LEASE_MS) => ({ hash, body, forMs });

/** Cases of `saveTicket` and `takeTicket`. */
export const ticketCases = [
  contractCase("STORE-TIC-1: a ticket's body is given once, and to nobody who names another", async ({ store }) => {
    checkSame(await store.takeTicket("a"), undefined, "a ticket that was never saved");
    for (const hash of ["a", "b", "c"]) await store.saveTicket(ticketOf(hash));
    for (const hash of ["A", "a ", "", "%"]) checkSame(await store.takeTicket(hash), undefined, `"${hash}"`);
    checkSame(await store.takeTicket("b"), "body of b", "the second");
    checkSame(await store.takeTicket("b"), undefined, "the second, again");
    checkSame([await store.takeTicket("a"), await store.takeTicket("a")], ["body of a", undefined], "the first");
    await store.saveTicket(ticketOf("c", "another"));
    checkSame([await store.takeTicket("c"), await store.takeTicket("c")], ["another", undefined], "one saved again");
  }),

  contractCase("STORE-TIC-1: a body comes back as the same text", async ({ store }) => {
    const bodies = ["", "\n", ...HARD_EVENTS];
    for (const [index, body] of bodies.entries()) await store.saveTicket(ticketOf(`hash ${index}`, body));
    for (const [index, body] of bodies.entries())
      checkSame(await store.takeTicket(`hash ${index}`), body, `body ${index}`);
  }),

  contractCase(
    "STORE-TIC-1: what one handle has taken another does not get",
    async ({ store, second }) => {
      const other = await second();
      for (const hash of ["a", "b"]) await store.saveTicket(ticketOf(hash));
      checkSame(
        [await other.takeTicket("a"), await store.takeTicket("a")],
        ["body of a", undefined],
        "there, then here",
      );
      checkSame(
        [await store.takeTicket("b"), await other.takeTicket("b")],
        ["body of b", undefined],
        "here, then there",
      );
    },
    "writer",
  ),

  contractCase(
    "STORE-TIC-2: a ticket expires by the store's clock, and others do not with it",
    async ({ store, pass }) => {
      await store.saveTicket(ticketOf("short", "short", 40));
      await store.saveTicket(ticketOf("long"));
      await store.saveTicket(ticketOf("never", "never", 0));
      checkSame(await store.takeTicket("never"), undefined, "one for no time at all");
      await pass(41);
      checkSame(await store.takeTicket("short"), undefined, "one whose time is over");
      for (let index = 0; index < 3; index++) await store.saveTicket(ticketOf(`more ${index}`));
      checkSame(await store.takeTicket("short"), undefined, "one whose time is over, after others were saved");
      checkSame(await store.takeTicket("long"), "body of long", "one whose time is not");
      await store.saveTicket(ticketOf("renewed", "old", 20));
      await store.saveTicket(ticketOf("renewed", "new"));
      await pass(21);
      checkSame(await store.takeTicket("renewed"), "new", "one that was saved again for longer");
    },
  ),

  contractCase(
    "STORE-TIC-2: tickets outlive the store, those that were taken stay taken",
    async ({ store, reopen }) => {
      for (const hash of ["a", "b"]) await store.saveTicket(ticketOf(hash));
      await store.takeTicket("a");
      const again = await reopen();
      checkSame([await again.takeTicket("a"), await again.takeTicket("b")], [undefined, "body of b"], "both");
    },
    "durable",
  ),
];

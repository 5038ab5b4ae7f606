/** Tickets, for what cannot send headers: EventSource, and WebSocket in a browser. */
import { jsonAnswer } from "./answer.ts";
import type { Route } from "./route.ts";

/** Gives whoever asks a ticket, to be used as `?ticket=`. */
export const TICKET_ROUTE: Route = {
  id: "ticket",
  method: "POST",
  path: "/tickets",
  summary: "A ticket that says who you are, once and for 30 seconds, in the query of any other request: `?ticket=`.",
  answers: {
    201: {
      description: "The ticket.",
      content: {
        "application/json": {
          type: "object",
          required: ["ticket", "expiresAt"],
          properties: { ticket: { type: "string" }, expiresAt: { type: "string", format: "date-time" } },
        },
      },
    },
  },
  errors: [],
  async answer({ heddle }) {
    const { ticket, expiresAtMs } = await heddle.ticket();
    return jsonAnswer({ ticket, expiresAt: new Date(expiresAtMs).toISOString() }, 201);
  },
};
